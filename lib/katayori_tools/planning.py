"""Before a run: what it would cost and how many to ask (`make estimate`), and whether an endpoint
gives log probabilities.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal

from katayori import profiles
from katayori.errors import KatayoriError, UnavailableError
from katayori.papers import get_paper, paper_ids
from katayori.prompting import recordings
from katayori.prompting.models import Endpoint, Model, registry
from katayori.prompting.requests import Request
from katayori.prompting.store import store_path
from katayori_tools import servers
from katayori_tools.answer_store import Store
from katayori_tools.asking import LONG_ANSWER, n_clusters, wanted
from katayori_tools.choices import Asking, Points
from katayori_tools.collect import approximate_tokens, ask_one, cost_of, limits_of
from katayori_tools.notebooks import names, own_items
from katayori_tools.send import Sender

if TYPE_CHECKING:
    import pandas as pd

    from katayori_tools.asked import Measured

#: Said under every estimate: what `half_width` is, and what it is not.
HALF_WIDTH = (
    "half_width: half of the 95 % interval to expect of a share, 1.96 x 0.5 / sqrt(clusters);\n"
    "0.5 is the largest standard deviation that means of clusters can have, so yours is likely\n"
    "narrower. Below 10 clusters no interval can be relied on."
)
UNLIMITED = 2048  # output tokens of a request without a limit
SHORT_ANSWER = 8  # output tokens that an answer has at least, for the lower cost
AT_ONCE = 16  # requests, where an endpoint has no limit
#: Levels of the first facet that a pilot should have, and that a design has at least: below, no
#: interval can be relied on.
PILOT = 10
#: More levels of the first facet than anybody will ask.
NEVER = 100_000
#: Said of a paper without a score to plan with.
NO_MEAN = (
    "a pilot tells nothing here: a gap is the largest difference between levels, no mean over what"
    " is asked"
)

_Counts = Mapping[str, int]


async def probe_logprobs(
    model: Model, endpoint: Endpoint, *, base_url: str = ""
) -> tuple[bool, str]:
    """One tiny request that tells whether the endpoint returns log probabilities.

    Returns whether it does, and what was seen.
    """
    limit = str(endpoint.supports.get("max_tokens_field") or "max_tokens")
    body = {
        "messages": [{"role": "user", "content": "Say yes."}],
        limit: 1,
        "logprobs": True,
        "top_logprobs": 5,
    }
    probe = Request(
        "probe", "probe", "probe", "probe", "", "", model.id, endpoint.name, model.identity, body
    )
    async with Sender(model, endpoint, base_url=base_url, timeout=60) as sender:
        response = await ask_one(sender, probe, retries=1)
    if response.outcome == "error":
        return False, response.error
    if not response.top:
        return False, "no log probabilities came back"
    return True, f"{len(response.top)} alternatives"


# -- what a run would cost -------------------------------------------------------------------------


def half_width(clusters: int) -> float:
    """Half of the 95 % interval to expect of a share (0 to 1) over so many clusters, at most.

    1.96 sd / sqrt(clusters), with 0.5 for the standard deviation of the clusters' means: the
    largest that shares can have, so it is a bound that no model exceeds, whatever its answers. NaN
    without clusters.
    """
    return 1.96 * 0.5 / math.sqrt(clusters) if clusters else math.nan


def most_tokens(request: Request) -> int:
    """The most that may be generated for a request; `UNLIMITED` where it has no limit."""
    if request.likelihood:  # a server generates at least one token a call
        return len(request.body["continuations"]) + 1
    limit = request.body.get("max_tokens") or request.body.get("max_completion_tokens")
    return limit or UNLIMITED


def expected(
    requests: Sequence[Request], model: Model, endpoint: Endpoint, store: Store | None = None
) -> dict[str, Any]:
    """Before a run: calls, tokens, cost range and time at the limits.

    What is stored already is free.

    Input tokens are counted roughly on the real prompts, and corrected by what the endpoint counted
    where some are answered. Output: the answers to the same prompts in the store are a pilot,
    `pilot` of them; prompts without one count with their limit (2,048 tokens where they have none).
    The cost lies between the pilot's mean output, or 8 tokens where there is none, and the limit.
    Minutes: at the endpoint's limits a minute and, where there is a pilot, at its latency and the
    usual number of requests at once, whichever takes longer; None where neither is known.
    """
    stored = store.get(requests) if store else ()
    answered = [(q, answer) for q, answer in stored if answer and answer.outcome != "error"]
    answered_keys = {q.key for q, _ in answered}
    pending = list({q.key: q for q in requests if q.key not in answered_keys}.values())
    counted = [(q, answer.prompt_tokens) for q, answer in answered if answer.prompt_tokens]
    ours = sum(approximate_tokens(q) for q, _ in counted)
    scale = sum(tokens for _, tokens in counted) / ours if ours else 1.0
    tokens_in = round(scale * sum(map(approximate_tokens, pending)))
    pilot: dict[str, list[int]] = {}
    for request, answer in answered:
        if answer.completion_tokens is not None:
            pilot.setdefault(request.prompt_hash, []).append(answer.completion_tokens)
    means = {prompt_hash: fmean(tokens) for prompt_hash, tokens in pilot.items()}
    limits = [(q.prompt_hash, most_tokens(q)) for q in pending]
    tokens_out = round(sum(means.get(name, most) for name, most in limits))
    least = round(sum(means.get(name, min(SHORT_ANSWER, most)) for name, most in limits))
    most = sum(limit for _, limit in limits)
    waits = [answer.latency for _, answer in answered if answer.latency]
    return {
        "model": model.id,
        "calls": len(pending),
        "stored": len(requests) - len(pending),
        "input_tokens": tokens_in,
        "pilot": sum(map(len, pilot.values())),
        "output_tokens": tokens_out,
        "output_tokens_max": most,
        "cost_low_usd": cost_of(model, tokens_in, least),
        "cost_high_usd": cost_of(model, tokens_in, most),
        "minutes": _minutes(endpoint, len(pending), tokens_in + tokens_out, waits),
    }


def _minutes(endpoint: Endpoint, calls: int, tokens: int, waits: Sequence[float]) -> float | None:
    """The longest of what the limits and the latency ask for; None where neither is known."""
    limits = limits_of(endpoint)
    minutes: list[float] = []
    if limits["rpm"]:
        minutes.append(calls / limits["rpm"])
    if limits["tpm"]:
        minutes.append(tokens / limits["tpm"])
    if waits:
        minutes.append(calls * fmean(waits) / 60 / (limits["concurrency"] or AT_ONCE))
    return max(minutes, default=0.0) or None


def estimate(
    chosen: Asking,
    *,
    half_width: Points = 2.0,
    pilot: Literal["stored", "recorded"] = "stored",
) -> int:
    """Clusters, calls, tokens, cost, time and the half-width to expect, before anything is asked.

    What the store holds is free. Then, of what is answered already, how sure the scores are and
    what would make them as sure as is wanted.

    Args:
        chosen: what would be asked of whom.
        half_width: half of the 95 % interval that is wanted of a score, in points.
        pilot: whose answers tell how sure scores are, those in your store or recorded here.
    """
    chosen_papers = names(chosen.papers) or paper_ids()
    own_items(chosen.own, chosen_papers)  # before anything heavy is imported
    import pandas as pd

    _, registered = registry()
    priced = [name for name, one in registered.items() if set(chosen_papers) & set(one.papers)]
    chosen = replace(chosen, models=chosen.models or " ".join(priced))
    rows = []
    answered: dict[tuple[str, str], list[str]] = {}  # prompts by paper and name, as given
    for paper, name, model, endpoint, requests in wanted(chosen, stand_in=LONG_ANSWER):
        if (paper, name) not in answered:
            servers.say_elsewhere(paper, name, model, endpoint)
        with Store(store_path()) as store:
            cost = expected(requests, model, endpoint, store)
            anew, earlier = _rewritten(store, requests)
        if anew and earlier:
            print(
                f"{paper} {name}: {anew:,} answers to rewritten items are asked anew; the"
                f" {earlier:,} to their earlier texts are kept"
            )
        rows.append({"paper": paper, "clusters": n_clusters(requests), **cost})
        prompt_ids = answered.setdefault((paper, name), [])
        if cost["stored"] or pilot == "recorded":
            prompt_ids.extend(dict.fromkeys(request.prompt_id for request in requests))
    if not rows:
        raise KatayoriError("a simulated model costs nothing: name a real one with MODELS=")
    _show(pd.DataFrame(rows))
    profile = "recorded" if pilot == "recorded" else chosen.profile
    with servers.environment(chosen.server):
        for told in _of_pilots(answered, replace(chosen, profile=profile), half_width):
            print(told)
    return 0


def _show(steps: "pd.DataFrame") -> None:
    """The table, a row a paper and model, and the sum.

    A sum with an unknown part is unknown, never too small.
    """
    money = ["cost_low_usd", "cost_high_usd", "minutes"]
    steps = steps.astype(dict.fromkeys(money, float))
    grouped = steps.groupby(["paper", "model"], sort=False)
    frame = grouped.sum().assign(clusters=grouped["clusters"].max())
    frame[money] = frame[money].mask(grouped[money].count().lt(grouped.size(), axis=0))
    frame.insert(3, "half_width", [half_width(n) for n in frame["clusters"]])
    first = ["calls", "stored", "clusters", "half_width"]
    frame = frame[first + [name for name in frame if name not in first]].reset_index()
    rounded = frame.round({"half_width": 2, "cost_low_usd": 4, "cost_high_usd": 4, "minutes": 1})
    print(rounded.to_string(index=False, na_rep="unknown"))
    known = frame.dropna(subset="cost_high_usd")
    total = f"{frame['calls'].sum():,} calls"
    if known.empty:
        total += "; price unknown"
    else:
        total += f"; ${known['cost_low_usd'].sum():,.2f} to ${known['cost_high_usd'].sum():,.2f}"
        if len(known) < len(frame):
            total += f" for {len(known)} of {len(frame)} lines, price unknown for the rest"
    print(total)
    print(HALF_WIDTH)


def _rewritten(store: Store, requests: list[Request]) -> tuple[int, int]:
    """How many of the requests are to items that were rewritten since this model was asked, and
    how many stored answers are to their earlier texts.

    An item that keeps its id is told by its key; those of the second edition that the third has in
    other words are told by the editions.
    """
    if not requests or not (stored := store.answered(requests[0])):
        return 0, 0
    pending = {(one.prompt_hash, one.item_id, one.repetition) for one in store.pending(requests)}
    room = get_paper(requests[0].paper)
    load = room.sets()
    pairs = [recordings.layers(room.variant_of(name, "")) for name in load]
    second, third = (
        {item_id for pair in pairs if pair[1:] for item_id in load[pair[place]]()["item_id"]}
        for place in (1, 0)
    )
    same = pending & set(stored)
    anew = {one for one in pending if one[1] in third - second}
    hashes = {one.prompt_hash for one in requests}
    left = [one for one in stored if one[0] in hashes and one[1] in second - third]
    return len(same | anew), len(same) + len(left)


# -- how many to ask, after a pilot ----------------------------------------------------------------


def _of_pilots(
    answered: Mapping[tuple[str, str], list[str]], chosen: Asking, width: float
) -> Iterator[str]:
    """A line a paper and model with answers, and one on how to make the pilots that lack."""
    from katayori_tools.asked import MEASURED

    of_papers, lacking = MEASURED, []
    kept = "recorded" if chosen.profile == "recorded" else "stored"
    whole = f", of all that is {kept}" if chosen.limit else ""
    for paper in dict.fromkeys(paper for paper, _ in answered if paper not in of_papers):
        yield f"{paper}: {NO_MEAN}"
    for (paper, name), prompt_ids in answered.items():
        if paper not in of_papers:
            continue
        found = _pilot(paper, name, prompt_ids, chosen) if prompt_ids else None
        if found is None:
            lacking.append(f"PAPERS={paper} MODELS={name}")
        else:
            yield f"{paper} {name}{whole}: {advice(found[0], of_papers[paper], width, found[1])}"
    if not lacking:
        return
    command = f"make live {lacking[0]} LIMIT={PILOT}"
    more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
    if kept == "recorded":
        remedy = f"ask with {command}, then leave out --pilot recorded"
        yield f"No answers are recorded here for {lacking[0]}{more}: {remedy}"
    else:
        yield f"What to ask for +-{width:g} points is told after a pilot, such as {command}"


def _pilot(
    paper: str, name: str, prompts: Sequence[str], chosen: Asking
) -> "tuple[pd.DataFrame, int] | None":
    """The answers of a model to all items and orders of a paper that are there, and how many levels
    of the first facet the items have; None without any answer.
    """
    import pandas as pd

    from katayori.study import Study
    from katayori_tools.asked import MEASURED

    of = MEASURED[paper]
    own: dict[str, Any] = own_items(chosen.own).of(paper)
    is_live = profiles.load(chosen.profile)["answers"] == "live"
    if is_live and "orders" in get_paper(paper).own_files:
        own = {"orders": "all"} | own
    kept = [prompt for prompt in prompts if prompt in (of.prompts or prompts)]
    if not kept:
        return None
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


def advice(answers: "pd.DataFrame", of: "Measured", target: float, there: int) -> str:
    """In one line how sure the score is, and the design that makes it as sure as wanted.

    Args:
        answers: of one model. of: what is measured. target: half of the 95 % interval, in points.
        there: how many levels of the first facet the items have.
    """
    from katayori.metrics.components import components, predict

    counted, bound = _without_bound(of.value(answers), of)
    words, first = of.facets, next(iter(of.facets))
    if counted.empty and bound:
        return f"{bound}: it answers by position, of which more answers would tell no more"
    if counted.empty:
        return f"0 {words[first]} answered in full are too few to say; ask at least LIMIT={PILOT}"
    facets = list(_crossed(counted, of))
    fixed = [facet for facet in facets if facet in of.complete]
    table = components(counted, value="value", facets=facets, fixed=fixed)
    now = predict(table, [{}])
    if why := _why_none(table, now, counted, facets, of):
        return why
    asked = {facet: int(now[facet].iloc[0]) for facet in facets}
    told = f"{of.name} +-{100 * now['half_width'].iloc[0]:.1f} points now ("
    told += _in_words(asked, words)
    ones = [words[facet].removesuffix("s") for facet in of.complete if facet not in facets]
    told += "".join(f", in one {one}" for one in ones)
    told += f"; {bound}, left out" if bound else ""
    left_out = table["left_out"].iloc[0]
    told += f"; {left_out} left out, which lack answers)" if left_out else ")"
    told += f"; for +-{target:g} points: "
    design = smallest(table, asked, target)
    random = [facet for facet in facets[1:] if facet not in fixed]
    if not design and random:
        # Prompts differ too much, or so it seems: what is left is the score under these prompts.
        these = " and ".join(f"these {asked[facet]} {words[facet]}" for facet in random)
        kinds = " and ".join(words[facet] for facet in random)
        told += f"no number of {words[first]} is enough for new {kinds} with {these}"
        told += f" (at best {_range(table, {first: NEVER})}); for {these} alone "
        table = components(counted, value="value", facets=facets, fixed=facets[1:])
        design = smallest(table, asked, target)
    if not design:
        return f"{told}more than {NEVER:,} {words[first]}"
    told += f"{_in_words(design, words)} ({_range(table, design)})"
    if design[first] <= there:
        return told
    return f"{told}; there are {there} {words[first]} here, more need items of your own"


def _without_bound(counted: "pd.DataFrame", of: "Measured") -> "tuple[pd.DataFrame, str]":
    """The answers without those to prompts that are answered by position, and how many these are.

    Prompts are looked at one by one: of two that are answered A and B nothing would be seen.
    """
    from katayori.metrics.verdicts import BOUND_ABOVE, gates

    if counted.empty:
        return counted, ""
    by = [facet for facet, word in of.facets.items() if word == "prompts"]
    found = gates(counted, factors=["answer"], by=by)
    bound = found[found["bound_share"] > BOUND_ABOVE]
    if bound.empty:
        return counted, ""
    least = bound["bound_share"].min()
    share = f"{least:.0%}" if round(least, 2) > BOUND_ABOVE else f"{least:.1%}"
    told = f"{share} and more of the answers are one letter or number"
    told += f" in {len(bound)} of {len(found)} prompts"
    if not by:
        return counted.head(0), told
    return counted[~counted[by[0]].isin(bound[by[0]])], told


def _why_none(
    table: "pd.DataFrame",
    now: "pd.DataFrame",
    counted: "pd.DataFrame",
    facets: Sequence[str],
    of: "Measured",
) -> str:
    """Why these answers tell nothing of a design; "" where they do."""
    from katayori.metrics.components import FEW_LEVELS

    words = of.facets[facets[0]]
    n, left_out = table["clusters"].iloc[0], table["left_out"].iloc[0]
    if n < FEW_LEVELS <= n + left_out:
        others = _in_words({one: counted[one].nunique() for one in facets[1:]}, of.facets)
        cells = f" in some cell of {others}" if others else ""
        lacking = f"{left_out} of {n + left_out} {words} lack a readable answer"
        return f"{lacking}{cells}; too few are left"
    if n < FEW_LEVELS:
        return f"{n} {words} answered in full are too few to say; ask at least LIMIT={PILOT}"
    if now["status"].iloc[0] == "no_variation":
        return f"{of.name}: all answers alike, no spread to plan with"
    if not now["half_width"].iloc[0] > 0:
        same = f"all {words} have the same mean, as of answers by position"
        return f"{of.name}: {same}; no spread to plan with"
    return ""


def _crossed(counted: "pd.DataFrame", of: "Measured") -> Iterator[str]:
    """The facets with several levels; complete ones where all their levels were asked."""
    first = next(iter(of.facets))
    for facet in of.facets:
        levels = counted[facet].nunique()
        each = counted.groupby(first)[facet].nunique().max()
        if facet == first or (levels > 1 and (facet not in of.complete or each == levels)):
            yield facet


def _in_words(counts: _Counts, words: Mapping[str, str]) -> str:
    """A design as it is read."""
    return " x ".join(
        f"{count} {words[facet] if count > 1 else words[facet].removesuffix('s')}"
        for facet, count in counts.items()
    )


def smallest(table: "pd.DataFrame", asked: _Counts, target: float) -> dict[str, int] | None:
    """The design with the fewest requests that reaches the target; None where none does.

    Of the first facet there may be any number from `PILOT` on. The other facets keep their levels:
    `make live` asks every prompt of a paper, and of the orders one or all.

    Args:
        table: of `components`. asked: levels of each facet in it.
        target: half of the 95 % interval, in points.
    """
    from katayori.metrics.components import predict

    def enough(n: int) -> bool:
        return bool(100 * predict(table, [{first: n}])["half_width"].iloc[0] <= target)

    first = next(iter(asked))
    low, high = PILOT - 1, NEVER  # by halving
    if not enough(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return dict(asked) | {first: high}


def _range(table: "pd.DataFrame", design: _Counts) -> str:
    """The half width of a design, and between what it lies, as far as the pilot tells."""
    from katayori.metrics.components import predict

    [told] = predict(table, [design]).to_dict("records")
    quantile = 100 * told["half_width"] / told["value"] if told["value"] else 0.0
    reached, low, high = (quantile * told[end] for end in ("value", "se_low", "se_high"))
    return f"+-{reached:.1f}; {low:.1f} to {high:.1f} as far as this pilot tells"
