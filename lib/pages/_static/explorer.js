// The explorer: choices of a paper, and the view that was computed for them. What models answered
// is placed as text only; nothing that stands in it is read as HTML.
"use strict";

(() => {
  const LONG = 60; // letters of a cell that needs room
  const JAPANESE = /[\u3040-\u30ff\u3400-\u9fff]/;

  function made(tag, text, attributes = {}) {
    const element = document.createElement(tag);
    if (text) element.textContent = text;
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    if (text && JAPANESE.test(text)) element.lang = "ja";
    return element;
  }

  function tableOf(part) {
    const region = made("div", "", {
      class: "scroll", role: "region", tabindex: "0", "aria-label": part.title,
    });
    const table = made("table");
    table.append(made("caption", part.title));
    const head = made("tr");
    for (const name of part.heads) head.append(made("th", name, { scope: "col" }));
    const top = made("thead");
    top.append(head);
    const body = made("tbody");
    for (const cells of part.rows) {
      const line = made("tr");
      for (const cell of cells) {
        line.append(made("td", cell, cell.length > LONG ? { class: "answer" } : {}));
      }
      body.append(line);
    }
    table.append(top, body);
    region.append(table);
    if (part.left_out) region.append(made("p", `… ${part.left_out} more rows`));
    return region;
  }

  function textOf(part) {
    const box = made("div");
    const about = { tabindex: "0", role: "group", "aria-label": part.title };
    const pre = made("pre", part.text, about);
    box.append(made("p", part.title, { class: "part" }), pre);
    return box;
  }

  // Views stand in the order in which the last control moves fastest.
  function placeOf(selects) {
    return selects.reduce((place, one) => place * one.options.length + one.selectedIndex, 0);
  }

  function show(data, selects, view, status) {
    const parts = data.views[placeOf(selects)].map((place) => data.parts[place]);
    view.replaceChildren(...parts.map((part) => (part.heads ? tableOf(part) : textOf(part))));
    const chosen = selects.map((one) => `${one.name}: ${one.selectedOptions[0].textContent}`);
    status.textContent = `Shown for ${chosen.join("; ")}`;
  }

  function selectOf(control, id) {
    const select = made("select", "", { id, name: control.name, class: "form-select" });
    for (const label of control.labels) select.append(made("option", label));
    const box = made("div");
    box.append(made("label", control.name, { for: id }), select);
    return [box, select];
  }

  function explore(place) {
    const paper = place.id.slice("explorer-".length);
    const data = window.katayori?.explorer?.[paper];
    if (!data) return;
    const choices = made("div", "", { class: "choices", role: "group", "aria-label": "Choices" });
    const view = made("div", "", { class: "view" });
    const status = made("p", "", { role: "status", class: "shown-for" });
    const selects = data.controls.map((control, number) => {
      const [box, select] = selectOf(control, `${place.id}-${number}`);
      choices.append(box);
      return select;
    });
    const draw = () => show(data, selects, view, status);
    for (const select of selects) select.addEventListener("change", draw);
    place.replaceChildren(choices, status, view);
    draw();
  }

  document.querySelectorAll("div.explorer").forEach(explore);
})();
