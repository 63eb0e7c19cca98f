// A page that is opened as a file may not read other files: the search of Sphinx finds their texts
// in texts.js (katayori_tools/site_sphinx.py) in place of the network.
window.fetch = (address) => {
  const name = address.split("/").pop().replace(/\.html.*$/, "");
  const text = `<div role="main">${window.texts[name] ?? ""}</div>`;
  return Promise.resolve({ text: () => text });
};
