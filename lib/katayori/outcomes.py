"""What came back of the requests of a run, as its folder keeps it (answers.json)."""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

#: How many causes and texts are kept, and how long a text may be.
MAX_TEXT, MAX_TEXTS = 80, 3
PROMPT = ["model", "source", "prompt_id"]
#: Of a frame of answers; scored texts have no answer, and not all answers say when they came.
READ = [*PROMPT, "outcome", "text", "note", "answer", "created"]


def outcomes(*frames: Any) -> dict[str, list[dict[str, Any]]]:
    """Counts of outcomes, and the commonest texts that were no valid answer, of frames of answers.

    Simulated answers are left out. Returns `prompts`: model, source, prompt_id, asked, valid,
    commonest (the readable answer that is given most) and its share of these, outcomes (a count
    each), the `MAX_TEXTS` commonest causes of errors (a count each) and the days
    of the first and the last answer (empty where unknown); and `invalid`: model, outcome, text (cut
    to `MAX_TEXT` characters; of an error its cause) and times, at most `MAX_TEXTS` a model.
    """
    import pandas as pd

    read = [frame.reindex(columns=READ).astype(object).fillna({"note": ""}) for frame in frames]
    answers = pd.concat([pd.DataFrame(columns=READ), *read])
    answers = answers[answers["source"] != "simulated"]
    lost = answers[answers["outcome"] != "ok"]
    return {
        "prompts": [
            dict(zip(PROMPT, key, strict=True)) | _of_prompt(part)
            for key, part in answers.groupby(PROMPT, sort=False)
        ],
        "invalid": [
            {"model": model, "outcome": outcome, "text": text, "times": n}
            for model, part in lost.groupby("model", sort=False)
            for (outcome, text), n in Counter(_invalid(part)).most_common(MAX_TEXTS)
        ],
    }


def _invalid(answers: Any) -> Iterator[tuple[str, str]]:
    """The outcome and the text of each, cut; of an error the words before the first colon, as what
    follows may name a server.
    """
    for outcome, text, note in answers[["outcome", "text", "note"]].astype(str).to_numpy():
        if outcome == "error":
            yield outcome, note.partition(":")[0][:MAX_TEXT]
        else:
            yield outcome, text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}…"


def _of_prompt(answers: Any) -> dict[str, Any]:
    counts = Counter(answers["outcome"])
    read = Counter(answers.loc[answers["outcome"] == "ok", "answer"].dropna().astype(str))
    answer, times = next(iter(read.most_common(1)), ("", 0))
    causes = Counter(cause for _, cause in _invalid(answers[answers["outcome"] == "error"]))
    days = [f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d}" for at in answers["created"] if at > 0]
    return {
        "asked": counts.total(),
        "valid": counts["ok"],
        "outcomes": dict(sorted(counts.items())),
        "first": min(days, default=""),
        "last": max(days, default=""),
        "commonest": answer[:MAX_TEXT],
        "commonest_share": times / read.total() if read else 0.0,
        "causes": dict(causes.most_common(MAX_TEXTS)),
    }
