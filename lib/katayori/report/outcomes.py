"""What came back of the requests of a run, as its folder keeps it (answers.json)."""

from collections import Counter
from datetime import UTC, datetime
from typing import Any

#: How many causes and texts are kept, and how long a text may be.
MAX_TEXT, MAX_TEXTS = 80, 3


def outcomes(*frames: Any) -> dict[str, list[dict[str, Any]]]:
    """Counts of outcomes, and the commonest texts that were no valid answer, of frames of answers.

    Simulated answers are left out. Returns `prompts`: model, source, prompt_id, asked, valid,
    commonest (the readable answer that is given most) and its share of these, outcomes (a count
    each), the `MAX_TEXTS` commonest causes of errors (a count each) and the days
    of the first and the last answer (empty where unknown); and `invalid`: model, outcome, text (cut
    to `MAX_TEXT` characters; of an error its cause) and times, at most `MAX_TEXTS` a model.
    """
    counted: dict[tuple[str, str, str], Counter[str]] = {}
    causes: dict[tuple[str, str, str], Counter[str]] = {}
    times: dict[tuple[str, str, str], list[float]] = {}
    read: dict[tuple[str, str, str], Counter[str]] = {}
    texts: dict[str, Counter[tuple[str, str]]] = {}
    for frame in frames:
        for key, part in frame.groupby(["model", "source", "prompt_id"], sort=False):
            model, source, _ = key
            if source == "simulated":
                continue
            counted.setdefault(key, Counter()).update(part["outcome"])
            times.setdefault(key, []).extend(_moments(part))
            read.setdefault(key, Counter()).update(_readable(part))
            invalid = part[part["outcome"] != "ok"]
            invalid_texts = map(_invalid_text, invalid.to_dict("records"))
            pairs = list(zip(invalid["outcome"], invalid_texts, strict=True))
            texts.setdefault(model, Counter()).update(pairs)
            of_errors = (cause for outcome, cause in pairs if outcome == "error")
            causes.setdefault(key, Counter()).update(of_errors)
    return {
        "prompts": [
            _of_prompt(key, counts, times[key])
            | _commonest(read[key])
            | {"causes": dict(causes[key].most_common(MAX_TEXTS))}
            for key, counts in counted.items()
        ],
        "invalid": [
            {"model": model, "outcome": outcome, "text": text, "times": n}
            for model, counts in texts.items()
            for (outcome, text), n in counts.most_common(MAX_TEXTS)
        ],
    }


def _moments(part: Any) -> list[float]:
    """Seconds since 1970 of the answers that tell theirs."""
    if "created" not in part:
        return []
    return [float(moment) for moment in part["created"] if moment > 0]


def _readable(part: Any) -> list[str]:
    """The answers that could be read; none of texts that were scored."""
    if "answer" not in part:
        return []
    return part.loc[part["outcome"] == "ok", "answer"].dropna().astype(str).tolist()


def _commonest(read: Counter[str]) -> dict[str, Any]:
    answer, times = next(iter(read.most_common(1)), ("", 0))
    share = times / read.total() if read else 0.0
    return {"commonest": answer[:MAX_TEXT], "commonest_share": share}


def _invalid_text(row: dict[str, Any]) -> str:
    """The text, or of an error the words before the first colon: what follows may name a server."""
    if row["outcome"] == "error":
        return str(row.get("note") or "").partition(":")[0][:MAX_TEXT]
    text = str(row["text"])
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}…"


def _of_prompt(
    key: tuple[str, str, str], counts: Counter[str], moments: list[float]
) -> dict[str, Any]:
    model, source, prompt_id = key
    days = [datetime.fromtimestamp(moment, UTC).date().isoformat() for moment in moments]
    return {
        "model": model,
        "source": source,
        "prompt_id": prompt_id,
        "asked": counts.total(),
        "valid": counts["ok"],
        "outcomes": dict(sorted(counts.items())),
        "first": min(days, default=""),
        "last": max(days, default=""),
    }
