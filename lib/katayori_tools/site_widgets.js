"use strict";
// Shows the controls of a notebook's widgets above their pictures. The policy of the page names this script by its hash
// and lets it, and nothing else, load another one: requirejs and html-manager in widgets.js beside the page.
const script = document.createElement("script");

async function show(HTMLManager) {
  const manager = new HTMLManager(); // without a loader it asks the network for nothing
  await manager.set_state(JSON.parse(document.getElementById("widgets").textContent));
  for (const place of document.querySelectorAll("[data-model]")) {
    const view = await manager.create_view(await manager.get_model(place.dataset.model));
    place.hidden = false;
    await manager.display_view(view, place);
  }
}

script.src = "widgets.js";
script.onload = () => require(["@jupyter-widgets/html-manager"], (module) => { show(module.HTMLManager); });
document.head.append(script);
