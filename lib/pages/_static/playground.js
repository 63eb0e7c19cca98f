// Makes the playgrounds of a page (katayori_tools/site_playgrounds.py). All answers were computed in
// Python; here sliders pick one of them, the picture is drawn with its points, and the table is
// filled with its numbers.
(() => {
  "use strict";
  const katayori = (window.katayori ??= {});
  // Promises by name: the state that was last chosen is shown.
  katayori.shown = {};

  const element = (tag, attributes, ...children) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  };

  // A number as it is read. The element holds it in full.
  const rounded = (value, digits) => {
    const text = value.toFixed(digits);
    if (Number(text) !== 0) return text;
    return value > 0 ? `< ${(10 ** -digits).toFixed(digits)}` : (0).toFixed(digits);
  };

  const cell = (value, column) => {
    if (value === null) return element("td", {}, `— (${column.undefined})`);
    if (column.digits === null) return element("td", {}, value);
    return element("td", {}, element("data", { value }, rounded(value, column.digits)));
  };

  // The rows of a frame, whose columns lie in the pool.
  const rows = (frame, pool) => {
    const names = Object.keys(frame);
    const first = pool[frame[names[0]]] ?? [];
    return first.map((_, row) =>
      Object.fromEntries(names.map((name) => [name, pool[frame[name]][row]])),
    );
  };

  const slider = (id, control, moved) => {
    const input = element("input", {
      id,
      type: "range",
      min: 0,
      max: control.shown.length - 1,
      step: 1,
      value: control.start,
    });
    const value = element("span", { class: "value", "aria-hidden": "true" });
    const tell = () => {
      value.textContent = control.shown[input.value];
      input.setAttribute("aria-valuetext", control.shown[input.value]);
    };
    tell();
    input.addEventListener("input", () => {
      tell();
      moved();
    });
    const label = element("label", { for: id }, control.label);
    return { input, row: element("div", { class: "slider" }, label, input, value) };
  };

  const build = (place) => {
    const name = place.id.replace(/^playground-/, "");
    const data = katayori.playgrounds[name];
    const controls = place.querySelector(".controls");
    const chart = place.querySelector(".chart");
    const body = place.querySelector("tbody");
    const sliders = element("div", {});
    const status = element("p", { class: "told", role: "status" });
    let chosen = data.choices[0];
    let made = [];

    const state = () => {
      const join = (place, { input }, at) =>
        place * chosen.controls[at].shown.length + Number(input.value);
      return chosen.states[made.reduce(join, 0)];
    };

    const show = () => {
      const { told, points, numbers } = state();
      const lines = rows(numbers, data.pool).map((row) =>
        element("tr", {}, ...data.columns.map((column) => cell(row[column.name], column))),
      );
      body.replaceChildren(...lines);
      status.textContent = `Simulated: ${told}.`;
      katayori.shown[name] = katayori.views[`play-${name}`].then(async (view) => {
        await view.data("points", rows(points, data.pool)).runAsync();
        katayori.describe(chart, `${data.picture}. ${told}.`);
      });
    };

    const choose = (choice) => {
      chosen = choice;
      made = choice.controls.map((control) => slider(`${name}-${control.name}`, control, show));
      sliders.replaceChildren(...made.map(({ row }) => row));
      show();
    };

    controls.replaceChildren(sliders, status);
    controls.setAttribute("role", "group");
    controls.setAttribute("aria-label", data.title);
    if (data.choice) {
      const id = `${name}-choice`;
      const options = data.choices.map((choice, at) =>
        element("option", { value: at }, choice.name),
      );
      const select = element("select", { id }, ...options);
      select.addEventListener("change", () => choose(data.choices[select.value]));
      controls.prepend(
        element("div", { class: "slider" }, element("label", { for: id }, data.choice), select),
      );
    }
    choose(chosen);
  };

  document.querySelectorAll(".playground").forEach(build);
})();
