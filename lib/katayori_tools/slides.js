// One slide at a time: arrows, space, Page keys, Home, End, a click on the place; #12 in the address opens slide 12.
(function () {
  var slides = Array.from(document.querySelectorAll("main > section")), place = document.getElementById("place"), now = 0;
  function open(k) {
    now = Math.max(0, Math.min(slides.length - 1, k));
    slides.forEach(function (slide, i) { slide.hidden = i !== now; });
    place.textContent = (now + 1) + " / " + slides.length;
    history.replaceState(null, "", "#" + (now + 1));
    window.scrollTo(0, 0);
  }
  function section(step) {
    var k = now + step;
    while (k > 0 && k < slides.length && !("first" in slides[k].dataset)) k += step;
    open(k);
  }
  function asked() { return (parseInt(location.hash.slice(1), 10) || 1) - 1; }
  document.body.classList.add("talk");
  document.addEventListener("keydown", function (event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    var to = { ArrowRight: now + 1, PageDown: now + 1, " ": now + 1, ArrowLeft: now - 1, PageUp: now - 1,
               Home: 0, End: slides.length - 1 }[event.key];
    if (to !== undefined) open(to);
    else if (event.key === "ArrowDown" || event.key === "ArrowUp") section(event.key === "ArrowDown" ? 1 : -1);
    else return;
    event.preventDefault();
  });
  place.addEventListener("click", function () { open(now + 1); });
  window.addEventListener("hashchange", function () { open(asked()); });
  open(asked());
})();
