// The sliders of a notebook's page (katayori_tools/site.py). Every state was computed by the
// notebook's own functions when the page was made; the sliders pick one of them.
(() => {
  "use strict";
  const element = (tag, attributes, ...children) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  };

  const slider = (id, { label: words, values, start }, moved) => {
    const input = element("input", {
      id,
      type: "range",
      min: 0,
      max: values.length - 1,
      value: start,
    });
    const value = element("output", { for: id });
    const tell = () => {
      value.textContent = values[input.value];
      input.setAttribute("aria-valuetext", values[input.value]);
    };
    tell();
    input.addEventListener("input", () => {
      tell();
      moved();
    });
    const label = element("label", { for: id }, words);
    return { input, row: element("div", { class: "slider" }, label, input, value) };
  };

  for (const place of document.querySelectorAll(".playground")) {
    const paper = place.id.replace(/^playground-/, "");
    if (!Object.hasOwn(window.playgrounds ?? {}, paper)) continue;
    const { about, sliders, states } = window.playgrounds[paper];
    const table = element("div", { role: "status" });
    const picture = element("img", {});
    const show = () => {
      const at = (sum, { input }, k) => sum * sliders[k].values.length + Number(input.value);
      const { alt, svg, html } = states[made.reduce(at, 0)];
      table.innerHTML = html;
      picture.alt = alt;
      picture.src = `data:image/svg+xml,${encodeURIComponent(svg)}`;
    };
    const made = sliders.map((one) => slider(`${paper}-${one.name}`, one, show));
    const controls = element("div", { role: "group", "aria-label": about });
    controls.append(...made.map(({ row }) => row));
    place.replaceChildren(controls, table, picture);
    show();
  }
})();
