// One slide at a time: arrows, space, Page keys, Home, End, a click on the place; #12 in the address opens slide 12.
// What is too tall for a slide is set smaller, down to a limit, and else goes on on a further slide.
(function () {
  const WIDTH = 1280, HEIGHT = 720, FOOT = 32, SCALES = [1, 0.9, 0.8], TABLE = 11, FIGURE = [300, 560];
  const BLOCKS = "h1, h2, h3, h4, p, ul, ol, pre, table, blockquote, img:not(.formula)";
  const main = document.querySelector("main"), place = document.getElementById("place");
  let slides = Array.from(main.children), now = 0;

  const set = (slide, name, value) => slide.style.setProperty(name, value);
  const figures = (slide) => slide.querySelectorAll("img:not(.formula)");
  const bottom = (slide, part) => part.getBoundingClientRect().bottom - slide.getBoundingClientRect().top;
  const over = (slide, part) => bottom(slide, part) > HEIGHT - FOOT;

  // What stands on a slide, in order: texts, tables, figures; none within another, the heading left out.
  function blocks(slide) {
    const all = Array.from(slide.querySelectorAll(BLOCKS)).filter((one) => !one.parentElement.closest(BLOCKS));
    return all.slice(1).filter((one) => one.getBoundingClientRect().height);
  }

  function scale(slide, factor) {
    set(slide, "--s", factor);
    for (const table of slide.querySelectorAll("table")) {
      table.style.fontSize = "";
      const size = parseFloat(getComputedStyle(table).fontSize), fits = size * table.clientWidth / table.scrollWidth;
      if (fits < size) table.style.fontSize = Math.max(TABLE, Math.floor(fits * 10) / 10) + "px";
    }
    return blocks(slide).every((one) => !over(slide, one));
  }

  // Where a text leaves the slide, at an end of a line or sentence where there is one; null if at its very start.
  function within(slide, block) {
    const range = document.createRange(), walk = document.createTreeWalker(block, NodeFilter.SHOW_TEXT);
    for (let node = walk.nextNode(); node; node = walk.nextNode()) {
      let low = 0, high = node.length;
      range.setStart(node, 0);
      range.setEnd(node, high);
      if (!over(slide, range)) continue;
      while (high - low > 1) {
        const middle = (low + high) >> 1;
        range.setEnd(node, middle);
        if (over(slide, range)) high = middle; else low = middle;
      }
      const ends = ["\n", "。", ". ", " "].map((mark) => node.data.lastIndexOf(mark, low - 1) + 1);
      const at = ends.find((end) => end > low - 400 && end > 0) || low;
      range.setStart(block, 0);
      range.setEnd(node, at);
      const some = range.toString().trim();
      range.collapse(false);
      return some ? range : null;
    }
    return null;
  }

  // From where a slide must go on on the next one; null if it cannot be cut.
  function cut(slide) {
    const all = blocks(slide), n = all.findIndex((one) => over(slide, one)), range = document.createRange();
    const block = all[n], parts = Array.from(block.querySelectorAll(":scope > tbody > tr, :scope > li"));
    const first = parts.findIndex((one) => over(slide, one));
    if (first > 1) range.setStartBefore(parts[first]);
    else if (n > 0) range.setStartBefore(block);
    else if (first === 1) range.setStartBefore(parts[1]);
    else return within(slide, block);
    return range;
  }

  function divide(slide) {
    const range = cut(slide);
    if (!range) return;
    const from = range.startContainer, table = from.nodeType === 1 && from.closest("table");
    const count = from.matches && from.matches("ol") ? Array.from(from.children).indexOf(from.childNodes[range.startOffset]) : 0;
    range.setEndAfter(slide.lastChild);
    const next = slide.cloneNode(false), rest = range.extractContents();
    if (table) {
      const heads = Array.from(table.querySelectorAll(":scope > caption, :scope > colgroup, :scope > thead"));
      rest.querySelector("table").prepend(...heads.map((one) => one.cloneNode(true)));
    }
    if (count > 0) rest.querySelector("ol").start = from.start + count;
    next.removeAttribute("data-first");
    next.append(slide.querySelector("h1, h2").cloneNode(true), rest);
    slide.after(next);
  }

  function fit(slide) {
    slide.hidden = false;
    for (const cell of slide.querySelectorAll("th, tbody td:first-child")) {
      if (!cell.children.length) cell.innerHTML = cell.innerHTML.replace(/_(?=[a-z])/g, "_<wbr>");
    }
    if (!SCALES.some((factor) => scale(slide, factor))) {
      scale(slide, SCALES[1]);
      divide(slide);
    }
    const all = blocks(slide), drawn = figures(slide).length;
    if (drawn && all.length) {
      const room = HEIGHT - FOOT - bottom(slide, all[all.length - 1]);
      set(slide, "--h", Math.max(200, Math.min(FIGURE[1], FIGURE[0] + Math.floor(room / drawn))) + "px");
    }
    slide.hidden = true;
  }

  function zoom() {
    const fits = innerWidth >= 700; // a telephone scrolls
    document.body.classList.toggle("fit", fits);
    main.style.zoom = fits ? Math.min(innerWidth / WIDTH, innerHeight / HEIGHT) : "";
  }

  function open(k) {
    now = Math.max(0, Math.min(slides.length - 1, k));
    slides.forEach((slide, i) => { slide.hidden = i !== now; });
    place.textContent = (now + 1) + " / " + slides.length;
    history.replaceState(null, "", "#" + (now + 1));
    window.scrollTo(0, 0);
  }

  function section(step) {
    let k = now + step;
    while (k > 0 && k < slides.length && !("first" in slides[k].dataset)) k += step;
    open(k);
  }

  const asked = () => (parseInt(location.hash.slice(1), 10) || 1) - 1;
  document.body.classList.add("talk", "fit");
  slides.forEach((slide) => { slide.hidden = true; });
  Promise.all(Array.from(document.fonts, (font) => font.load())).then(() => document.fonts.ready).then(() => {
    for (let slide = main.firstElementChild; slide; slide = slide.nextElementSibling) fit(slide);
    slides = Array.from(main.children);
    zoom();
    open(asked());
  });
  window.addEventListener("resize", zoom);
  window.addEventListener("hashchange", () => open(asked()));
  place.addEventListener("click", () => open(now + 1));
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const to = { ArrowRight: now + 1, PageDown: now + 1, " ": now + 1, ArrowLeft: now - 1, PageUp: now - 1,
                 Home: 0, End: slides.length - 1 }[event.key];
    if (to !== undefined) open(to);
    else if (event.key === "ArrowDown" || event.key === "ArrowUp") section(event.key === "ArrowDown" ? 1 : -1);
    else return;
    event.preventDefault();
  });
})();
