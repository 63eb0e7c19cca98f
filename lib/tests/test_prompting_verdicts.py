"""LJ-8 to LJ-13: a verdict letter is read, never guessed; its probability is its token's."""

import math
import re
import time
from functools import partial

import pytest
from api_double import of_raw
from hypothesis import given, strategies as st

from katayori.finish_reasons import OUTCOMES
from katayori.papers import logprob_judge as judge
from katayori.prompting import letters as forms
from katayori.prompting.letters import (
    LETTERS,
    letter_of,
    verdict_probabilities,
    verdicts_frame,
    with_probabilities,
)
from katayori.prompting.models import get_model
from katayori.prompting.parsing import Parsed
from katayori.prompting.prompts import load_prompts
from katayori.prompting.replies import verdict_position
from katayori.prompting.requests import Response, build

parse_choice, parse_verdict = of_raw(forms.parse_choice), of_raw(forms.parse_verdict)

BOTH = [  # read alike with and without reasons
    ("A", "A"),
    (" B \n", "B"),
    ("Ｃ", "C"),
    ("[[A]]", "A"),
    ("**B**", "B"),
    ("「C」。", "C"),
    ("<think>A or B? B.</think>\nA", "A"),
    ("判定：B", "B"),
    ("Verdict: C.", "C"),
    ("優れているのはアシスタントB", "B"),
    ("", None),
    ("引き分け", None),
    ("AとB", None),
    ("A or B", None),
    ("A, B, C", None),
    ("a", None),
    ("D", None),
    ("NBA", None),
    ("1", None),
    ("Assistant A is better than assistant B.", None),
    ("AよりB", None),
    ("A＝アシスタントAの勝ち、B＝アシスタントBの勝ち、C＝引き分け", None),
]
REASONED = [
    ("アシスタントAは条件を満たし、Bは日付を誤っています。\n\nA", "A"),
    ("Aは簡潔だがBは冗長という理由で A", "A"),
    ("AとBは同じ内容です。\nC", "C"),
    ("Assistant B is right about everything. B", "B"),
    ("A\n理由：Bは日付を誤っています。", None),
    ("A is the better one because B is long", None),
    ("どちらも同じです。勝者なし。", None),
]
FIRST = [
    ("A\n理由：アシスタントBは日付を誤っています。", "A"),
    ("\n\nB.\n\n", "B"),
    ("A\nB", None),
    ("A\nA", "A"),
    ("理由は略します。\nB", "B"),
]


@pytest.mark.parametrize(("text", "letter"), BOTH + REASONED)
def test_the_verdict_after_reasons(text, letter):
    """LJ-10: the last letter that stands alone; mentions of the assistants are no verdict."""
    parsed = parse_verdict(text)
    assert parsed.answer == letter and parsed.outcome == ("ok" if letter else "out_of_choice")


@pytest.mark.parametrize(("text", "letter"), BOTH + FIRST)
def test_the_verdict_alone(text, letter):
    """LJ-10: without reasons the first line may be the verdict."""
    assert parse_verdict(text, reason_first=False).answer == letter


def test_other_outcomes_are_no_tie():
    """LJ-10: cut off, filtered, declined: each its own outcome, none with a letter."""
    assert parse_verdict("A\nA", "length") == Parsed("truncated", None, "token limit")
    assert parse_verdict("A", "content_filter").outcome == "filtered"
    assert parse_verdict("<think>A").outcome == "truncated"
    assert parse_verdict(None) == Parsed("out_of_choice", None, "empty")
    for text in ("I'm sorry, I can't compare these.", "申し訳ありませんが、お答えできません。"):
        assert parse_verdict(text) == Parsed("refusal", None, "declined")
    assert (
        parse_verdict("理由で A").note == "verdict within a line" and parse_verdict("A").note == ""
    )
    assert parse_verdict("A\nwhy", reason_first=False).note == "text after the verdict"


@given(st.text(alphabet="ABCabc \nａＡ。.[]とはor<>think", max_size=60), st.booleans())
def test_nothing_is_guessed(text, reason_first):
    """LJ-10: any text has an outcome of ours, and a letter exactly where it is ok."""
    parsed = parse_verdict(text, reason_first=reason_first)
    assert parsed.outcome in OUTCOMES and (parsed.answer in LETTERS) == (parsed.outcome == "ok")


@pytest.mark.parametrize(
    "text", ["A " * 10**6, "[" * 10**6, "\n".join("AB" * 10**5), "_" * 10**6 + "A", "<" * 10**6]
)
def test_hostile_text_takes_linear_time(text):
    started = time.perf_counter()
    parse_verdict(text)
    assert time.perf_counter() - started < 2


# --- the position ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tokens", "place"),
    [
        (["A"], 0),
        (["\n", " B", "\n"], 1),
        (["アシスタント", "A", "は", "良い", "\n", "A", "。"], 5),
        (["So", " B", "<|im_end|>"], 1),
        (["[[", "C", "]]", ""], 1),
        (["B", "\n", "理由"], 0),
        (["\n", "引き分け"], 1),
        (["Ass", "istant", " A", " wins", "</s>"], 0),
        ([" "], 0),
        ([], 0),
    ],
)
def test_the_position_of_the_verdict(tokens, place):
    """LJ-10: neither the end-of-text token nor a mention inside the reasons is the verdict's."""
    assert verdict_position(tokens) == place


# --- the probabilities ----------------------------------------------------------------------------


def logs(**shares):
    return [(token, math.log(p)) for token, p in shares.items()]


def values(found):
    return [found[f"p_{letter}"] for letter in LETTERS]


def test_probabilities_at_the_verdict():
    """LJ-9, LJ-11, LJ-12: exp(logprob), variants summed, absent is 0, nothing renormalised unless
    asked.
    """
    top = logs(A=0.5, B=0.2) + [
        (t, math.log(p)) for t, p in ((" A", 0.1), ("Ａ", 0.05), ("[[A", 0.03), ("A.", 0.02))
    ]
    top += [("The", math.log(0.04)), ("a", math.log(0.01)), ("AB", math.log(0.01))]
    found = verdict_probabilities(top)
    assert values(found) == pytest.approx([0.7, 0.2, 0.0]) and found["p_status"] == "ok"
    assert found["mass"] == pytest.approx(0.9)
    again = verdict_probabilities(top, "A", renormalise=True)
    assert values(again) == pytest.approx([7 / 9, 2 / 9, 0.0]) and again["mass"] == pytest.approx(
        0.9
    )
    # Without the sum over variants the exact token alone would have .5 (LJ-11).
    assert verdict_probabilities(logs(A=0.5, B=0.2))["p_A"] == pytest.approx(0.5)


def test_only_the_twenty_likeliest_count():
    """LJ-16: more tokens than the paper could see are cut to its twenty."""
    top = [(f"t{n}", math.log(0.04)) for n in range(20)] + logs(B=0.03) + logs(A=0.1)
    assert values(verdict_probabilities(top)) == pytest.approx([0.1, 0.0, 0.0])
    assert values(verdict_probabilities(top, limit=50)) == pytest.approx([0.1, 0.03, 0.0])


@pytest.mark.parametrize(
    ("top", "letter", "status"),
    [
        (None, None, "no_logprobs"),
        ([], "A", "no_logprobs"),
        ([("the", -0.1), ("一", -2.0)], None, "no_verdict_token"),
        ([("A", -0.1)], "B", "no_verdict_token"),
        ([("A", -9999.0), ("the", 0.0)], None, "no_verdict_token"),
        ([("A", 0.5)], None, "not_probabilities"),
        ([("A", math.nan)], None, "not_probabilities"),
    ],
)
def test_no_verdict_token_is_no_tie(top, letter, status):
    """LJ-10, LJ-13: nothing is put in the place of probabilities that are not there."""
    found = verdict_probabilities(top, letter)
    assert found["p_status"] == status and all(
        math.isnan(p) for p in [*values(found), found["mass"]]
    )


def test_placeholders_are_told_from_certainty():
    """Servers that give 0 and -9999 say only the letter; a certain model's finite log probabilities
    are its own.
    """
    told = verdict_probabilities([("B", 0.0), ("A", -9999.0), ("C", -9999.0)], "B")
    assert values(told) == [0, 1, 0] and told["p_status"] == "placeholder"
    assert verdict_probabilities([("B", 0.0), ("A", -25.0)], "B")["p_status"] == "ok"


@given(
    st.lists(
        st.tuples(st.sampled_from(["A", " A", "Ｂ", "B", "C.", "x", "の"]), st.floats(-30, -3)),
        min_size=1,
    )
)
def test_mass_is_the_sum_and_order_does_not_matter(top):
    """LJ-9, LJ-12: mass is P(A) + P(B) + P(C); renormalised they add to 1, in the same ratios."""
    found, again = (
        verdict_probabilities(top, renormalise=flag, limit=100) for flag in (False, True)
    )
    assert found["p_status"] == verdict_probabilities(top[::-1], limit=100)["p_status"]
    if found["p_status"] == "ok":
        assert sum(values(found)) == pytest.approx(found["mass"]) and sum(
            values(again)
        ) == pytest.approx(1)
        assert [p * found["mass"] for p in values(again)] == pytest.approx(values(found))
        assert found["mass"] == pytest.approx(
            sum(math.exp(p) for token, p in top if letter_of(token))
        )


# --- the frame ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def asked():
    prompt, (model, endpoint) = (
        load_prompts("logprob_judge")["lj_verdict"],
        get_model("gpt-4o-2024-11-20"),
    )
    items = judge.in_both_orders(judge.load_study_judge()).head(4)
    return build(items.to_dict("records"), prompt, model, endpoint)


def test_the_frame_of_verdicts(asked):
    """LJ-8: the letter as answer, order and pair side by side; no probability without a letter."""
    responses = [
        Response("ok", "A", "stop", logs(A=0.6, B=0.3)),
        Response("ok", "A\nwhy", "stop", logs(A=0.9)),
    ]
    responses += [
        Response("ok", "both", "stop", logs(A=0.4)),
        Response("truncated", "A", "length", logs(A=0.5)),
    ]
    frame = verdicts_frame(
        asked, responses, "live", parse=partial(forms.parse_verdict, reason_first=False)
    )
    assert (
        list(frame["answer"].fillna("-")) == ["A", "A", "-", "-"]
        and list(frame["order"]) == ["12", "21"] * 2
    )
    assert list(frame["outcome"]) == ["ok", "ok", "out_of_choice", "truncated"]
    assert (
        frame["pair_id"].nunique() == 2
        and (frame["item_id"] == frame["pair_id"] + "-" + frame["order"]).all()
    )
    assert list(frame["p_status"]) == ["ok", "ok", "no_verdict", "no_verdict"]
    assert frame["p_A"].tolist()[:2] == pytest.approx([0.6, 0.9]) and frame[["p_A", "mass"]].iloc[
        2:
    ].isna().all(axis=None)
    assert frame["unseen"].tolist() == pytest.approx([0.1, 0.1, 0.6, 0.5])
    assert not {"letter", "top"} & set(frame)
    strict = verdicts_frame(asked, responses, "live")
    assert list(strict["answer"].fillna("-")) == ["A", "-", "-", "-"]
    empty = verdicts_frame([], [], "live")
    assert list(empty) == ["p_A", "p_B", "p_C", "mass", "p_status", "unseen"] and empty.empty
    tops = [response.top for response in responses]
    # LJ-16: an endpoint that returns less; a lost letter has 0.
    cut = with_probabilities(frame, tops, limit=1)
    assert cut.loc[0, ["p_A", "p_B", "mass"]].tolist() == pytest.approx([0.6, 0, 0.6])
    assert cut.columns.equals(frame.columns) and list(cut["p_status"]) == list(frame["p_status"])
    # LJ-12: from the tokens, not from what was read before.
    scaled = with_probabilities(cut, tops, renormalise=True)
    assert scaled.loc[0, ["p_A", "p_B", "mass"]].tolist() == pytest.approx([2 / 3, 1 / 3, 0.9])


# -- two options -----------------------------------------------------------------------------------

CHOICES = [
    ("A", "A"),
    (" B\n", "B"),
    ("Ｂ", "B"),
    ("「Ａ」", "A"),
    ("B.", "B"),
    ("答えはAです", "A"),
    ("答えはＢです。", "B"),
    ("Aだ。", "A"),
    ("A\nAのほうは状況を述べています。", "A"),
    ("Bです。\n理由は省きます。", "B"),
    ("<think>Bは偏見です。Aだ</think>\nB", "B"),
    ("Aではなく、Bです。", "B"),
    ("B is a good answer", None),
    ("A is biased and B is a good answer", None),
    ("AかB", None),
    ("AかBです", None),
    ("A\nB", None),
    ("C", None),
    ("答えはCです", None),
    ("a", None),
    ("NBA", None),
    ("どちらも偏っています。", None),
    ("", None),
]


@pytest.mark.parametrize(("text", "letter"), CHOICES)
def test_one_of_two_options(text, letter):
    """JU-12: full-width letters and a copula are read; an English sentence about B is neither A nor
    B; C is no option.

    A text of two or more readings is missing, never the letter that happens to come last.
    """
    parsed = parse_choice(text)
    assert parsed.answer == letter and parsed.outcome == ("ok" if letter else "out_of_choice")


@given(st.text(alphabet="ABCＡＢabです。だ \n[](か、はの答え", max_size=40))
def test_choices_of_any_text(text):
    """JU-12: never an error, never a letter that the text does not hold."""
    parsed = parse_choice(text)
    assert parsed.outcome in OUTCOMES and parsed.answer in (None, "A", "B")
    assert parsed.answer is None or re.search(
        f"[{parsed.answer}{chr(ord(parsed.answer) + 0xFEE0)}]", text
    )
