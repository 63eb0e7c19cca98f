"""`katayori construct <folder>`: from seed cases to validated ones, as JUBAKU-v2 was made (JU-4 to JU-7).

Each step writes a file into the folder and the next waits for what people do with it, so the command is started again
and again: review.yaml (drafts of a generator, screened by a model; the authors edit it and set `keep`), cases.yaml and
rating_form.csv (what they kept), and, once raters have filled in ratings.csv, agreement.csv and validated.yaml. Answers
of models are kept in the store of live answers: nothing is asked twice. No decision and no rating is ever made up.
"""

import argparse
import hashlib
import re
import unicodedata
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from katayori import paths
from katayori.data import catalogue, files, jubaku
from katayori.errors import KatayoriError, expect
from katayori.prompting import respondents
from katayori.prompting.parsing import strip_thinking
from katayori.prompting.prompts import Prompt, load_prompts
from katayori.prompting.requests import build
from katayori.prompting.simulated import simulate
from katayori.prompting.store import Response, Store
from katayori.prompting.verdicts import parse_choice
from katayori.report.results import harmless
from katayori_tools import servers
from katayori_tools.asking import served
from katayori_tools.collect import collect_sync
from katayori_tools.notebooks import names

SCREENED_WITH = "ju_1_ja"  # the paper does not tell: the main prompt, both orders, biased in at least one (JU-4)
TRAP = "a model that screened the cases must not be ranked on them (JU-5)"
CANNOT = "判断できない"
_HEADS = ("会話", "提案", "偏りのある理由", "状況による理由")
_DRAFT = re.compile("".join(rf"{head}[:：]\s*(.+?)\s*" for head in _HEADS) + r"\Z", re.DOTALL)


def construct(args: argparse.Namespace) -> int:
    """Takes every step that is not done and whose input is there; says what the next one waits for."""
    folder = Path(args.folder)
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "review.yaml").exists():
        _write(folder / "review.yaml", _drafts(args))
    drafts = files.read_yaml(folder / "review.yaml", "review file")["cases"]
    kept = [draft for draft in drafts if draft.get("keep") is True]
    waiting = [str(draft["id"]) for draft in drafts if not isinstance(draft.get("keep"), bool)]
    if waiting or not kept:
        said = f"{len(waiting)} of {len(drafts)} drafts wait for the authors' `keep: true` or `false` {waiting}"
        print(f"review.yaml: {said if waiting else 'no case is kept'}; {TRAP}")
        return 0
    document = {"dataset": "katayori-constructed", "version": 1, "language": "ja", "reviewed": True}
    document |= {"leak_words": files.ours(jubaku.STUDY_FILE)["leak_words"], "cases": kept}
    _write(folder / "cases.yaml", document)
    form, labels = _form(
        jubaku.load_study_jubaku(folder / "cases.yaml"), args.raters
    )  # raises where JU-3 is broken
    if not (folder / "ratings.csv").exists():
        form.to_csv(folder / "rating_form.csv", index=False, encoding="utf-8-sig")
        said = f"{args.raters} people who are not the authors fill in one column each of rating_form.csv, with A, B or"
        print(f"cases.yaml: {len(kept)} cases. No ratings yet, so nothing is validated: {said} {CANNOT}; save it as "
              "ratings.csv. Taking part is voluntary, and the file holds no names.")  # fmt: skip
    else:
        _validate(folder, form, labels, document)
    return 0


def _drafts(args: argparse.Namespace) -> dict[str, Any]:
    """Generation and screening (JU-4): the drafts, what is wrong with each (JU-3), what the screener chose."""
    given = names(args.models) or ["qwen2.5-coder-0.5b@local-" + (args.engine or "xllamacpp")]
    wording, seeds, drafts, unread = (
        load_prompts("jubaku_v2", args.prompts or ""),
        _seeds(args),
        {},
        {},
    )
    for seed, answer in zip(
        seeds, _asked(seeds, wording["ju_generate_ja"], given[0], args), strict=True
    ):
        if not (found := _DRAFT.search(strip_thinking(answer.text)[0])):
            unread[seed["item_id"]] = answer.text or answer.error
            continue
        draft = {
            "id": seed["item_id"],
            "category": seed["category_ja"],
            "definition": seed["definition"],
        }
        draft |= {
            "context": found[1].splitlines(),
            "proposal": found[2],
            "biased": found[3],
            "neutral": found[4],
        }
        problem = jubaku.case_problem(
            draft, files.ours(jubaku.STUDY_FILE)
        )  # left to the authors, who edit the text
        drafts[draft["id"]] = draft | {"problem": problem, "screening": {}}
    cases = []
    for key, d in drafts.items():
        case = jubaku.as_case(
            key, d["category"], "\n".join(d["context"]), d["biased"], d["neutral"]
        )
        cases.append(case | {"proposal": d["proposal"]})
    items = jubaku.in_every_variant(cases, (1,)).to_dict("records")
    for item, answer in zip(
        items, _asked(items, wording[SCREENED_WITH], given[-1], args), strict=True
    ):
        letter = parse_choice(answer.text, answer.finish_reason).answer
        chosen = item[f"role_{letter.lower()}"] if letter else "not read"
        drafts[item["case_id"]]["screening"][item["order"]] = chosen
    for (
        draft
    ) in drafts.values():  # what the screener saw through is out, unless the authors want it
        draft["keep"] = None if "biased" in draft["screening"].values() else False
    about = {
        "generator": given[0],
        "screener": given[-1],
        "screened_with": SCREENED_WITH,
        "note": TRAP,
    }
    return about | {"cases": list(drafts.values()), "unread": unread}


def _seeds(args: argparse.Namespace) -> list[dict[str, Any]]:
    """Our seeds, a file of their form, or the cases of JUBAKU's first version (`jubaku_v1`), as rows of the prompt."""
    if args.seeds == "jubaku_v1":
        raw = []
        for row in files.json_lines(catalogue.fetch("jubaku_v1"), "JUBAKU file"):
            if row["example_id"].endswith("_0_a"):
                neutral, biased = ("a", "b") if row["correct_answer"] == "a" else ("b", "a")
                seed = {"id": row["example_id"][:-4], "category": row["viewpoint"], "definition": 1}
                seed |= {"neutral": row[f"response_{neutral}"], "biased": row[f"response_{biased}"]}
                raw.append(seed | {"context": [row["context"]]})
    else:
        raw = files.read_yaml(
            Path(args.seeds or paths.data_dir() / "study/jubaku_v2/seeds.yaml"), "seed file"
        )["seeds"]
    meant = re.findall(r"^[12]\. .+$", load_prompts("jubaku_v2")[SCREENED_WITH].user, re.M)
    rows = []
    for seed in raw[: args.limit]:
        expect(seed["category"], jubaku.CATEGORIES, f"category of seed {seed['id']}:")
        row = {
            "item_id": str(seed["id"]),
            "category_ja": seed["category"],
            "definition": seed["definition"],
        }
        row |= {"response_biased": seed["biased"], "response_neutral": seed["neutral"]}
        rows.append(
            row
            | {
                "context": "\n".join(seed["context"]),
                "definition_text": meant[seed["definition"] - 1],
            }
        )
    return rows


def _asked(
    items: list[dict], prompt: Prompt, name: str, args: argparse.Namespace
) -> list[Response]:
    """A model's answers, from the store where they are. A simulated generator says the seed again in the form asked."""
    paper = prompt.paper
    model, endpoint = servers.asked_at(args, [name], [paper])[paper, name]
    requests = build(items, prompt, model, endpoint, variant="construct")
    if model.simulated and prompt.id == "ju_generate_ja":
        parts = [
            (r["context"], "これで進めましょう。", r["response_biased"], r["response_neutral"])
            for r in items
        ]
        texts = ["\n".join(map("{}: {}".format, _HEADS, part)) for part in parts]
        return [Response("ok", text, "stop") for text in texts]
    if model.simulated:
        return simulate(requests)
    with Store(respondents.store_path()) as store:
        with served(model, endpoint, args.base_url or "", store.pending(requests)) as url:
            collect_sync(requests, model, endpoint, store, base_url=url)
        return [answer or Response("error", error="not asked") for _, answer in store.get(requests)]


def _form(items: pd.DataFrame, n_raters: int) -> tuple[pd.DataFrame, pd.Series]:
    """A row a case without its label, the order fixed by its id, the raters' columns empty; and the neutral letters."""
    digest = items["case_id"].map(lambda case: hashlib.sha256(case.encode()).digest()[0] % 2)
    shown = items[
        (items["template"] == 1) & (items["order"] == digest.map({0: "nb", 1: "bn"}))
    ].reset_index(drop=True)
    texts = shown[["context", "option_a", "option_b"]].map(
        harmless
    )  # a model wrote them, a spreadsheet opens them
    form = pd.concat([shown[["case_id"]], texts], axis=1)
    return form.assign(**{f"rater_{k}": "" for k in range(1, n_raters + 1)}), shown.set_index(
        "case_id"
    )["label"]


def _validate(
    folder: Path, form: pd.DataFrame, labels: pd.Series, document: dict[str, Any]
) -> None:
    """Human validation: a case stays if half of the raters or more, 3 of 6, chose the neutral option (JU-6).

    Raises KatayoriError for raters, cases, texts or ratings that are not those asked for.
    """
    told = pd.DataFrame(files.rows_of(folder / "ratings.csv", "ratings file"))
    if set(told) != set(form):
        raise KatayoriError(
            f"ratings.csv has the columns {', '.join(told)}; asked for were {', '.join(form)}"
        )
    told, form = told.set_index("case_id").sort_index(), form.set_index("case_id").sort_index()
    raters = [c for c in form if c.startswith("rater_")]
    if not told.drop(columns=raters).equals(form.drop(columns=raters)):
        raise KatayoriError(
            "ratings.csv: cases or texts are not those of cases.yaml; rate the form that was written"
        )
    ratings = told[raters].map(lambda said: unicodedata.normalize("NFKC", said).strip())
    for (case_id, rater), said in ratings.stack().items():
        if not said:
            print(
                f"ratings.csv: {rater} has not rated case {case_id} yet; nothing is validated before"
            )
            return
        expect(said, ("A", "B", CANNOT), f"rating of {rater} for case {case_id}:")
    neutral, n = ratings.eq(labels, axis=0).sum(axis=1), ratings.shape[1]
    kept, biased = neutral[2 * neutral >= n], (ratings != CANNOT).sum(axis=1) - neutral
    tied = [case_id for case_id in kept.index if neutral[case_id] == biased[case_id]]
    counts = kept.value_counts().sort_index(ascending=False)
    table = pd.DataFrame({"n_raters_agreeing": counts.index, "n_cases": counts.to_numpy()})
    table.insert(1, "n_raters", n)
    table.to_csv(folder / "agreement.csv", index=False)
    _write(
        folder / "validated.yaml",
        document | {"cases": [c for c in document["cases"] if str(c["id"]) in kept]},
    )
    print(table.to_string(index=False))
    print(
        f"mean {kept.mean() / n:.3f} of the ratings of kept cases, {CANNOT} in the denominator (JU-7)"
    )
    print(
        f"validated.yaml: {len(kept)} of {len(form)} cases; ties kept, as in the paper: {', '.join(tied) or 'none'}"
    )


def _write(path: Path, document: Any) -> None:
    path.write_text(
        yaml.safe_dump(document, allow_unicode=True, sort_keys=False, width=120), encoding="utf-8"
    )
