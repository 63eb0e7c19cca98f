"""Before a run: what it would cost and how many to ask (`make estimate`), and whether an endpoint
gives log probabilities.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from katayori import profiles
from katayori.errors import KatayoriError, UnavailableError
from katayori.papers import get_paper, paper_ids
from katayori.prompting.answer_store import Store
from katayori.prompting.models import Endpoint, Model, registry
from katayori.prompting.requests import Request
from katayori.prompting.store import store_path
from katayori_tools import asking
from katayori_tools.choices import Asking, Points
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
UNLIMITED = 2048  # output tokens of a request without a limit
SHORT_ANSWER = 8  # output tokens that an answer has at least, for the lower cost
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


async def probe_logprobs(model: Model, endpoint: Endpoint) -> tuple[bool, str]:
    """One tiny request that tells whether the endpoint returns log probabilities.

    Returns whether it does, and what was seen.
    """
    body = {
        "messages": [{"role": "user", "content": "Say yes."}],
        str(endpoint.supports.get("max_tokens_field") or "max_tokens"): 1,
        "logprobs": True,
        "top_logprobs": 5,
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


def most_tokens(request: Request) -> int:
    """The most that may be generated for a request; `UNLIMITED` where it has no limit."""
    if request.likelihood:  # a server generates at least one token a call
        return len(request.body["continuations"]) + 1
    limit = request.body.get("max_tokens") or request.body.get("max_completion_tokens")
    return limit or UNLIMITED


def expected(
    requests: Sequence[Request], model: Model, endpoint: Endpoint, store: Store
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
    import pandas as pd

    told = ["prompt_tokens", "completion_tokens", "latency"]
    rows = {
        q.key: [q.prompt_hash, approximate_tokens(q), most_tokens(q), a and a.outcome != "error"]
        + [getattr(a, name, None) for name in told]
        for q, a in store.get(requests)
    }
    columns = ["prompt", "ours", "most", "answered", *told]
    frame = pd.DataFrame(list(rows.values()), columns=columns).astype(dict.fromkeys(told, float))
    answered = frame["answered"].eq(True)
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
        "output_tokens": tokens_out,
        "output_tokens_max": most,
        "cost_low_usd": cost_of(model, tokens_in, least),
        "cost_high_usd": cost_of(model, tokens_in, most),
        "minutes": max(minutes) or None,
    }


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
            cost = expected(requests, step.model, step.endpoint, store)
            anew, earlier = _rewritten(store, requests)
        if anew and earlier:
            print(
                f"{paper} {name}: {anew:,} answers to rewritten items are asked anew; the"
                f" {earlier:,} to their earlier texts are kept"
            )
        rows.append({"paper": paper, "clusters": asking.n_clusters(requests), **cost})
        prompt_ids = answered.setdefault((paper, name), [])
        if cost["stored"] or pilot == "recorded":
            prompt_ids.extend(dict.fromkeys(request.prompt_id for request in requests))
    if not rows:
        raise KatayoriError("a simulated model costs nothing: name a real one with MODELS=")
    _show(rows)
    profile = "recorded" if pilot == "recorded" else chosen.profile
    for told in _of_pilots(answered, replace(chosen, profile=profile), half_width):
        print(told)
    return 0


def _show(rows: list[dict[str, Any]]) -> None:
    """The table, a row a paper and model, and the sum.

    A sum with an unknown part is unknown, never too small.
    """
    import pandas as pd

    money = ["cost_low_usd", "cost_high_usd", "minutes"]
    grouped = (
        pd.DataFrame(rows)
        .astype(dict.fromkeys(money, float))
        .groupby(["paper", "model"], sort=False)
    )
    frame = grouped.sum().assign(clusters=grouped["clusters"].max())
    frame[money] = frame[money].mask(grouped[money].count().lt(grouped.size(), axis=0))
    # 0.5 is the largest standard deviation that shares can have, so no model exceeds it.
    frame["half_width"] = 1.96 * 0.5 / frame["clusters"].where(frame["clusters"] > 0) ** 0.5
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

    An item that keeps its id is told by its key; those of the third edition that the second lacks,
    and the other way round, by the edition that asked about them.
    """
    from katayori_tools.paper_files import SECOND, THIRD, editions_of

    if not requests or not (stored := store.answered(requests[0])):
        return 0, 0
    room, editions = get_paper(requests[0].paper), editions_of(requests[0].paper)
    sets = room.sets() if THIRD in editions.values() else {}
    second, third = (
        {
            item_id
            for name in sets
            if editions.get(name) == one
            for item_id in sets[name]()["item_id"]
        }
        for one in (SECOND, THIRD)
    )
    pending = {(one.prompt_hash, one.item_id, one.repetition) for one in store.pending(requests)}
    hashes = {one.prompt_hash for one in requests}
    same = pending & set(stored)
    anew = [one for one in pending - same if one[1] in third - second]
    left = [one for one in stored if one[0] in hashes and one[1] in second - third]
    return len(same) + len(anew), len(same) + len(left)


# -- how many to ask, after a pilot ----------------------------------------------------------------


@dataclass(frozen=True)
class Measured:
    """The score of a paper whose uncertainty is looked into.

    Attributes:
        name: of the score. value: the answers that count, with its share of each in column `value`
            (missing where unreadable). facets: columns of what is crossed -> the word for several
            levels; the first is what another study would draw anew. complete: those of which all
            levels there are can be asked. prompts: ids of those that count; empty: all.
    """

    name: str
    value: "Callable[[pd.DataFrame], pd.DataFrame]"
    facets: Mapping[str, str]
    complete: tuple[str, ...] = ("order",)
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
ORDERS = {"order": "orders"}
#: By paper. Decisions about persons have none: a gap is no mean over what is asked.
MEASURED = {
    "persona_jbbq": Measured(
        "Diff_a", _ambiguous, {"template_id": "templates", "prompt_id": "prompts", **ORDERS}
    ),
    "logprob_judge": Measured(
        "agreement",
        _agrees,
        {"pair_id": "pairs", "prompt_id": "prompts", **ORDERS},
        prompts=JUDGED,
    ),
    "jubaku_v2": Measured(
        "neutral reasons", _neutral, {"case_id": "cases", "template": "prompts", **ORDERS}
    ),
    # About half of the families have silent passages. The two prompts are the paper's two
    # conditions, not two drawn of many wordings.
    "inter_jbbq": Measured(
        "accuracy (ambiguous)",
        _right,
        {
            "family": "ambiguous families",
            "prompt_id": "prompts",
            "polarity": "questions",
            **ORDERS,
        },
        complete=("prompt_id", "polarity", "order"),
    ),
}


def _of_pilots(
    answered: Mapping[tuple[str, str], list[str]], chosen: Asking, width: float
) -> Iterator[str]:
    """A table a paper and model with answers, and a line on how to make the pilots that lack."""
    lacking = []
    for paper in dict.fromkeys(paper for paper, _ in answered if paper not in MEASURED):
        yield f"{paper}: {NO_MEAN}"
    for (paper, name), prompt_ids in answered.items():
        if paper not in MEASURED:
            continue
        found = _pilot(paper, name, prompt_ids, chosen)
        if found is None:
            lacking.append(f"PAPERS={paper} MODELS={name}")
        else:
            yield f"{paper} {name}: {advice(found[0], MEASURED[paper], width, found[1])}"
    if lacking:
        more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
        without = ", without --pilot recorded" if chosen.profile == "recorded" else ""
        yield (
            f"No answers are there to tell what to ask of {lacking[0]}{more}; a pilot is"
            f" make live {lacking[0]} LIMIT={PILOT}, then estimate again{without}"
        )


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


def advice(answers: "pd.DataFrame", of: Measured, target: float, there: int) -> str:
    """How sure the score is, and the design that makes it as sure as wanted: a line, and a table
    of `designs` in points.

    Args:
        answers: of one model. of: what is measured. target: half of the 95 % interval, in points.
        there: how many levels of the first facet the items have.
    """
    counted = of.value(answers)
    kept = _free_of_position(counted, of)
    first = next(iter(of.facets))
    told = f"{of.name}; of {of.facets[first]} there are {there}"
    if len(kept) < len(counted):
        left = "prompts that are answered by position are left out"
        told += f"; {left}, of which more answers would tell no more"
    if kept.empty:
        return f"{told}; no answer is left"
    table = designs(kept, of, target)
    told += f"; {n} left out, which lack answers" if (n := table["left_out"].max()) else ""
    shown = table.drop(columns="left_out").rename(columns=dict(of.facets))
    if table[first].max() < PILOT:
        told += f"; too few to say, ask at least LIMIT={PILOT}"
    elif table[first].max() > there:
        told += "; more need items of your own"
    return f"{told}\n{shown.to_string(index=False, float_format='{:.1f}'.format)}"


def designs(counted: "pd.DataFrame", of: Measured, target: float) -> "pd.DataFrame":
    """What was asked, and the design with the fewest requests that reaches the target, as
    `components.predict` gives them, in points.

    Of the first facet there may be any number from `PILOT` on. The other facets keep their levels:
    `make live` asks every prompt of a paper, and of the orders one or all. Where prompts differ so
    much that no number is enough for new ones, it is the design for `these` prompts alone. Columns:
    the facets with several levels, for (new prompts or these), half_width, low and high (as far as
    the pilot tells), status and left_out.
    """
    import pandas as pd

    from katayori.metrics.components import components, predict

    facets = list(_crossed(counted, of))
    first = facets[0]
    complete = [facet for facet in facets if facet in of.complete]
    rows = []
    for fixed in [complete] if complete == facets[1:] else [complete, facets[1:]]:
        table = components(counted, value="value", facets=facets, fixed=fixed)
        now = predict(table, [{}])["half_width"].iloc[0]
        n = smallest(table, first, target) if now > 0 else None
        found = predict(table, [{}, {first: n}] if n else [{}])
        quantile = 100 * found["half_width"] / found["value"].where(found["value"] > 0)
        rows.append(
            found.assign(
                half_width=100 * found["half_width"],
                low=quantile * found["se_low"],
                high=quantile * found["se_high"],
                left_out=table["left_out"].iloc[0],
                status=found["status"].mask(found["half_width"] == 0, "no_variation"),
                prompts="new" if fixed == complete else "these",
            )
        )
        if n or not now > 0:
            break
    columns = [*facets, "prompts", "half_width", "low", "high", "status", "left_out"]
    return pd.concat(rows, ignore_index=True)[columns].rename(columns={"prompts": "for"})


def _free_of_position(counted: "pd.DataFrame", of: Measured) -> "pd.DataFrame":
    """The answers without those to prompts that are answered by position.

    Prompts are looked at one by one: of two that are answered A and B nothing would be seen.
    """
    from katayori.metrics.verdicts import BOUND_ABOVE, gates

    by = [facet for facet, word in of.facets.items() if word == "prompts"]
    found = gates(counted, factors=["answer"], by=by)
    bound = found[found["bound_share"] > BOUND_ABOVE]
    if bound.empty:
        return counted
    return counted[~counted[by[0]].isin(bound[by[0]])] if by else counted.head(0)


def _crossed(counted: "pd.DataFrame", of: Measured) -> Iterator[str]:
    """The facets with several levels; complete ones where all their levels were asked."""
    first = next(iter(of.facets))
    for facet in of.facets:
        levels = counted[facet].nunique()
        each = counted.groupby(first)[facet].nunique().max()
        if facet == first or (levels > 1 and (facet not in of.complete or each == levels)):
            yield facet


def smallest(table: "pd.DataFrame", first: str, target: float) -> int | None:
    """How many levels of the first facet reach half of the 95 % interval (in points) at least; None
    where no number does.

    Args:
        table: of `components`. first: the facet. target: in points.
    """
    from katayori.metrics.components import predict

    def enough(n: int) -> bool:
        return bool(100 * predict(table, [{first: n}])["half_width"].iloc[0] <= target)

    place = bisect_left(range(PILOT, NEVER + 1), True, key=enough)
    return PILOT + place if PILOT + place <= NEVER else None
