// One slide at a time: arrows, space, Page keys, Home, End, a click on the place; #12 in the address opens slide 12.
// N shows or hides the speaker's notes; printed, the notes stand below the slides while they are shown.
(function () {
  const WIDTH = 1280, HEIGHT = 720, SCALES = [1, 0.9, 0.8, 0.72, 0.65], PART = 0.6;
  const WHOLE_PAGE = "@page { size: 1280px 720px; margin: 0 }";
  const slides = Array.from(document.querySelectorAll(".slide")), place = document.getElementById("place");
  const faces = slides.map((slide) => slide.querySelector(".face"));
  const page = document.head.appendChild(document.createElement("style"));
  let now = 0, notes = false;

  // Sets a slide's letters smaller until all of it is seen.
  function fit(face) {
    const parts = () => [face, ...face.querySelectorAll(".exhibit")];
    const fits = () => parts().every((part) => part.scrollHeight <= part.clientHeight + 1 && part.scrollWidth <= part.clientWidth + 1);
    for (const scale of SCALES) {
      face.style.setProperty("--s", scale);
      if (fits()) return;
    }
  }

  function zoom() {
    const high = innerHeight * (notes ? PART : 1);
    faces.forEach((face) => { face.style.zoom = Math.min(innerWidth / WIDTH, high / HEIGHT); });
  }

  function open(k) {
    now = Math.max(0, Math.min(slides.length - 1, k));
    slides.forEach((slide, i) => { slide.hidden = i !== now; });
    place.textContent = (now + 1) + " / " + slides.length;
    history.replaceState(null, "", "#" + (now + 1));
    window.scrollTo(0, 0);
  }

  function show(wanted) {
    notes = wanted;
    document.body.classList.toggle("with-notes", notes);
    page.textContent = notes ? "" : WHOLE_PAGE;
    zoom();
  }

  const asked = () => (parseInt(location.hash.slice(1), 10) || 1) - 1;
  Promise.all(Array.from(document.fonts, (font) => font.load())).then(() => document.fonts.ready).then(() => {
    faces.forEach(fit);
    document.body.classList.add("talk");
    show(false);
    open(asked());
  });
  window.addEventListener("resize", zoom);
  window.addEventListener("hashchange", () => open(asked()));
  place.addEventListener("click", () => open(now + 1));
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const to = { ArrowRight: now + 1, ArrowDown: now + 1, PageDown: now + 1, " ": now + 1, ArrowLeft: now - 1,
                 ArrowUp: now - 1, PageUp: now - 1, Home: 0, End: slides.length - 1 }[event.key];
    if (event.key.toLowerCase() === "n") show(!notes);
    else if (to !== undefined) open(to);
    else return;
    event.preventDefault();
  });
})();
