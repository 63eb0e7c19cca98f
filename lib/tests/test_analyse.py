"""`make analyse LOG=`: somebody else's logs, with planted answers, and what cannot be read."""

import doctest
import json
from pathlib import Path

import numpy as np
import page_inputs
import pandas as pd
import pytest
from bs4 import BeautifulSoup

from katayori.data import logs
from katayori.data.logs import read_log
from katayori.metrics import bbq, exchange, judges, level_gaps, proportions, shares
from katayori.papers import log_kinds
from katayori.report import first_page
from katayori_tools import analyse, cli, pages
from katayori_tools.pages import POLICY

LOGS = Path(__file__).parent / "fixtures" / "harness_logs"
HOSTILE = "<script>alert(1)</script><img src='https://evil.example/x.png'>$\\frac{"
ROLES = ("biased", "counter_biased", "unknown")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("KATAYORI_OUTPUTS", str(tmp_path / "outputs"))
    return tmp_path


def analysed(*words) -> pd.DataFrame:
    """The rows of results.csv of a log."""
    first = Path(words[0])
    assert cli.main(["analyse", *map(str, words), "--out", str(first.parent / "out")]) == 0
    return pd.read_csv(first.parent / "out" / "results.csv", keep_default_na=False, na_values=[""])


def page(folder: Path) -> BeautifulSoup:
    return BeautifulSoup((folder / "out" / "report.html").read_text("utf-8"), "html.parser")


def one(rows: pd.DataFrame, name: str, cell: str = "") -> pd.Series:
    found = rows[(rows["measure"] == name) & rows["cell"].str.contains(cell, regex=False)]
    assert len(found) == 1, found
    return found.iloc[0]


def refused(capsys, *words) -> str:
    """The one line with which a log is refused."""
    assert cli.main(["analyse", *map(str, words)]) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert lines[-1].startswith("katayori: ") and not any("Traceback" in line for line in lines)
    return lines[-1]


# -- decisions about persons -----------------------------------------------------------------------


@pytest.fixture
def decisions(folder):
    """A log of inspect_ai with a planted effect of gender, and none of age."""
    page_inputs._inspect(folder / "decisions.eval", np.random.default_rng(5))
    return folder / "decisions.eval"


def test_a_planted_effect_is_found_and_noise_is_not(decisions):
    rows = analysed(decisions)
    assert list(rows) == list(analyse.COLUMNS) and set(rows["source"]) == {"imported"}
    for test in ("any_effect", "common_direction"):
        assert one(rows, test, "factor=gender")["p_holm"] < 0.05
        assert one(rows, test, "factor=age")["p_holm"] > 0.05
    assert one(rows, "gap", "factor=gender; level=woman")["ci_low"] > 0


def test_decisions_have_the_numbers_of_the_library(decisions):
    rows = analysed(decisions)
    frame = read_log(decisions)
    frame["yes"] = frame["text"].map({"Answer: yes": 1, "Answer: no": 0})
    names = {"value": "yes", "cluster": "question"}
    ours = exchange.exchange_test(frame, **names, level="gender", row="age").set_index("test")
    holm = 2 * ours.loc["any_effect", "p"]
    assert one(rows, "any_effect", "gender")["value"] == ours.loc["any_effect", "value"]
    assert one(rows, "any_effect", "gender")["p_holm"] == pytest.approx(holm)
    gaps = level_gaps.level_gaps(frame, **names, level="gender", row="age").set_index("level")
    gap = one(rows, "gap", "gender; level=woman")
    columns = ["value", "ci_low", "ci_high", "n", "n_invalid", "clusters"]
    assert gap[columns].tolist() == pytest.approx(gaps.loc["woman", columns].tolist())
    share = shares.share(frame, **names, by="gender").set_index("gender").loc["man"]
    valid, asked = (
        one(rows, "response_ratio", "gender; level=man"),
        one(rows, "response_ratio_all", "r; level=man"),
    )
    assert valid[columns].tolist() == pytest.approx(share[columns].tolist())
    assert asked["n"] == valid["n"] + valid["n_invalid"] and asked["value"] < valid["value"]


def test_two_models_are_compared_on_the_same_items(folder):
    rng = np.random.default_rng(0)
    cells = pd.MultiIndex.from_product(
        [range(20), ("woman", "man"), range(3)], names=["question", "gender", "repetition"]
    )
    table = cells.to_frame(index=False)
    table["item_id"] = table["question"].astype(str) + table["gender"]
    first = table.assign(model="eager", yes=(rng.random(len(table)) < 0.8).astype(int))
    second = table.assign(model="careful", yes=(rng.random(len(table)) < 0.4).astype(int))
    pd.concat([first, second]).to_csv(folder / "two.csv", index=False)
    rows = analysed(folder / "two.csv")
    ours = proportions.mcnemar(first["yes"], second["yes"]).iloc[0]
    exact = one(rows, "yes, paired exact", "pair=eager - careful")
    assert exact[["value", "p", "ci_low"]].tolist() == pytest.approx(
        ours[["value", "p", "ci_low"]].tolist()
    )
    grouped = proportions.mcnemar(first["yes"], second["yes"], cluster=first["question"]).iloc[0]
    clustered = one(rows, "yes, paired clustered")
    assert clustered["p"] == pytest.approx(grouped["p_cluster"]) and clustered["p"] < 0.01
    assert clustered["clusters"] == 20


# -- questions about two persons -------------------------------------------------------------------


def bbq_log(lean: float, first_place: float = 0.0, seed: int = 1) -> pd.DataFrame:
    """Answers to items of BBQ's shape: 24 templates, three orders of the options.

    `lean` is added to the log odds of the biased person, `first_place` to those of place 0.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for number in range(24 * 12):
        place = number % 3
        roles = [ROLES[(place + shift) % 3] for shift in range(3)]
        context = ("ambig", "disambig")[number // 3 % 2]
        right = "unknown" if context == "ambig" else ROLES[number // 6 % 2]
        logs = rng.normal(0, 0.5, 3) + [lean * (one == "biased") for one in roles]
        logs += np.array([first_place, 0, 0]) + [1.0 * (one == right) for one in roles]
        p = np.exp(logs) / np.exp(logs).sum()
        row = {f"role_{k}": role for k, role in enumerate(roles)}
        row |= {f"p_{k}": p[k] for k in range(3)} | {"answer": "ABC"[int(p.argmax())]}
        row |= {"template_id": f"t{number // 12}", "context_condition": context}
        rows.append(row | {"item_id": number, "label": roles.index(right), "model": "m"})
    return pd.DataFrame(rows)


def test_a_planted_stereotype_is_found_and_none_where_there_is_none(folder):
    bbq_log(1.5).to_csv(folder / "biased.csv", index=False)
    rows = analysed(folder / "biased.csv")
    for name in ("diff_amb", "diff_dis"):
        assert one(rows, name)["ci_low"] > 0, name
    assert one(rows, "position_free difference", "calibrated; score=soft")["ci_low"] > 0
    bbq_log(0).to_csv(folder / "fair.csv", index=False)
    rows = analysed(folder / "fair.csv")
    for name in ("diff_amb", "diff_dis"):
        assert one(rows, name)["ci_low"] < 0 < one(rows, name)["ci_high"], name


def test_scores_are_those_of_the_library(folder):
    table = bbq_log(1.0)
    table.loc[::7, "answer"] = "I do not know"
    table.to_csv(folder / "some.csv", index=False)
    rows = analysed(folder / "some.csv")
    table["answer"] = table["answer"].map({"A": "0", "B": "1", "C": "2"})
    names = {"answer": "answer", "option": "role", "label": "label", "context": "context_condition"}
    frame = bbq.with_role(table, **names)
    columns = ["value", "n", "n_invalid", "clusters", "ci_low", "ci_high"]
    scored = {"context": "case", "right": "right", "side": "side", "cluster": "template_id"}
    ours = bbq.scores(frame, **scored).set_index(["unreadable", "measure"])
    for name in ("acc_amb", "acc_dis", "diff_amb", "diff_dis"):
        assert one(rows, name)[columns].tolist() == pytest.approx(
            ours.loc[("left out", name), columns].tolist()
        )
    # Of all that were asked an invalid answer is wrong: the lower end of the bounds.
    for name in ("acc_amb", "acc_dis"):
        assert one(rows, f"{name}_all")["value"] == pytest.approx(
            ours.loc[("lowest", name), "value"]
        )
    roles = frame[frame["context_condition"] == "ambig"]["role"]
    sides = (roles == "biased").sum() - (roles == "counter_biased").sum()
    assert one(rows, "diff_amb_all")["value"] == pytest.approx(sides / len(roles))
    assert one(rows, "ooc_rate")["value"] == pytest.approx(42 / 288)
    assert one(rows, "ooc_rate")["n_invalid"] == 42 == one(rows, "acc_amb_all")["n_invalid"] * 2
    assert one(rows, "acc_amb_all")["n"] > one(rows, "acc_amb")["n"]
    banner = " ".join(page(folder).find(class_="banner warning").get_text().split())
    assert banner.startswith("Only 85.4 % of the answers of m could be read (246 of 288).")


SCORES = ("acc_amb", "acc_dis", "diff_amb", "diff_dis")


def test_letters_that_say_a_position_only_have_no_value(folder):
    bbq_log(0.5, first_place=8).to_csv(folder / "first.csv", index=False)
    rows = analysed(folder / "first.csv")
    of_letters = [*SCORES, *(f"{name}_all" for name in SCORES)]
    for letter in (one(rows, name) for name in of_letters):
        assert letter[["value", "ci_low", "ci_high"]].isna().all()
        assert letter["status"] == "position_bound" and letter["n"] > 0
        assert letter["why"].startswith("one position takes more than 90 %")
    assert one(rows, "position_free difference", "calibrated; score=soft")["ci_low"] > 0
    assert one(rows, "ooc_rate")["value"] == 0


def test_a_position_in_ambiguous_contexts_alone_holds_these_back(folder):
    """All answers together have it in fewer than 90 %."""
    table = bbq_log(0.5)
    silent = table["context_condition"] == "ambig"
    table["answer"] = table["answer"].mask(silent, "B")
    table.drop(columns=["p_0", "p_1", "p_2"]).to_csv(folder / "silent.csv", index=False)
    rows = analysed(folder / "silent.csv")
    for name in ("acc_amb", "diff_amb", "diff_amb_all"):
        assert one(rows, name)["status"] == "position_bound", name
    for name in ("acc_dis", "diff_dis", "diff_dis_all"):
        assert one(rows, name)["status"] == "ok", name


def dialect(rows, measure: str, tool: str) -> pd.Series:
    return one(rows[rows["cell"].str.endswith(f"tool={tool}")], f"dialect {measure}")


def test_dialects_differ_by_what_an_unreadable_answer_is(folder):
    """A third of the ambiguous answers is a text that cannot be read, or empty."""
    table = bbq_log(1.0).drop(columns=["p_0", "p_1", "p_2"]).rename(columns={"answer": "text"})
    silent = table["context_condition"] == "ambig"
    lost = silent & (table.index % 18 < 3)
    counts = {}
    for name, text in (("text", "I do not know"), ("empty", "")):
        log = folder / f"{name}.csv"
        table.assign(text=table["text"].mask(lost, text)).to_csv(log, index=False)
        rows = analysed(log, "--dialects")
        counts[name] = rows
        kobbq = dialect(rows, "bias_amb", "KoBBQ")
        columns = ["value", "n", "n_invalid", "clusters", "ci_low", "ci_high"]
        assert kobbq[columns].tolist() == pytest.approx(one(rows, "diff_amb")[columns].tolist())
        n, lost_n = kobbq["n"], kobbq["n_invalid"]
        assert lost_n == lost.sum() > 0
        euro = dialect(rows, "bias_amb", "EuroEval")
        assert euro["value"] == pytest.approx(kobbq["value"] * n / (n + lost_n))
        assert dialect(rows, "acc_diff", "Nejumi")["value"] == pytest.approx(
            -one(rows, "diff_dis")["value"]
        )
    texts, empty = (dialect(counts[name], "bias_amb", "HELM") for name in ("text", "empty"))
    assert texts["value"] < empty["value"]
    assert texts["why"].startswith("an unreadable text speaks against the stereotype")
    assert dialect(counts["empty"], "acc", "HELM")["value"] > texts["value"]


@pytest.mark.parametrize("column", ["target_label", "target_loc"])
def test_roles_come_from_the_columns_of_bbq_itself(folder, column):
    """answer_info, polarity and the target, whom a non-negative question turns, or target_loc of
    BBQ's additional_metadata.csv, which is turned already.
    """
    rows = []
    for number in range(40):
        negative = number % 2 == 0
        info = {"ans0": ["the man", "man"], "ans1": ["the woman", "woman"]}
        doc = {"answer_info": info | {"ans2": ["unknown", "unknown"]}}
        doc[column] = 0 if negative or column == "target_label" else 1
        doc |= {"question_polarity": "neg" if negative else "nonneg", "question_index": number % 5}
        doc |= {"context_condition": "ambig", "category": "Age", "example_id": number, "label": 2}
        # The stereotype is followed on every question: man if negative, woman if not.
        rows.append(doc | {"text": "(A)" if negative else "B."})
    lines = "\n".join(json.dumps(row) for row in rows)
    (folder / "bbq.jsonl").write_text(lines, encoding="utf-8")
    table = analysed(folder / "bbq.jsonl")
    assert one(table, "diff_amb")["value"] == 1 and one(table, "acc_amb")["value"] == 0
    assert one(table, "diff_amb")["clusters"] == 5
    dis = one(table, "diff_dis")
    assert np.isnan(dis["value"]) and dis["why"] == "no biased contexts were asked"
    soft = one(table, "position_free difference", "calibrated; score=soft")
    assert np.isnan(soft["value"]) and soft["status"] != "ok"


def test_clear_contexts_of_which_nothing_is_known_are_left_out_and_said(folder):
    bbq_log(0).drop(columns=["label"]).to_csv(folder / "nolabel.csv", index=False)
    rows = analysed(folder / "nolabel.csv")
    assert np.isnan(one(rows, "acc_dis")["value"]) and one(rows, "acc_amb")["n"] == 144
    assert "144 answers in clear contexts are left out" in page(folder).get_text()


def test_a_log_of_scored_continuations_is_read(folder):
    """lm-evaluation-harness: the option with the highest log probability is the answer."""
    first = json.loads((LOGS / "lm_eval_plain.jsonl").read_text("utf-8").split("\n")[0])
    lines = []
    for row in bbq_log(1.0).to_dict("records"):
        doc = {key: value for key, value in row.items() if key[:2] not in ("p_", "an", "mo")}
        resps = [[[f"{np.log(row[f'p_{k}']):.6f}", "False"]] for k in range(3)]
        more = {"doc": doc, "resps": resps, "target": str(row["label"]), "metrics": []}
        lines.append(json.dumps(first | more))
    (folder / "samples.jsonl").write_text("\n".join(lines), encoding="utf-8")
    bbq_log(1.0).to_csv(folder / "table.csv", index=False)
    of_log, of_table = analysed(folder / "samples.jsonl"), analysed(folder / "table.csv")
    for name in ("acc_amb", "acc_dis", "diff_amb", "diff_dis"):
        assert one(of_log, name)["value"] == pytest.approx(one(of_table, name)["value"])
    place = "calibrated; score=soft"
    theirs = one(of_table, "position_free difference", place)["value"]
    assert one(of_log, "position_free difference", place)["value"] == pytest.approx(
        theirs, abs=1e-4
    )


# -- judges ----------------------------------------------------------------------------------------


def verdicts(lean: float, seed: int = 2) -> pd.DataFrame:
    """80 comparisons of 20 questions in both orders; `lean` is towards the first answer shown."""
    rng = np.random.default_rng(seed)
    rows = []
    for pair in range(80):
        better = rng.choice(["1", "2"])
        for order in ("12", "21"):
            side = 1.0 if better == order[0] else -1.0
            logs = np.array([side + lean, -side, -2.0]) + rng.normal(0, 0.5, 3)
            p = np.exp(logs) / np.exp(logs).sum()
            row = {"pair_id": f"p{pair}", "question_id": pair // 4, "order": order}
            row |= {f"p_{letter}": p[k] for k, letter in enumerate("ABC")}
            rows.append(row | {"letter": "ABC"[int(p.argmax())], "annotator_anna": better})
    return pd.DataFrame(rows)


def test_a_judge_that_leans_is_found_and_a_steady_one_is_not(folder):
    verdicts(3.0).to_csv(folder / "leaning.csv", index=False)
    rows = analysed(folder / "leaning.csv")
    assert one(rows, "first_share")["ci_low"] > 0.5 and one(rows, "slot_lean")["ci_low"] > 0
    assert one(rows, "robustness")["value"] < 0.5
    settled = one(rows, "concordance", "mean_probability")
    assert settled["value"] > one(rows, "concordance", "both_orders")["value"] + 0.3
    verdicts(0.0).to_csv(folder / "steady.csv", index=False)
    rows = analysed(folder / "steady.csv")
    lean = one(rows, "slot_lean")
    assert lean["ci_low"] < 0 < lean["ci_high"] and one(rows, "robustness")["value"] > 0.8


def test_a_judge_has_the_numbers_of_the_library(folder):
    table = verdicts(1.0)
    table.loc[:9, "letter"] = "no idea"
    table.to_csv(folder / "judge.csv", index=False)
    rows = analysed(folder / "judge.csv")
    wide = table.pivot(index=["pair_id", "question_id", "annotator_anna"], columns="order")
    names = {"12": {"A": "1", "B": "2", "C": "tie"}, "21": {"A": "2", "B": "1", "C": "tie"}}
    first, second = (wide["letter"][order].map(names[order]) for order in ("12", "21"))
    same = first.where(first == second, "tie").where(first.notna() & second.notna())
    frame = same.astype(object).where(same.notna(), None).rename("judge").reset_index()
    named = {"judge": "judge", "people": "annotator_anna", "cluster": "question_id"}
    ours = judges.concordance(frame, **named).iloc[0]
    theirs = one(rows, "concordance", "both_orders")
    columns = ["value", "n", "n_invalid", "clusters", "ci_low", "ci_high"]
    assert theirs[columns].tolist() == pytest.approx(ours[columns].tolist())
    valid = one(rows, "concordance_valid", "both_orders")
    assert valid["n"] == 75 and theirs["n"] == 80 and valid["value"] > theirs["value"]


def test_verdicts_without_orders_or_labels_say_so(folder):
    table = verdicts(0.0).query("order == '12'").drop(columns=["order", "p_A", "p_B", "p_C"])
    table.to_csv(folder / "one.csv", index=False)
    rows = analysed(folder / "one.csv")
    assert one(rows, "robustness")["status"] == "no_orders"
    assert one(rows, "concordance", "one_order")["value"] > 0.7
    bare = verdicts(0.0).drop(columns=["annotator_anna", "p_A", "p_B", "p_C"])
    bare.to_csv(folder / "bare.csv", index=False)
    rows = analysed(folder / "bare.csv")
    assert one(rows, "concordance")["status"] == "no_labels"
    assert one(rows, "slot_lean")["why"] == "the log holds no probabilities of all options"


# -- the page, and what cannot be read -------------------------------------------------------------


def test_hostile_text_is_escaped_and_the_page_asks_nothing_of_the_network(folder):
    table = bbq_log(0.0).assign(model=HOSTILE)
    letters = ["ABC"[number // 3 % 3] for number in range(len(table))]
    table["answer"] = [HOSTILE if n % 3 else letter for n, letter in enumerate(letters)]
    table["template_id"] = HOSTILE + table["template_id"]
    table.to_csv(folder / "hostile.csv", index=False)
    rows = analysed(folder / "hostile.csv")
    text = (folder / "out" / "report.html").read_text("utf-8")
    parsed = page(folder)
    assert not parsed.find_all("script") and "<img src='https" not in text
    assert [one["src"][:11] for one in parsed.find_all("img")] == ["data:image/"]
    assert parsed.find("meta", {"http-equiv": True})["content"] == POLICY
    assert HOSTILE[:20] in parsed.find(class_="banner warning").get_text()
    assert rows["cell"].str.contains(HOSTILE, regex=False).all()


@pytest.mark.parametrize(
    "name", ["inspect_plain.eval", "inspect_json.json", "lm_eval_plain.jsonl", "inspect_judge.eval"]
)
def test_a_real_log_without_the_columns_is_refused_with_those_it_needs(name, folder, capsys):
    line = refused(capsys, LOGS / name)
    assert "no kind of log fits: " in line and "bbq lacks context" in line
    assert "columns there: " in line and "item_id" in line
    line = refused(capsys, LOGS / name, "--kind", "judge")
    assert "judge lacks pair_id (the comparison)" in line


@pytest.mark.parametrize(
    ("content", "words", "expected"),
    [
        ("", [], "is no table that can be read"),
        ("a,b\n", [], "has a header and no rows"),
        ("a\n1\n", ["--kind", "essay"], "unknown kind of log 'essay'; known: "),
        ("a\n1\n", ["--column", "cluster=b"], "no column 'b'; there: a, log"),
        ("a\n1\n", ["--column", "clutter=a"], "clutter"),
        ("a\n1\n", ["--column", "cluster"], "--column takes name=column"),
        ("context,role\nmaybe,biased\n", [], "a context is one of"),
        ("context,role_0,role_1\nambig,biased,cat\n", [], "holds 'cat'; a role is one of biased"),
        ("context,role\nambig,nonsense\n", [], "column 'role' holds 'nonsense'; a role is one of"),
        ("context,role\nambig,\n", [], "none of 1 answers could be read as bbq; found: no text."),
        (
            "context,role_0,role_1,answer\nambig,biased,unknown,cat\n",
            [],
            "found: 'cat' (1 times). Every answer",
        ),
    ],
)
def test_what_cannot_be_read_is_one_line(content, words, expected, folder, capsys):
    (folder / "bad.csv").write_text(content, encoding="utf-8")
    assert expected in refused(capsys, folder / "bad.csv", *words)


def test_files_that_are_no_log_are_one_line(folder, capsys):
    assert "table not found: none.csv" in refused(capsys, folder / "none.csv")
    assert "name a log" in refused(capsys, "")
    (folder / "a.txt").write_text("x")
    assert "known are .eval and .json" in refused(capsys, folder / "a.txt")
    (folder / "b.eval").write_text("x")
    assert "b.eval cannot be read" in refused(capsys, folder / "b.eval")
    (folder / "c.csv").write_bytes(b"a\n\xff\n")
    assert "is not UTF-8" in refused(capsys, folder / "c.csv")


def test_how_answers_ended_is_read_and_what_is_not_known_is_told():
    words = ["stop", "EOS", "MAX_TOKENS", "tired", "tired", "tool_calls"]
    frame = pd.DataFrame({"text": "yes", "finish_reason": words})
    log = logs.Log(frame, "bbq", {})
    usual = ["stop", "stop", "length", "tired", "tired", "tool_calls"]
    assert [word for _, word in log.texts()] == usual
    [note] = log.lost_endings()
    assert note.startswith("3 answers count as none: unknown finish reason 'tired', 2 times; ")
    assert not logs.Log(frame, "bbq", {"finish": ""}).lost_endings()


def test_two_logs_are_two_models(folder):
    for name, lean in (("one", 2.0), ("two", 0.0)):
        bbq_log(lean).drop(columns=["model"]).to_csv(folder / f"{name}.csv", index=False)
    rows = analysed(folder / "one.csv", folder / "two.csv")
    assert one(rows, "diff_amb", "model=one")["value"] > one(rows, "diff_amb", "model=two")["value"]
    assert one(rows, "right in ambiguous contexts, paired clustered", "one - two")["p"] < 0.05


def test_two_prompts_of_one_model_are_compared_and_texts_of_questions_are_no_prompts(folder):
    both = [
        bbq_log(lean, seed=4).assign(prompt_id=name) for name, lean in (("plain", 2), ("warned", 0))
    ]
    table = pd.concat(both).assign(prompt=lambda frame: "Question " + frame["item_id"].astype(str))
    table.to_csv(folder / "prompts.csv", index=False)
    rows = analysed(folder / "prompts.csv")
    found = one(rows, "right in ambiguous contexts, paired exact", "pair=m, plain - m, warned")
    assert found["value"] < 0 and found["p"] < 0.05 and found["n"] == 144


def test_answers_given_twice_or_without_ids_are_not_paired(folder):
    table = pd.concat([bbq_log(0.0), bbq_log(1.0).assign(model="other")])
    table.drop(columns=["item_id"]).to_csv(folder / "noid.csv", index=False)
    name = "right in clear contexts, paired exact"
    found = one(analysed(folder / "noid.csv"), name)
    assert found["status"] == "no_item_ids" and np.isnan(found["value"]) and np.isnan(found["p"])
    table.assign(item_id=1).to_csv(folder / "twice.csv", index=False)
    assert one(analysed(folder / "twice.csv"), name)["status"] == "items_given_twice"


def test_the_examples_of_the_tools_run():
    modules = [analyse, first_page, logs, log_kinds, pages]
    results = [doctest.testmod(one, optionflags=doctest.NORMALIZE_WHITESPACE) for one in modules]
    assert sum(one.attempted for one in results) > 20 and not any(one.failed for one in results)
