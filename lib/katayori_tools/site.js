"use strict";
// Finds every entry that holds all words of ?q=, headings first. Text is set as text only.
const fold = (text) => text.normalize("NFKC").toLowerCase();
const asked = new URLSearchParams(location.search).get("q") || "";
const terms = fold(asked).split(/\s+/).filter(Boolean);
document.querySelector("input[name=q]").value = asked;

function snippet(text) {
  const places = terms.map((term) => fold(text).indexOf(term)).filter((i) => i >= 0);
  const at = places.length ? Math.max(0, Math.min(...places) - 60) : 0;
  const part = text.slice(at, at + 220), box = document.createElement("span"), folded = fold(part);
  let from = 0;
  while (from < part.length) {
    // Folding can change lengths (for example "½"); then the part is shown unmarked.
    const hits = folded.length === part.length ? terms.map((term) => [folded.indexOf(term, from), term.length]) : [];
    const next = hits.filter(([i]) => i >= 0).sort((a, b) => a[0] - b[0])[0];
    if (!next) break;
    const mark = document.createElement("mark");
    mark.textContent = part.slice(next[0], next[0] + next[1]);
    box.append(part.slice(from, next[0]), mark);
    from = next[0] + next[1];
  }
  box.append(part.slice(from), at + 220 < text.length ? " …" : "");
  return box;
}

if (terms.length) {
  const found = [];
  for (const entry of JSON.parse(document.getElementById("entries").textContent)) {
    const [, , page, heading, text] = entry, all = fold(`${page} ${heading} ${text}`);
    if (terms.every((term) => all.includes(term))) {
      const score = terms.filter((term) => fold(heading).includes(term)).length;
      found.push([score, entry]);
    }
  }
  found.sort((a, b) => b[0] - a[0]);
  document.getElementById("state").textContent = `${found.length} found` + (found.length > 100 ? ", the first 100 shown" : "");
  for (const [, [file, anchor, page, heading, text]] of found.slice(0, 100)) {
    const item = document.createElement("li"), link = document.createElement("a"), small = document.createElement("small");
    link.href = `${file}#${anchor}`;
    link.textContent = heading;
    small.textContent = page;
    item.append(link, small, snippet(text));
    document.getElementById("results").append(item);
  }
}
