// One slide at a time: arrows, space, Page keys, Home, End, a click on its number; #12 in the
// address opens slide 12. N shows or hides the speaker's notes, on the screen and in print.
(function () {
  const WIDTH = 1280, HEIGHT = 720, SCALES = [1.25, 1.12, 1, 0.92, 0.84, 0.7, 0.6], PART = 0.6;
  const WHOLE_PAGE = "@page { size: 1280px 720px; margin: 0 }";
  const slides = Array.from(document.querySelectorAll(".slide"));
  const faces = slides.map((slide) => slide.querySelector(".face"));
  const turn = document.getElementById("turn");
  const page = document.head.appendChild(document.createElement("style"));
  let now = 0, notes = false;

  // Sets what a slide shows in smaller letters until all of it is seen.
  function fit(face) {
    const seen = (part) => part.scrollHeight <= part.clientHeight + 1
      && part.scrollWidth <= part.clientWidth + 1;
    const parts = [face, ...face.querySelectorAll(".exhibit")];
    SCALES.some((scale) => face.style.setProperty("--s", scale) || parts.every(seen));
  }

  function zoom() {
    const high = innerHeight * (notes ? PART : 1);
    faces.forEach((face) => { face.style.zoom = Math.min(innerWidth / WIDTH, high / HEIGHT); });
  }

  function open(k) {
    now = Math.max(0, Math.min(slides.length - 1, k));
    slides.forEach((slide, i) => { slide.hidden = i !== now; });
    turn.textContent = (now + 1) + " / " + slides.length;
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
  Promise.all(Array.from(document.fonts, (font) => font.load())).then(() => {
    faces.forEach(fit);
    document.body.classList.add("talk");
    show(false);
    open(asked());
  });
  window.addEventListener("resize", zoom);
  window.addEventListener("hashchange", () => open(asked()));
  turn.addEventListener("click", () => open(now + 1));
  document.addEventListener("keydown", (event) => {
    const to = { ArrowRight: now + 1, ArrowDown: now + 1, PageDown: now + 1, " ": now + 1,
      ArrowLeft: now - 1, ArrowUp: now - 1, PageUp: now - 1, Home: 0, End: slides.length - 1 };
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key.toLowerCase() === "n") show(!notes);
    else if (event.key in to) open(to[event.key]);
    else return;
    event.preventDefault();
  });
})();
