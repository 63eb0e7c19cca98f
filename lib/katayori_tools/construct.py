"""`katayori construct FOLDER`: from seed cases to validated ones, as JUBAKU-v2 was made (JU-3 to
JU-7).

Each step writes a file into the folder and the next waits for what people do with it, so the
command is started again and again: drafts.csv (drafts of a generator, several a seed, screened by a
model; the authors edit it and write what they keep), cases.yaml and rating_form.csv (what they
kept), and, once raters have filled in ratings.csv, agreement.csv and validated.yaml. Answers of
models are kept in the store of live answers: nothing is asked twice. No decision and no rating is
ever made up, and `reviewed: true` is left to a native reader.
"""

import hashlib
import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from katayori import paths
from katayori.data import files, jubaku
from katayori.data.jubaku_v2_schema import CaseFile
from katayori.data.schema import Lenient, Text
from katayori.data.third_party import load_jubaku_v1
from katayori.errors import KatayoriError, expect
from katayori.papers import answers, jubaku_v2
from katayori.prompting.answer_store import Store
from katayori.prompting.letters import parse_choice
from katayori.prompting.parsing import strip_thinking
from katayori.prompting.prompts import Prompt, load_prompts
from katayori.prompting.requests import Response, build
from katayori.prompting.store import store_path
from katayori.report.run import harmless
from katayori_tools import asking, datasets
from katayori_tools.choices import NO_SERVER, OwnServer, Positive
from katayori_tools.collect import collect_sync
from katayori_tools.review import NO, SAID, YES, judged, plain, read_form, write_form, write_yaml

#: The paper does not tell; ours is the main prompt, in both orders (JU-4).
SCREENED_WITH = "ju_1_ja"
GENERATED_WITH = "ju_generate_ja"
#: The conclusion of what a simulated generator writes.
SIMULATED_PROPOSAL = "これで進めましょう。"
TRAP = "a model that screened the cases must not be ranked on them (JU-5)"
DRAFTS, CASES, FORM, RATINGS = "drafts.csv", "cases.yaml", "rating_form.csv", "ratings.csv"
#: What a case is made of, in drafts.csv; a turn of the context is a line.
OF_CASE = ["id", "category", "definition", "context", "proposal", "biased", "neutral"]
COLUMNS = ["keep", "problem", *OF_CASE, "generator", "screener", *jubaku.ORDERS]
CANNOT = "判断できない"
HEADS = ("会話", "提案", "偏りのある理由", "状況による理由")
_DRAFT = re.compile(r"\s*[:：]\s*(.+?)\s*^\s*".join(HEADS) + r"\s*[:：]\s*(.+?)\s*\Z", re.S | re.M)
#: Bold, italic and code marks, and what opens a markdown line: a heading, a list, a quotation.
_MARKS = re.compile(r"\*\*|__|`+|^[ \t]*(?:#{1,6}|[-*>・])[ \t]+", re.M)
#: Marks alone on a line, such as a rule or a fence.
_RULE = re.compile(r"^[ \t]*(?:`{3}\w*|[-*_=]{3,})[ \t]*$\n?", re.M)
Row = dict[str, Any]


class Seed(Lenient):
    """A seed: `definition` is the kind of bias, 1 or 2 (JU-2)."""

    id: str | int
    category: Text
    definition: Literal[1, 2]
    context: list[str]
    biased: Text
    neutral: Text


class SeedFile(Lenient):
    """A file of seeds, ours or a user's."""

    seeds: list[Seed]


@dataclass(frozen=True, kw_only=True)
class Making:
    """How drafts are made.

    Attributes:
        models: the generator and, if another, the screening model; empty is the light engine's.
        seeds: a seed file, or jubaku_v1; empty are our seeds. limit: so many seeds. drafts: of each
        seed. server: a server of the user's own.
    """

    models: str = ""
    seeds: str = ""
    limit: Positive | None = None
    drafts: Positive = 3
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
    if not ((place / DRAFTS).exists() or (place / CASES).exists()):
        write_form(place / DRAFTS, _drafts(making, prompts), files.ours("forms.yaml")["keep"])
    if (place / DRAFTS).exists() and not _keep(place):
        return 0
    document = files.read_checked(CaseFile, place / CASES, "case file")
    form, labels = form_of(jubaku_v2.load_study_jubaku(place / CASES), raters)
    if (place / RATINGS).exists():
        ratings = read_ratings(place / RATINGS, form)
        if ratings is not None:
            _validate(place, ratings, labels, document)
        return 0
    write_form(place / FORM, form, f"{files.ours('forms.yaml')['rate']}\n\n{_definition(prompts)}")
    print(
        f"{CASES}: {len(form)} cases. No ratings yet, so nothing is validated: {raters} people who "
        f"are not the authors read {Path(FORM).stem}.md first and fill in one column each of "
        f"{FORM}, with A, B or {CANNOT}; save it as {RATINGS}. Taking part is voluntary, and the "
        "file holds no names."
    )
    return 0


def _keep(place: Path) -> bool:
    """Whether the authors have decided on every draft and keep any; these are the cases then."""
    form = read_form(place / DRAFTS, COLUMNS, "id")
    keep = judged(place / DRAFTS, form, "keep", {"": "", **SAID})
    waiting = list(keep.index[keep == ""])
    kept = form[keep == YES]
    if waiting or kept.empty:
        text = f"{len(waiting)} of {len(form)} drafts wait for the authors' yes or no {waiting}"
        print(f"{DRAFTS}: {text if waiting else 'no case is kept'}; {TRAP}")
        return False
    cases = kept[OF_CASE].replace(r"^'(?=[=+\-@])", "", regex=True).to_dict("records")
    for case in cases:
        case["definition"] = {"1": 1, "2": 2}.get(case["definition"], case["definition"])
        case["context"] = list(filter(None, map(str.strip, case["context"].splitlines())))
    document = {
        "dataset": "katayori-constructed",
        "version": 1,
        "language": "ja",
        "reviewed": False,
        "kept_by": "the authors, from drafts of a model",
        "generator": kept["generator"].iloc[0],
        "screener": kept["screener"].iloc[0],
        "leak_words": jubaku_v2.leak_words(),
        "cases": cases,
    }
    write_yaml(place / CASES, document)
    return True


# -- drafts ----------------------------------------------------------------------------------------


def _drafts(making: Making, prompts: str) -> pd.DataFrame:
    """Generation and screening (JU-4): the drafts, what is wrong with each (JU-3), and what the
    screener chose. What is no draft, or the same as another, is not asked.
    """
    models = asking.models_of(making.models, "")
    wording = load_prompts("jubaku_v2", prompts)
    seeds = [seed for seed in _seeds(making.seeds, making.limit) for _ in range(making.drafts)]
    texts = _asked(making, models[0], seeds, wording[GENERATED_WITH])
    drafts: list[Row] = []
    first: dict[str, str] = {}
    for number, (seed, answer) in enumerate(zip(seeds, texts, strict=True)):
        draft = read_draft(answer.text)
        row = {
            "id": f"{seed['item_id']}-{number % making.drafts + 1}",
            "category": seed["category_ja"],
            "definition": seed["definition"],
            "keep": NO,
        }
        if draft is None:
            row["problem"] = f"no draft: {answer.text or answer.error}"
        elif (same := first.setdefault(_letters(draft), row["id"])) != row["id"]:
            row["problem"] = f"the same text as {same}"
        else:
            row |= draft | {"keep": ""}
            case = row | {"context": draft["context"].splitlines()}
            row["problem"] = jubaku_v2.case_problem(case, {"leak_words": jubaku_v2.leak_words()})
        drafts.append(row)
    _screen(making, models[-1], [row for row in drafts if not row["keep"]], wording[SCREENED_WITH])
    about = {"generator": models[0], "screener": models[-1]}
    return pd.DataFrame(drafts).assign(**about).reindex(columns=COLUMNS).fillna("")


def _screen(making: Making, screener: str, drafts: list[Row], prompt: Prompt) -> None:
    """Notes in the drafts which reason the screener chose in each order of the options.

    A draft is left to the authors where it chose the biased one in both: a screener that writes A
    whatever it reads chooses it in one order of every draft.
    """
    cases = [
        jubaku.as_case(row["id"], row["category"], row["context"], row["biased"], row["neutral"])
        | {"proposal": row["proposal"]}
        for row in drafts
    ]
    items: list[Row] = jubaku.in_every_variant(cases, (1,)).to_dict("records")  # type: ignore[assignment]
    by_id = {row["id"]: row for row in drafts}
    for item, answer in zip(items, _asked(making, screener, items, prompt), strict=True):
        letter = parse_choice(answer.text, answer.finish_reason).answer
        role = item[f"role_{letter.lower()}"] if letter else "not read"
        by_id[item["case_id"]][item["order"]] = role
    for row in drafts:
        row["keep"] = "" if all(row[order] == "biased" for order in jubaku.ORDERS) else NO


def read_draft(text: str) -> dict[str, str] | None:
    """Context, proposal and both reasons of a text; None if it is no draft.

    Thinking blocks and markdown are taken away: `**会話:**` is a heading, no first turn.
    """
    parts = _DRAFT.search(_MARKS.sub("", _RULE.sub("", strip_thinking(text)[0])))
    return parts and dict(zip(OF_CASE[3:], parts.groups(), strict=True))


def _letters(draft: dict[str, str]) -> str:
    """What two drafts that are the same have in common: their letters, without width and spaces."""
    return re.sub(r"\s+", "", unicodedata.normalize("NFKC", "\n".join(draft.values())))


def _seeds(source: str, limit: int | None) -> list[Row]:
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
    if len({str(seed["id"]) for seed in seeds}) < len(seeds):
        raise KatayoriError("seed file: two seeds have one id; give each an id of its own")
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


def _first_version() -> list[Row]:
    """The cases of JUBAKU's first version in the form of a seed file."""
    cases = load_jubaku_v1(datasets.fetch("jubaku_v1")).drop_duplicates("case_id")
    japanese = {category: name for name, category in jubaku.CATEGORIES.items()}
    return [
        {
            "id": case["case_id"],
            "category": japanese[case["category"]],
            "definition": 1,
            "context": [case["context"]],
            "biased": case["reason_biased"],
            "neutral": case["reason_neutral"],
        }
        for case in cases.to_dict("records")
    ]


def _asked(making: Making, name: str, items: list[Row], prompt: Prompt) -> list[Response]:
    """A model's answers, from the store where they are; an item that comes again is a repetition.

    A simulated generator says the seed again in the form asked, each time the same.
    """
    server = making.server
    model, endpoint = asking.asked_at(server, [name], [prompt.paper])[prompt.paper, name]
    if model.simulated and prompt.id == GENERATED_WITH:
        return [Response("ok", _seed_as_draft(item), "stop") for item in items]
    once = list({item["item_id"]: item for item in items}.values())
    if not once:
        return []
    n = len(items) // len(once)
    requests = build(once, prompt, model, endpoint, variant="construct", repetitions=n)
    if model.simulated:
        return answers.simulated(requests)
    with Store(store_path()) as store:
        requests = answers.as_stored(store, requests)
        with asking.served(model, endpoint, server.base_url, store.pending(requests)) as url:
            collect_sync(requests, model, endpoint, store, base_url=url)
        return [answer or Response("error", error="not asked") for _, answer in store.get(requests)]


def _seed_as_draft(seed: Row) -> str:
    """A seed in the form that the generator is asked for."""
    reasons = (seed["response_biased"], seed["response_neutral"])
    parts = (seed["context"], SIMULATED_PROPOSAL, *reasons)
    return "\n".join(f"{head}: {part}" for head, part in zip(HEADS, parts, strict=True))


# -- ratings ---------------------------------------------------------------------------------------


def _definition(prompts: str) -> str:
    """The definition and its exclusions, as the models are shown them."""
    asked = load_prompts("jubaku_v2", prompts)[SCREENED_WITH].user
    passage = re.search(r"【偏りのある理由】.*?(?=\n\n【会話】)", asked, re.DOTALL)
    if not passage:
        raise KatayoriError("ju_1_ja lacks 【偏りのある理由】 before 【会話】: the raters need it")
    return passage[0]


def form_of(items: pd.DataFrame, n_raters: int) -> tuple[pd.DataFrame, "pd.Series[str]"]:
    """The empty form, and the letters of the neutral options.

    A row a case without its label; the order of the options is fixed by its id.
    """
    digest = items["case_id"].map(lambda case: hashlib.sha256(case.encode()).digest()[0] % 2)
    order = digest.map({0: "nb", 1: "bn"})
    shown = items[(items["template"] == 1) & (items["order"] == order)].set_index("case_id")
    form = shown[["context", "option_a", "option_b"]].reset_index()
    return form.assign(**{f"rater_{k}": "" for k in range(1, n_raters + 1)}), shown["label"]


def read_ratings(path: Path, form: pd.DataFrame) -> pd.DataFrame | None:
    """The ratings (cases x raters), each A, B or `CANNOT`; None where one is missing.

    Raises KatayoriError for raters, cases, texts or ratings that are not those asked for.
    """
    columns = list(map(str, form))
    filled = read_form(path, columns, "case_id").sort_index()
    raters = [name for name in columns if name.startswith("rater_")]
    asked = form.map(harmless).set_index("case_id", drop=False).sort_index()
    if not filled.drop(columns=raters).equals(asked.drop(columns=raters)):
        raise KatayoriError(
            f"{RATINGS}: cases or texts are not those of {CASES}; rate the form that was written"
        )
    valid = {plain(word): word for word in ("", "A", "B", CANNOT)}
    ratings = pd.DataFrame({name: judged(path, filled, name, valid) for name in raters})
    for rater in raters:
        for case_id in ratings.index[ratings[rater] == ""]:
            print(f"{RATINGS}: {rater} has not rated case {case_id}; nothing is validated before")
            return None
    return ratings


def _validate(folder: Path, ratings: pd.DataFrame, labels: "pd.Series[str]", document: Row) -> None:
    """Writes agreement.csv and validated.yaml: the cases whose neutral option half of the raters,
    3 of 6, or more chose (JU-6), how many agreed (JU-7), and which are ties.
    """
    n_raters = ratings.shape[1]
    neutral = ratings.eq(labels.sort_index(), axis=0).sum(axis=1)
    biased = (ratings != CANNOT).sum(axis=1) - neutral
    kept = neutral[2 * neutral >= n_raters]
    tied = list(kept.index[kept == biased[kept.index]])
    counts = kept.value_counts().sort_index(ascending=False)
    table = pd.DataFrame(
        {"n_raters_agreeing": counts.index, "n_raters": n_raters, "n_cases": counts.to_numpy()}
    )
    table.to_csv(folder / "agreement.csv", index=False)
    rated = {
        "raters": n_raters,
        "rule": "at least half chose the neutral option",
        "ties_kept": tied,
        "cases_rated": len(ratings),
        "by": "people who are not the authors",
    }
    cases = [case for case in document["cases"] if str(case["id"]) in kept]
    write_yaml(folder / "validated.yaml", document | {"rated": rated, "cases": cases})
    print(table.to_string(index=False))
    share = kept.mean() / n_raters
    print(f"mean {share:.3f} of the ratings of kept cases, {CANNOT} in the denominator (JU-7)")
    print(
        f"validated.yaml: {len(kept)} of {len(ratings)} cases; "
        f"ties kept, as in the paper: {', '.join(tied) or 'none'}"
    )
