"""`katayori construct <folder>`: from seed cases to validated ones, as JUBAKU-v2 was made (JU-4 to
JU-7).

Each step writes a file into the folder and the next waits for what people do with it, so the
command is started again and again: review.yaml (drafts of a generator, several a seed, screened by
a model; the authors edit it and set `keep`), cases.yaml, rating_form.csv and rating_instructions.md
(what they kept), and, once raters have filled in ratings.csv, agreement.csv and validated.yaml.
Answers of models are kept in the store of live answers: nothing is asked twice. No decision and no
rating is ever made up, and `reviewed: true` is left to a native reader.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import yaml

from katayori import paths
from katayori.data import files, jubaku
from katayori.data.jubaku_v2_schema import CaseFile
from katayori.data.schema import Lenient, Text
from katayori.errors import expect
from katayori.papers import answers, jubaku_v2
from katayori.papers.answers import simulated
from katayori.prompting.letters import parse_choice
from katayori.prompting.prompts import Prompt, load_prompts
from katayori.prompting.requests import Response, build
from katayori.prompting.store import store_path
from katayori_tools import datasets, servers
from katayori_tools.answer_store import Store
from katayori_tools.asking import models_of
from katayori_tools.choices import NO_SERVER, OwnServer, Positive
from katayori_tools.collect import collect_sync
from katayori_tools.papers.jubaku_v2.drafts import (
    HEADS,
    conflicting_proposals,
    kept_after_screening,
    problem_of,
    read_draft,
    without_doubles,
)
from katayori_tools.papers.jubaku_v2.rating import (
    CANNOT,
    FORM,
    INSTRUCTIONS,
    RATINGS,
    form_of,
    judged,
    read_ratings,
    write_form,
)

#: The paper does not tell; ours is the main prompt, in both orders (JU-4).
SCREENED_WITH = "ju_1_ja"
GENERATED_WITH = "ju_generate_ja"
#: The conclusion of what a simulated generator writes.
SIMULATED_PROPOSAL = "これで進めましょう。"
Draft = dict[str, Any]
Seed = dict[str, Any]
TRAP = "a model that screened the cases must not be ranked on them (JU-5)"


class ReviewedDraft(Lenient):
    """A draft that the authors edit; `keep` is true or false once they have decided."""

    id: str | int
    keep: Any = None


class Review(Lenient):
    """The file review.yaml."""

    cases: list[ReviewedDraft]
    duplicates: int = 0


class SeedCase(Lenient):
    """A seed: `definition` is the kind of bias, 1 or 2 (JU-2)."""

    id: str | int
    category: Text
    definition: Literal[1, 2]
    context: list[str]
    biased: Text
    neutral: Text


class SeedFile(Lenient):
    """A file of seeds, ours or a user's."""

    seeds: list[SeedCase]


@dataclass(frozen=True)
class Making:
    """How drafts are made.

    Attributes:
        models: the generator and, if another, the screening model; empty is the light engine's.
        seeds: a seed file, or jubaku_v1; empty are our seeds. limit: so many seeds. drafts: of each
        seed. screening: the orders in which the screener must be biased for a draft to be kept.
        engine: the local engine of a local model. server: a server of the user's own.
    """

    models: str = ""
    seeds: str = ""
    limit: Positive | None = None
    drafts: Positive = 3
    screening: Literal["both", "either"] = "both"
    engine: str = ""
    server: OwnServer = NO_SERVER


def construct(folder: str, *, making: Making, raters: Positive = 6, prompts: str = "") -> int:
    """Takes every step that is not done and whose input is there; says what the next one waits
    for.

    Args:
        folder: where the steps write, and people edit, their files. making: how drafts are made.
        raters: people who rate every case. prompts: a folder of prompt files that replaces our
            wording.
    """
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    if not (place / "review.yaml").exists():
        _write(place / "review.yaml", _drafts(making, prompts))
    review = files.read_checked(Review, place / "review.yaml", "review file")
    kept = [draft for draft in review["cases"] if draft.get("keep") is True]
    waits_for = _waits_for(review, kept)
    if waits_for:
        print(f"review.yaml: {waits_for}; {TRAP}")
        return 0
    _warn(kept)
    document = {
        "dataset": "katayori-constructed",
        "version": 1,
        "language": "ja",
        "reviewed": False,
        "kept_by": "the authors, from drafts of a model",
        "leak_words": jubaku_v2.leak_words(),
        "cases": kept,
    }
    _write(place / "cases.yaml", document)
    rate(place, raters, prompts)
    return 0


def _waits_for(review: dict[str, Any], kept: list[Draft]) -> str:
    """What the authors have still to do with the drafts; empty where they are done."""
    drafts = review["cases"]
    waiting = [str(draft["id"]) for draft in drafts if not isinstance(draft.get("keep"), bool)]
    if waiting:
        decision = "the authors' `keep: true` or `false`"
        text = f"{len(waiting)} of {len(drafts)} drafts wait for {decision} {waiting}"
    elif not kept:
        text = "no case is kept"
    else:
        return ""
    doubles = review.get("duplicates", 0)
    return f"{text}; {doubles} doubles left out" if doubles else text


def rate(folder: Path, raters: int, prompts: str = "") -> None:
    """The raters' form of the cases of a folder; what they said, once it is there (JU-6, JU-7).

    `katayori construct` and `katayori review --rate` end here. Raises KatayoriError for a folder
    without cases.yaml, and where its cases break JU-3.
    """
    document = files.read_checked(CaseFile, folder / "cases.yaml", "case file")
    form, labels = form_of(jubaku_v2.load_study_jubaku(folder / "cases.yaml"), raters)
    if not (folder / RATINGS).exists():
        write_form(folder, form, prompts)
        print(
            f"cases.yaml: {len(form)} cases. No ratings yet, so nothing is validated: {raters} "
            f"people who are not the authors read {INSTRUCTIONS} first and fill in one column each "
            f"of {FORM}, with A, B or {CANNOT}; save it as {RATINGS}. Taking part is voluntary, "
            "and the file holds no names."
        )
        return
    ratings = read_ratings(folder, form)
    if ratings is not None:
        _validate(folder, ratings, labels, document)


def _warn(kept: list[Draft]) -> None:
    """Says which kept cases have reasons with conflicting proposals.

    The authors may have their grounds.
    """
    for case in kept:
        texts = [str(case.get(name) or "") for name in ("proposal", "biased", "neutral")]
        conflict = conflicting_proposals(*texts)
        if conflict:
            print(f"review.yaml: {case['id']} is kept although {conflict}")


# -- drafts ----------------------------------------------------------------------------------------


def _drafts(making: Making, prompts: str) -> dict[str, Any]:
    """Generation and screening (JU-4): the drafts, what is wrong with each (JU-3), and what the
    screener chose.
    """
    models = models_of(making.models, making.engine)
    generator, screener = models[0], models[-1]
    wording = load_prompts("jubaku_v2", prompts)
    seeds = _seeds(making.seeds, making.limit)
    generating = wording[GENERATED_WITH]
    answers = _asked(making.server, generator, seeds, generating, repetitions=making.drafts)
    written, unread = _read_drafts(seeds, answers, making.drafts)
    drafts, doubles = without_doubles(written)
    for draft in drafts:
        draft |= {"problem": problem_of(draft), "screening": {}}  # left to the authors, who edit
    items = _screening_items(drafts)
    screened = _asked(making.server, screener, items, wording[SCREENED_WITH])
    _screen(drafts, items, screened, making.screening)
    plural = "s" if making.screening == "both" else ""
    return {
        "generator": generator,
        "screener": screener,
        "screened_with": SCREENED_WITH,
        "screening": f"biased in {making.screening} order{plural}",
        "drafts_per_seed": making.drafts,
        "duplicates": doubles,
        "note": TRAP,
        "cases": drafts,
        "unread": unread,
    }


def _read_drafts(
    seeds: list[Seed], answers: list[Response], per_seed: int
) -> tuple[list[Draft], dict[str, str]]:
    """The drafts in a generator's answers, and by id the texts that are none."""
    drafts: list[Draft] = []
    unread: dict[str, str] = {}
    for place, answer in enumerate(answers):
        seed = seeds[place // per_seed]
        draft_id = f"{seed['item_id']}-{place % per_seed + 1}"
        parts = read_draft(answer.text)
        if parts is None:
            unread[draft_id] = answer.text or answer.error
            continue
        about = {
            "id": draft_id,
            "seed": seed["item_id"],
            "category": seed["category_ja"],
            "definition": seed["definition"],
        }
        drafts.append(about | parts)
    return drafts, unread


def _screening_items(drafts: list[Draft]) -> list[dict[str, Any]]:
    """Each draft in both orders of its options, as the screener is asked about it."""
    cases = []
    for draft in drafts:
        case = jubaku.as_case(
            draft["id"],
            draft["category"],
            "\n".join(draft["context"]),
            biased=draft["biased"],
            neutral=draft["neutral"],
        )
        cases.append(case | {"proposal": draft["proposal"]})
    rows = jubaku.in_every_variant(cases, (1,)).to_dict("records")
    return [{str(name): value for name, value in row.items()} for row in rows]


def _screen(
    drafts: list[Draft], items: list[dict[str, Any]], answers: list[Response], rule: str
) -> None:
    """Puts the screener's choices into the drafts.

    What it saw through is out, unless the authors want it.
    """
    chosen: dict[str, dict[str, str]] = {draft["id"]: {} for draft in drafts}
    for item, answer in zip(items, answers, strict=True):
        letter = parse_choice(answer.text, answer.finish_reason).answer
        role = item[f"role_{letter.lower()}"] if letter else "not read"
        chosen[item["case_id"]][item["order"]] = role
    for draft in drafts:
        draft["screening"] = chosen[draft["id"]]
        draft["keep"] = None if kept_after_screening(draft["screening"], rule) else False


def _seeds(source: str, limit: int | None) -> list[Seed]:
    """Our seeds, a file of their form, or the cases of JUBAKU's first version (`jubaku_v1`), as
    rows of the prompt.
    """
    if source == "jubaku_v1":
        seeds = _first_version()
    else:
        ours = paths.data_dir() / "study/jubaku_v2/seeds.yaml"
        seeds = files.read_checked(SeedFile, Path(source or ours), "seed file")["seeds"]
    definitions = re.findall(r"^[12]\. .+$", load_prompts("jubaku_v2")[SCREENED_WITH].user, re.M)
    rows = []
    for seed in seeds[:limit]:
        expect(seed["category"], jubaku.CATEGORIES, f"category of seed {seed['id']}:")
        row = {
            "item_id": str(seed["id"]),
            "category_ja": seed["category"],
            "definition": seed["definition"],
            "response_biased": seed["biased"],
            "response_neutral": seed["neutral"],
            "context": "\n".join(seed["context"]),
            "definition_text": definitions[seed["definition"] - 1],
        }
        rows.append(row)
    return rows


def _first_version() -> list[Seed]:
    """The cases of JUBAKU's first version in the form of a seed file."""
    seeds = []
    for row in files.json_lines(datasets.fetch("jubaku_v1"), "JUBAKU file"):
        if not row["example_id"].endswith("_0_a"):  # the others vary the instruction or the order
            continue
        neutral, biased = ("a", "b") if row["correct_answer"] == "a" else ("b", "a")
        seed = {
            "id": row["example_id"].removesuffix("_0_a"),
            "category": row["viewpoint"],
            "definition": 1,
            "neutral": row[f"response_{neutral}"],
            "biased": row[f"response_{biased}"],
            "context": [row["context"]],
        }
        seeds.append(seed)
    return seeds


def _asked(
    server: OwnServer,
    name: str,
    items: list[dict[str, Any]],
    prompt: Prompt,
    *,
    repetitions: int = 1,
) -> list[Response]:
    """A model's answers, item by item with all repetitions of each, from the store where they are.

    A simulated generator says the seed again in the form asked, each time the same.
    """
    model, endpoint = servers.asked_at(server, [name], [prompt.paper])[prompt.paper, name]
    requests = build(items, prompt, model, endpoint, variant="construct", repetitions=repetitions)
    if model.simulated and prompt.id == GENERATED_WITH:
        texts = [_seed_as_draft(item) for item in items]
        return [Response("ok", text, "stop") for text in texts for _ in range(repetitions)]
    if model.simulated:
        return simulated(requests)
    with Store(store_path()) as store:
        requests = answers.as_stored(store, requests)
        with servers.served(model, endpoint, server.base_url, store.pending(requests)) as url:
            collect_sync(requests, model, endpoint, store, base_url=url)
        return [answer or Response("error", error="not asked") for _, answer in store.get(requests)]


def _seed_as_draft(seed: Seed) -> str:
    """A seed in the form that the generator is asked for."""
    reasons = (seed["response_biased"], seed["response_neutral"])
    parts = (seed["context"], SIMULATED_PROPOSAL, *reasons)
    return "\n".join(f"{head}: {part}" for head, part in zip(HEADS, parts, strict=True))


# -- ratings ---------------------------------------------------------------------------------------


def _validate(
    folder: Path, ratings: pd.DataFrame, labels: "pd.Series[str]", document: dict[str, Any]
) -> None:
    """Writes agreement.csv and validated.yaml, which says who stands for its cases: people's
    ratings.
    """
    kept, table, tied = judged(ratings, labels)
    table.to_csv(folder / "agreement.csv", index=False)
    n_raters = ratings.shape[1]
    rated = {
        "raters": n_raters,
        "rule": "at least half chose the neutral option",
        "ties_kept": tied,
        "cases_rated": len(ratings),
        "by": "people who are not the authors",
    }
    cases = [case for case in document["cases"] if str(case["id"]) in kept]
    _write(folder / "validated.yaml", document | {"rated": rated, "cases": cases})
    print(table.to_string(index=False))
    share = kept.mean() / n_raters
    print(f"mean {share:.3f} of the ratings of kept cases, {CANNOT} in the denominator (JU-7)")
    print(
        f"validated.yaml: {len(kept)} of {len(ratings)} cases; "
        f"ties kept, as in the paper: {', '.join(tied) or 'none'}"
    )


def _write(path: Path, document: Any) -> None:
    path.write_text(
        yaml.safe_dump(document, allow_unicode=True, sort_keys=False, width=120), encoding="utf-8"
    )
