"""Before a run: what it would cost and how many to ask (`make estimate`), and whether an endpoint
gives log probabilities.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from katayori import profiles
from katayori.errors import KatayoriError, UnavailableError
from katayori.language import told
from katayori.papers import get_paper, paper_ids
from katayori.prompting.answer_store import Store
from katayori.prompting.models import Endpoint, Model, registry
from katayori.prompting.requests import Request
from katayori.prompting.store import store_path
from katayori.report.tables import straight
from katayori_tools import asking
from katayori_tools.choices import Asking, Positive
from katayori_tools.collect import AT_ONCE, approximate_tokens, ask_one, cost_of, limits_of
from katayori_tools.notebooks import names, own_items
from katayori_tools.send import Sender

if TYPE_CHECKING:
    import pandas as pd

#: Said under every estimate: what `half_width` is, and what it is not.
HALF_WIDTH = (
    "half_width: half of the 95 % interval to expect of a share, 1.96 x 0.5 / sqrt(clusters);\n"
    "0.5 is the largest standard deviation that means of clusters can have, so yours is likely\n"
    "narrower. Below 10 clusters no interval can be relied on."
)
#: Tokens are a sentence: in a column the limit would read as what is to be expected.
TOKENS = (
    "tokens: {} to read; to write {} where answers are short (8, or as a pilot's),\n"
    "at most {}, if every answer were as long as its limit allows."
)
UNLIMITED = 2048  # output tokens of a request without a limit
SHORT_ANSWER = 8  # output tokens that an answer has at least, for the lower cost
PILOT = 10  # levels of the first facet that a pilot should have
WIDTH = 100  # columns of a terminal; what a long name makes wider goes on below
SIZES = (20, 50, 100, 200, 500)  # levels of it whose half-widths are shown


async def probe_logprobs(model: Model, endpoint: Endpoint) -> tuple[bool, str]:
    """One tiny request that tells whether the endpoint returns log probabilities.

    Returns whether it does, and what was seen.
    """
    body = {
        "messages": [{"role": "user", "content": "Say yes."}],
        str(endpoint.supports.get("max_tokens_field") or "max_tokens"): 1,
        "logprobs": True,
        "top_logprobs": 20,
    }
    probe = Request(
        "probe", "probe", "probe", "probe", "", "", model.id, endpoint.name, model.identity, body
    )
    async with Sender(model, endpoint, timeout=60) as sender:
        response = await ask_one(sender, probe, retries=1)
    if response.outcome == "error":
        return False, response.error
    if not response.top:
        return False, "no log probabilities came back"
    return True, f"{len(response.top)} alternatives"


# -- what a run would cost -------------------------------------------------------------------------


def most_tokens(request: Request, max_tokens: int = 0) -> int:
    """The most that may be generated for a request, by its own limit or the one in its place;
    `UNLIMITED` where it has none.
    """
    if request.likelihood:  # a server generates at least one token a call
        return len(request.body["continuations"]) + 1
    limit = request.body.get("max_tokens") or request.body.get("max_completion_tokens")
    return 1 if request.one_token else max_tokens or limit or UNLIMITED


def expected(
    requests: Sequence[Request],
    model: Model,
    endpoint: Endpoint,
    store: Store,
    *,
    max_tokens: int = 0,
) -> dict[str, Any]:
    """Before a run: calls, tokens, cost range and time at the limits.

    What is stored already is free, but for answers that were cut below `max_tokens`.

    Input tokens are counted roughly on the real prompts, and corrected by what the endpoint counted
    where some are answered. Output: the answers to the same prompts in the store are a pilot,
    `pilot` of them. What is written, and the cost, lies between the pilot's mean output, or 8
    tokens without one, and the limit of what may be generated (2,048 tokens where there is none).
    Minutes: at the endpoint's limits a minute and, where there is a pilot, at its latency and the
    usual number of requests at once, whichever takes longer; None where neither is known.
    """
    import pandas as pd

    counts = ["prompt_tokens", "completion_tokens", "latency"]
    waiting = {request.key for request in store.pending(requests, cut_below=max_tokens)}
    rows = {}
    for q, answer in store.get(requests):
        of_answer = [q.key not in waiting, *(getattr(answer, name, None) for name in counts)]
        most = most_tokens(q, max_tokens)
        rows[q.key] = [q.prompt_hash, approximate_tokens(q), most, *of_answer]
    columns = ["prompt", "ours", "most", "answered", *counts]
    frame = pd.DataFrame(list(rows.values()), columns=columns).astype(dict.fromkeys(counts, float))
    answered = frame["answered"].astype(bool)
    pending, pilot = frame[~answered], frame[answered]
    counted = pilot[pilot["prompt_tokens"] > 0]
    scale = counted["prompt_tokens"].sum() / counted["ours"].sum() if len(counted) else 1.0
    tokens_in = round(scale * pending["ours"].sum())
    means = pending["prompt"].map(pilot.groupby("prompt")["completion_tokens"].mean())
    tokens_out = round(means.fillna(pending["most"]).sum())
    least = round(means.fillna(pending["most"].clip(upper=SHORT_ANSWER)).sum())
    most = int(pending["most"].sum())
    limits = limits_of(endpoint)
    minutes = [
        len(pending) / (limits["rpm"] or math.inf),
        (tokens_in + tokens_out) / (limits["tpm"] or math.inf),
    ]
    waits = pilot.loc[pilot["latency"] > 0, "latency"]
    if len(waits):
        minutes.append(len(pending) * waits.mean() / 60 / (limits["concurrency"] or AT_ONCE))
    return {
        "model": model.id,
        "calls": len(pending),
        "stored": len(requests) - len(pending),
        "input_tokens": tokens_in,
        "pilot": int(pilot["completion_tokens"].notna().sum()),
        "output_tokens": least,
        "output_tokens_max": most,
        "cost_low_usd": cost_of(model, tokens_in, least),
        "cost_high_usd": cost_of(model, tokens_in, most),
        "minutes": max(minutes) or None,
    }


def estimate(
    chosen: Asking,
    *,
    pilot: Literal["stored", "recorded"] = "stored",
    max_tokens: Positive = 0,
) -> int:
    """Clusters, calls, tokens, cost, time and the half-width to expect, before anything is asked.

    What the store holds is free. Then, of what is answered already, how sure the scores are and how
    sure more items would make them.

    Args:
        chosen: what would be asked of whom.
        pilot: whose answers tell how sure scores are, those in your store or recorded here.
        max_tokens: the limit of an answer in place of the prompts' own, as `live` has it.
    """
    chosen_papers = names(chosen.papers) or paper_ids()
    own_items(chosen.own, chosen_papers)  # before anything heavy is imported
    _, registered = registry()
    priced = [name for name, one in registered.items() if set(chosen_papers) & set(one.papers)]
    chosen = replace(chosen, models=chosen.models or " ".join(priced))
    rows = []
    answered: dict[tuple[str, str], list[str]] = {}  # prompts by paper and name, as given
    for step, requests in asking.wanted(chosen, stand_in=asking.LONG_ANSWER):
        paper, name = step.paper, step.name
        if (paper, name) not in answered:
            asking.say_elsewhere(step)
        with Store(store_path()) as store:
            at = step.model, step.endpoint, store
            cost = expected(requests, *at, max_tokens=max_tokens)
        rows.append({"paper": paper, "clusters": asking.n_clusters(requests), **cost})
        prompt_ids = answered.setdefault((paper, name), [])
        if cost["stored"] or pilot == "recorded":
            prompt_ids.extend(dict.fromkeys(request.prompt_id for request in requests))
    if not rows:
        raise KatayoriError("a simulated model costs nothing: name a real one with MODELS=")
    _show(rows)
    profile = "recorded" if pilot == "recorded" else chosen.profile
    found = list(_of_pilots(answered, replace(chosen, profile=profile)))
    if pilot == "recorded" and not found:
        print("nothing is recorded of these models in these papers that would be a pilot")
    pilots = "how many to ask: a pilot says it, make live PAPERS=02 MODELS=... LIMIT=10 (02-05)"
    print("\n".join(found) or f"{pilots}, estimate again")
    return 0


def _show(rows: list[dict[str, Any]]) -> None:
    """The table, a row a paper and model, and the sum.

    A sum with an unknown part is unknown, never too small.
    """
    import pandas as pd

    money = ["cost_low_usd", "cost_high_usd", "minutes"]
    listed = pd.DataFrame(rows).astype(dict.fromkeys(money, float))
    grouped = listed.groupby(["paper", "model"], sort=False)
    frame = grouped.sum(skipna=False).assign(clusters=grouped["clusters"].max())
    # 0.5 is the largest standard deviation that shares can have, so no model exceeds it.
    frame["half_width"] = 1.96 * 0.5 / frame["clusters"].where(frame["clusters"] > 0) ** 0.5
    frame["cost_usd"] = list(map(_dollars, frame["cost_low_usd"], frame["cost_high_usd"]))
    shown = frame[["half_width", "cost_usd", "calls", "stored", "clusters", "minutes"]]
    rounded = shown.round({"half_width": 2, "minutes": 1}).reset_index()
    print(straight(rounded, na_rep=told("unknown"), line_width=WIDTH))
    known = frame.dropna(subset="cost_high_usd")
    low, high = known["cost_low_usd"].sum(), known["cost_high_usd"].sum()
    total = f"${low:,.2f} to ${high:,.2f}" if len(known) else "price unknown"
    if 0 < len(known) < len(frame):
        total += f" for {len(known)} of {len(frame)} lines, price unknown for the rest"
    print(f"{frame['calls'].sum():,} calls; {total}")
    written = [f"{frame[name].sum():,}" for name in ("output_tokens", "output_tokens_max")]
    print(TOKENS.format(f"{frame['input_tokens'].sum():,}", *written))
    print(HALF_WIDTH)


def _dollars(low: float, high: float) -> str:
    """A cost from low to high; what is small is not shown as nothing."""
    if math.isnan(high):
        return told("unknown")
    ends = [f"{one:,.2f}" if one >= 0.01 or not one else "<0.01" for one in (low, high)]
    return told(" to ".join(dict.fromkeys(ends)))


# -- how many to ask, after a pilot ----------------------------------------------------------------


@dataclass(frozen=True)
class Measured:
    """The score of a paper whose uncertainty is looked into.

    Attributes:
        name: of the score. value: the answers that count, with its share of each in column `value`
            (missing where unreadable). facets: columns of what is crossed -> the word for several
            levels; the first is what another study would draw anew. prompts: ids of those that
            count; empty: all.
    """

    name: str
    value: "Callable[[pd.DataFrame], pd.DataFrame]"
    facets: Mapping[str, str]
    prompts: tuple[str, ...] = ()


def _ambiguous(answers: "pd.DataFrame") -> "pd.DataFrame":
    """Answers to silent passages; `value`: +1 for the stereotype, -1 for the other person."""
    from katayori.metrics.bbq import with_role

    names = {"answer": "answer", "label": "label", "context": "context_condition"}
    meant = with_role(answers, **names, option="role")
    return meant[meant["case"] == "ambiguous"].assign(value=lambda one: one["side"])


def _right(answers: "pd.DataFrame") -> "pd.DataFrame":
    """Accuracy in silent passages; unreadable counts as wrong."""
    meant = _ambiguous(answers)
    family = meant["focal_id"].where(meant["focal_id"] != "", meant["item"])
    return meant.assign(value=meant["right"].fillna(0.0), family=family)


def _agrees(answers: "pd.DataFrame") -> "pd.DataFrame":
    from katayori.metrics import judges

    calls = judges.unswapped(answers, order="order", letter="answer")
    known = calls["verdict"].notna() & calls["truth"].notna()
    return calls.assign(value=(calls["verdict"] == calls["truth"]).astype(float).where(known))


def _neutral(answers: "pd.DataFrame") -> "pd.DataFrame":
    reason = answers["role_a"].where(answers["answer"] == "A", answers["role_b"])
    neutral = reason.eq("neutral").astype(float)
    return answers.assign(value=neutral.where(answers["answer"].notna()))


JUDGED = (
    *("lj_verdict", "lj_verdict_criteria", "lj_reason", "lj_reason_criteria", "lj_reason_turns"),
    *("lj_pandalm_verdict_en", "lj_pandalm_reason_en"),
)
#: By paper. Decisions about persons have none: a gap is no mean over what is asked.
MEASURED = {
    "persona_jbbq": Measured(
        "Diff_a",
        _ambiguous,
        {"template_id": "templates", "prompt_id": "prompts", "order": "orders"},
    ),
    "logprob_judge": Measured(
        "agreement",
        _agrees,
        {"pair_id": "pairs", "prompt_id": "prompts", "order": "orders"},
        JUDGED,
    ),
    "jubaku_v2": Measured(
        "neutral reasons", _neutral, {"case_id": "cases", "template": "prompts", "order": "orders"}
    ),
    # About half of the families have silent passages.
    "inter_jbbq": Measured(
        "accuracy (ambiguous)",
        _right,
        {"family": "ambiguous families", "prompt_id": "prompts", "polarity": "questions"}
        | {"order": "orders"},
    ),
}


def _of_pilots(answered: Mapping[tuple[str, str], list[str]], chosen: Asking) -> Iterator[str]:
    """A line and a table for each paper and model with answers."""
    for (paper, name), prompt_ids in answered.items():
        if paper in MEASURED and (found := _pilot(paper, name, prompt_ids, chosen)):
            yield f"{paper} {name}: {advice(*found, MEASURED[paper])}"


def _pilot(
    paper: str, name: str, prompts: Sequence[str], chosen: Asking
) -> "tuple[pd.DataFrame, int] | None":
    """The answers of a model to all items and orders of a paper that are there, and how many levels
    of the first facet the items have; None without any answer.
    """
    of = MEASURED[paper]
    kept = [prompt for prompt in prompts if prompt in (of.prompts or prompts)]
    if not kept:
        return None
    import pandas as pd

    from katayori.study import Study

    own: dict[str, Any] = own_items(chosen.own).of(paper)
    is_live = profiles.load(chosen.profile)["answers"] == "live"
    if is_live and "orders" in get_paper(paper).own_files:
        own = {"orders": "all"} | own
    own |= {"profile": chosen.profile, "prompts": chosen.prompts, "limit": profiles.MOST}
    try:
        study = Study(paper, models=[name], asked=kept, **own)
        answers = pd.concat([study.answers(prompt) for prompt in kept], ignore_index=True)
    except UnavailableError:
        return None
    answers = answers[answers["outcome"] != "error"]  # not asked yet, or to be asked again
    if answers.empty:
        return None
    items = of.value(study.items.assign(answer=None))
    return answers.reset_index(drop=True), items[next(iter(of.facets))].nunique()


def advice(answers: "pd.DataFrame", there: int, of: Measured) -> str:
    """How sure the score is, and how sure other numbers of items make it: a line and a table.

    Args:
        answers: of one model. there: how many levels of the first facet the items have. of: what is
            measured.
    """
    from katayori.metrics.verdicts import BOUND_ABOVE, gates

    counted = of.value(answers)
    # Prompts are looked at one by one: of two that are answered A and B nothing would be seen.
    [prompt] = [facet for facet, word in of.facets.items() if word == "prompts"]
    found = gates(counted, factors=["answer"], by=[prompt])
    by_position = found.loc[found["bound_share"] > BOUND_ABOVE, prompt]
    kept = counted[~counted[prompt].isin(by_position)]
    first = next(iter(of.facets))
    parts = [f"{of.name}; of {of.facets[first]} there are {there}"]
    if len(kept) < len(counted):
        left = "prompts that are answered by position are left out"
        parts.append(f"{left}, of which more answers would tell no more")
    if kept.empty:
        return told("; ".join([*parts, "no answer is left"]))
    table = designs(kept, of)
    if left_out := table.attrs["left_out"]:
        parts.append(f"{left_out} left out, which lack answers")
    if table[first].iloc[0] < PILOT:
        parts.append(f"too few to say, ask at least LIMIT={PILOT}")
    shown = table.rename(columns=dict(of.facets)).assign(status=table["status"].map(told))
    return f"{told('; '.join(parts))}\n{straight(shown, float_format='{:.1f}'.format)}"


def designs(counted: "pd.DataFrame", of: Measured) -> "pd.DataFrame":
    """What was asked, and `SIZES` of the first facet, as `components.predict` gives them.

    The other facets keep their levels: `make live` asks every prompt of a paper, and of the orders
    one or all. Columns: the facets of which each item was asked all of several levels; half_width
    of the 95 % interval for these prompts, low and high (as far as the pilot tells), in points;
    status.
    """
    from katayori.metrics.components import components, predict

    first, *others = of.facets
    each = counted.groupby(first)[others].nunique().max()
    crossed = (each > 1) & (each == counted[others].nunique())
    facets = [first, *crossed.index[crossed]]
    found = components(counted, value="value", facets=facets, fixed=facets[1:])
    table = predict(found, [{}, *({first: n} for n in SIZES)])
    quantile = 100 * table["half_width"] / table["value"].where(table["value"] > 0)
    shown = table[facets].assign(
        half_width=100 * table["half_width"],
        low=quantile * table["se_low"],
        high=quantile * table["se_high"],
        status=table["status"].mask(table["half_width"] == 0, "no_variation"),
    )
    if not shown["half_width"].iloc[0] > 0:
        shown = shown.head(1)  # of no size anything can be said
    shown.attrs["left_out"] = found["left_out"].iloc[0]
    return shown
