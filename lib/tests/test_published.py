"""Published figures: complete, and readable as printed (X-4)."""

import pandas as pd
import pytest

from katayori.data import paper_facts
from katayori.errors import KatayoriError
from katayori.papers import paper_ids

TABLES = [
    (paper, name)
    for paper in (*paper_ids(), "derived")
    for name in paper_facts.printed_tables(paper)
]
KINDS = {"inconsistent", "reading", "cannot_check", "reconstructed"}


def every_caveat():
    return pd.concat([paper_facts.caveats(paper) for paper in paper_ids()])


def concerned(caveat, frame):
    """True for the rows of a published table that one row of `caveats` is about."""
    hits = [
        frame[column].isin(value if isinstance(value, list) else [value])
        for column, value in caveat.cells.items()
    ]
    return pd.concat(hits, axis=1).all(axis=1) if hits else pd.Series(True, index=frame.index)


@pytest.mark.parametrize(("paper", "name"), TABLES)
def test_every_row_says_where_it_stands(paper, name):
    frame = paper_facts.printed(paper, name)
    assert len(frame)
    assert frame.locator.str.strip().str.len().gt(0).all()


def test_unknown_names_list_the_valid_ones():
    with pytest.raises(KatayoriError, match="persona_jbbq"):
        paper_facts.printed("persona", "results")
    with pytest.raises(KatayoriError, match="alpha_pairs"):
        paper_facts.printed("discrim_eval", "alfa")
    with pytest.raises(KatayoriError):
        paper_facts.printed("discrim_eval", "../persona_jbbq/results")
    with pytest.raises(KatayoriError, match="inter_jbbq"):
        paper_facts.caveats("discrim")


def test_caveats_cover_every_paper_and_point_at_rows():
    caveats = every_caveat()
    assert set(caveats.paper) == set(paper_ids())
    assert set(caveats.kind) <= KINDS
    assert caveats.id.is_unique
    assert caveats.text.str.len().between(30, 320).all()
    for _, caveat in caveats[caveats.file.notna()].iterrows():
        assert concerned(caveat, paper_facts.printed(caveat.paper, caveat.file)).any(), caveat.id
        # Every listed value must occur, else the caveat points at nothing.
        frame = paper_facts.printed(caveat.paper, caveat.file)
        for column, value in caveat.cells.items():
            assert set(value if isinstance(value, list) else [value]) <= set(frame[column]), (
                caveat.id
            )
    assert set(paper_facts.caveats("jubaku_v2").paper) == {"jubaku_v2"}


def rows_of(caveat_id):
    caveat = every_caveat().set_index("id").loc[caveat_id]
    frame = paper_facts.printed(caveat.paper, caveat.file)
    return frame[concerned(caveat, frame)]


def test_caveats_say_what_the_tables_hold():
    assert dict(zip(*rows_of("PJ-c1")[["table", "diff_amb"]].values.T, strict=True)) == {
        "4.9": 9.0,
        "4.10": 31.3,
    }
    assert rows_of("PJ-c2").acc_amb.tolist() == [0.15]
    assert rows_of("PJ-c3").acc_amb.tolist() == [32.5, 39.2]
    assert (rows_of("PJ-c5").diff_dis < 0).sum() == 7 and len(rows_of("PJ-c5")) == 12
    wide = rows_of("PJ-c4").pivot(index="table", columns="model", values="diff_amb")
    assert (wide["rinna-3.6b-INST"] > wide["SWL2-70B-INST"]).sum() == 7
    cells = rows_of("LJ-c1").set_index("task").concordance_pct
    labels = {"writing": 207, "proofreading": 189, "summarization": 225}
    hits = {task: round(cells[task] * n / 100) for task, n in labels.items()}
    assert sum(hits.values()) == 447 and round(cells["all"] * 621 / 100) == 438
    assert rows_of("LJ-c2").probability_pct.sum() == 110
    assert rows_of("LJ-c3").concordance_pct.tolist() == [68.4, 68.4]
    assert rows_of("LJ-c4").concordance_pct.tolist() == [67.2]
    assert rows_of("JU-c1").n_cases.sum() == 34
    assert rows_of("IJ-c2").groupby("context_category").size().tolist() == [3, 3]
    assert rows_of("IJ-c3").accuracy_pct.tolist() == [66.3]
    gpt = rows_of("IJ-c5").pivot(index="ambiguity", columns="prompt", values="accuracy_pct")
    assert (gpt.debias - gpt.basic).round(1).to_dict() == {"amb": 0.0, "dis": 11.0}
    topics = paper_facts.printed("inter_jbbq", "accuracy_by_topic")
    keys = ["ambiguity", "model", "prompt"]
    mean = topics[topics.topic != "overall"].groupby(keys).accuracy_pct.mean()
    whole = topics[topics.topic == "overall"].set_index(keys).accuracy_pct
    assert (
        mean - whole
    ).abs().max() <= 0.11  # IJ-c7: means of rounded topics against a rounded mean


def test_inter_jbbq_tables_5_to_8_give_table_3():
    """Answers at the reconstructed n give the printed rows of Table 3, but for a known one."""
    cells = paper_facts.printed("inter_jbbq", "accuracy_by_attribute_count")
    counts = paper_facts.printed("derived", "inter_jbbq_counts")
    cells = cells.merge(counts, on=["topic", "n_attributes"])
    n = cells["n_questions_per_ambiguity"]
    cells = cells.assign(n=n, right=(cells["accuracy_pct"] * n / 100).round())
    by_topic = cells.groupby(["topic", "ambiguity", "model"])[["right", "n"]].sum()
    ours = (100 * by_topic["right"] / by_topic["n"]).unstack("topic")
    ours["overall"] = ours.mean(axis=1)
    theirs = paper_facts.printed("inter_jbbq", "accuracy_by_topic").query("prompt == 'basic'")
    theirs = theirs.set_index(["ambiguity", "model", "topic"])["accuracy_pct"]
    # Some of theirs were rounded twice.
    off = (ours.stack().reindex(theirs.index) - theirs).abs() > 0.06
    wrong = set(theirs.index[off])
    known = {("dis", "Sw8B+inst", "marriage"), ("dis", "Sw8B+inst", "overall")}
    assert {("dis", "Sw8B+inst", "marriage")} <= wrong <= known and len(theirs) == 50


def test_what_a_judge_gains_in_the_printed_tables():
    """LJ-22: the mean of both orders is never below the better baseline, and equal in one cell."""
    keys = ["criteria", "output_style", "task"]
    rows = paper_facts.printed("logprob_judge", "concordance")
    wide = rows.pivot(index=keys, columns="method", values="concordance_pct")
    gain = wide["proposed"] - wide[["BS1", "BS2"]].max(axis=1)
    assert len(gain) == 16 and (gain >= 0).all()
    assert [*gain[gain == 0].index] == [("no", "result_only", "summarization")]
    whole = wide.xs("all", level="task")["proposed"]
    assert (whole.idxmax(), whole.max()) == (("yes", "reason_then_result"), 71.2)
    # The printed tasks, weighted by their labels, make another prompt the best (LJ-c1).
    labels = {"writing": 207, "proofreading": 189, "summarization": 225}
    parts = wide["proposed"].unstack("task")
    pooled = sum(parts[task] * n for task, n in labels.items()) / sum(labels.values())
    assert pooled.idxmax() == ("no", "reason_then_result") and round(pooled.max(), 1) == 72.0
    robust = paper_facts.printed("logprob_judge", "robustness").pivot_table(
        index="task", columns="output_style", values="robustness_pct", aggfunc=["min", "max"]
    )
    assert len(robust) == 4
    assert (robust["max"]["result_only"] < robust["min"]["reason_then_result"]).all()


def test_what_the_printed_tables_of_reasons_say():
    """JU-24: which statements of the paper its own printed figures bear."""
    accuracy = paper_facts.printed("jubaku_v2", "accuracy").set_index("model")["accuracy_pct"]
    assert accuracy["GPT-4o"] < accuracy[["GPT-5.2", "Claude 4 Sonnet"]].min()
    assert accuracy.idxmin() == "Qwen3-30B-Instruct"  # 104 of 216: no different from chance
    assert accuracy["Qwen3-30B-Thinking"] - accuracy["Qwen3-30B-Instruct"] >= 20
    variance = paper_facts.printed("jubaku_v2", "variance").set_index("benchmark")["score_variance"]
    assert variance.idxmax() == "JUBAKU-v2"
    varies = paper_facts.printed("jubaku_v2", "variation").set_index("model")["variation_rate_pct"]
    assert set(varies.index[varies > 50]) == {"GPT-4o", "Qwen3-30B-Instruct"}
    agree = paper_facts.printed("jubaku_v2", "agreement")
    same = (agree["n_raters_agreeing"] * agree["n_cases"]).sum()
    assert (same, 6 * agree["n_cases"].sum()) == (116, 162)
