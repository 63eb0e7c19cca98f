// Draws the charts of a page (katayori_tools/site_vega.py). A chart is an element of the class
// "chart" with the id "chart-<name>"; its words stand in it until it is drawn.
(() => {
  "use strict";
  const katayori = (window.katayori ??= {});
  const options = {
    actions: false,
    ast: true, // expressions are interpreted, since the pages allow no eval
    renderer: "svg",
  };

  // Says in words what a drawn chart shows. The picture gets them, not the element around it,
  // which may hold controls.
  katayori.describe = (place, words) => {
    for (const name of ["role", "aria-label", "aria-roledescription"]) place.removeAttribute(name);
    const picture = place.querySelector("svg");
    picture.setAttribute("role", "img");
    picture.setAttribute("aria-label", words);
  };

  // Promises of views, by the names of the charts.
  katayori.views = {};
  for (const place of document.querySelectorAll(".chart")) {
    const name = place.id.replace(/^chart-/, "");
    const words = place.textContent.trim();
    katayori.views[name] = vegaEmbed(place, katayori.charts[name], options).then((made) => {
      katayori.describe(place, words);
      return made.view;
    });
  }
})();
