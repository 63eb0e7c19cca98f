var splitQuery = (query) => {
  const close = "\\u3040-\\u30ff\\u3400-\\u9fff\\u3005";
  const runs = new RegExp(
    `[${close}]+|(?:(?![_${close}])[\\p{L}\\p{N}])(?:(?![${close}])[\\p{L}\\p{N}_])*`, "gu");
  const pieces = [];
  for (const run of query.normalize("NFKC").match(runs) || []) {
    if (run.length > 1 && new RegExp(`^[${close}]`, "u").test(run)) {
      for (let at = 0; at + 1 < run.length; at++) pieces.push(run.slice(at, at + 2));
    } else pieces.push(run);
  }
  return pieces;
};
