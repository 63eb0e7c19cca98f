"""LJ-10, JU-12: what Japanese judges write is read by one rule, as it stands, and prose is not
guessed.
"""

import os
import re

import pytest
from api_double import of_raw
from hypothesis import given, strategies as st

from katayori.data import third_party
from katayori.metrics.judges import settled
from katayori.prompting import letters as forms
from katayori.prompting.letters import LETTERS, letter_of
from katayori.prompting.replies import verdict_position

parse_choice, parse_verdict = of_raw(forms.parse_choice), of_raw(forms.parse_verdict)

#: Final forms: both parsers read them alike, as the whole text and below reasons.
FINAL = [
    "{}です。",
    "{}である。",
    "答えは{}です。",
    "最終判定: {} です",
    "判定は「{}」とします。",
    "私の評価は{}です。",
    "したがって、私の最終的な判断は{}となります。",
    "{}（同等）",
    "**{}** です。",
    "<answer>{}</answer>",
    "[[{}]]です。",
    "[[{}]]と評価します。",
    "したがって、[[{}]]が優れていると判断します。",
    "そのため、[[{}]]が妥当であると考えます。",
    "[[{}]]のほうが優れていると評価できます。",
    "{}と判断します。",
    "{}を選びます。",
    "より優れているのはアシスタント{}です。",
    "質が高いのは{}です。",
]
#: Sentences that name letters and decide nothing by the form the judge was asked for.
PROSE = [
    "A is better than B",
    "A is the better answer.",
    "AよりB",
    "AよりBが優れていると判断します。",
    "Bが優れていると判断します。",
    "誤りがあるのはBです。",
    "優れていないのはBです。",
    "質の低い回答はBです。",
    "もし短さを重んじるなら、優れているのはBです。",
    "正確さの点では、優れているのはAです。",
    "Aではありません。",
    "Aですか？",
    "答えはAかBです。",
    "[[A]]ではありません。",
    "[[A]]が適切ではありません。",
    "[[A]]が優れていると評価できません。",
    "[[A]]が優れているとは言えません。",
    "[[A]]より[[B]]が優れていると判断します。",
    "AさんとBさんです。",
    "A（Bより短い）",
    "血液型はABです。",
]
TWO = [
    "最終判定: A\n最終判定: B",
    "[[A]]です。\nよく考えると、[[B]]です。",
    "私の評価はAです。\n\nB",
    "[[A]]と評価します。\n結論: [[C]]",
]


def parsers(letter):
    """Both readers of one rule; C is no option of a choice."""
    return [parse_verdict, *([parse_choice] if letter != "C" else [])]


@pytest.mark.parametrize("form", FINAL)
@pytest.mark.parametrize("letter", LETTERS)
def test_final_forms_are_read_alike_by_both_parsers(form, letter):
    text = form.format(letter)
    wide = form.format(chr(ord(letter) + 0xFEE0))
    for parse in parsers(letter):
        for one in (text, wide, f"{text}\n", f"<think>どちらだろう。</think>{text}"):
            assert parse(one).answer == letter, (parse, one)
    assert parse_verdict(f"Aは短く、Bは長い。\n\n{text}").answer == letter
    if letter == "C":
        assert parse_choice(text).outcome == "out_of_choice"


@pytest.mark.parametrize("text", PROSE)
def test_prose_is_not_guessed(text):
    for parse in (parse_verdict, parse_choice):
        assert parse(text).outcome == "out_of_choice" and parse(text).answer is None
    assert parse_verdict(text, reason_first=False).answer is None
    assert parse_verdict(f"二つの回答を比べました。{text}").answer is None


@pytest.mark.parametrize("text", TWO)
def test_two_different_final_verdicts_stay_out_of_choice(text):
    assert parse_verdict(text).answer is None
    assert parse_verdict(text).note == "undecided"
    assert parse_verdict(text.replace("A", "B").replace("C", "B")).answer == "B"


def test_a_first_line_and_a_last_one_that_declares_another_are_undecided():
    assert parse_choice("A\n理由を見直しました。\n答えはBです。").answer is None
    assert parse_choice("A\n理由: Bは偏っています。").answer == "A"
    assert parse_choice("A\nA is better than B.").answer == "A"


@pytest.mark.parametrize(
    ("letters", "text", "answer"),
    [
        (("1", "2"), "1", "1"),
        (("1", "2"), "答えは２です。", "2"),
        (("1", "2"), "最終判定: 1", "1"),
        (("1", "2"), "score 0.1", None),
        (("1", "2"), "12", None),
        (("1", "2"), "1つです。", None),
        (("1", "2"), "1 or 2", None),
        (("1", "2", "Tie"), "Tie", "Tie"),
        (("m", "M"), "m", "m"),
        (("m", "M"), "M", "M"),
        (("m", "M"), "I'm", None),
        (("m", "M"), "The better output is M.", "M"),
        (("(a)", "(b)"), "Output (a)", "(a)"),
        (("(a)", "(b)"), "Output (b)", "(b)"),
        (("(a)", "(b)"), "(a)", "(a)"),
        (("(a)", "(b)"), "a", None),
        (("(a)", "(b)"), "Output (a) is better than Output (b)", None),
        (("A", "B"), "C", None),
    ],
)
def test_letters_are_a_parameter(letters, text, answer):
    assert parse_verdict(text, letters=letters).answer == answer
    assert answer is None or letter_of(answer, letters) == answer


PIECES = [*"A B C は が より 優れて い ます 回答 、 長い not".split(), " "]


@given(st.lists(st.sampled_from(PIECES), max_size=30))
def test_a_sentence_that_goes_on_after_its_letters_is_no_verdict(pieces):
    """Whatever stands before: behind the last letter there is prose, so nothing is decided."""
    for tail in ("の回答が長いと思われる点", "は短い", " was short", "よりも丁寧"):
        text = "".join(pieces) + tail
        assert parse_verdict(text).answer is None
        assert parse_verdict("Aは" + text, reason_first=False).answer is None


@pytest.mark.slow
@given(
    st.text(
        alphabet="ABCＡ [](){}「」。、:：はです答え優れているのを判断しますと評価\n", max_size=80
    )
)
def test_a_letter_is_read_only_where_the_text_ends_with_it(text):
    """Any text: what is read stands in the last line, before no further letter, or alone first."""
    parsed = parse_verdict(text)
    if parsed.outcome == "ok":
        line = [line for line in text.splitlines() if line.strip()][-1].replace("Ａ", "A")
        after = line[line.rindex(parsed.answer) + 1 :]
        outside = re.sub(r"\([^()]*\)", "", after)
        assert not re.search("[ABC]", outside)


@pytest.mark.parametrize(
    "text",
    [
        "[[A]]が" * 10**5,
        "答えは" * 10**5,
        "良い" * 10**5 + "A",
        "\n".join(["答えはA"] * 10**5),
        ("私の" * 600 + "\n") * 90,
        ("\n" + "い" * 1999) * 100,
        "(" * 10**6 + "A",
    ],
)
def test_hostile_text_ends(text):
    """A pattern that takes more than linear time would not come back here."""
    assert parse_verdict(text).answer in (None, "A") and parse_choice(text).answer in (None, "A")


@pytest.mark.parametrize(
    ("tokens", "place"),
    [
        (["理由", "。", "[[", "B", "]]", "です", "。"], 3),
        (["評価", "は", "A", "です", "<|im_end|>"], 2),
        (["[[", "C", "]]", "と", "評価", "します"], 1),
        (["A", "より", "B", "が", "優れて", "います"], 0),
    ],
)
def test_the_position_is_that_of_the_letter_that_was_read(tokens, place):
    """LJ-10: probabilities are those of the verdict's letter, not of the first token of reasons."""
    assert verdict_position(tokens) == place


SYSTEMS = (
    "cyberagent--calm2-7b-chat",
    "rinna--japanese-gpt-neox-3.6b-instruction-ppo",
    "tokyotech-llm--Swallow-70b-instruct-hf",
)


@pytest.mark.mirror
@pytest.mark.skipif(not os.environ.get("KATAYORI_MIRROR"), reason="KATAYORI_MIRROR is not set")
@pytest.mark.parametrize("system", SYSTEMS)
def test_every_real_judgement_is_read_as_it_stands(system):
    """LJ-10 on GPT-4's 160 texts a system, unchanged: all are read, each as its stored winner."""
    told = third_party.load_vicuna_verdicts(system)
    read = [parse_verdict(text).answer for text in told["text"]]
    assert len(told) == 160 and read == list(told["letter"])


@pytest.mark.mirror
@pytest.mark.skipif(not os.environ.get("KATAYORI_MIRROR"), reason="KATAYORI_MIRROR is not set")
@pytest.mark.parametrize(
    ("system", "wanted"),
    [*zip(SYSTEMS, [(56, 12, 12), (11, 60, 9), (37, 34, 9)], strict=True)],
)
def test_real_verdicts_in_both_orders(system, wanted):
    """LJ-14: wins, losses and ties of 80 on GPT-4's stored letters; a win needs both orders."""
    told = third_party.load_vicuna_verdicts(system).assign(
        read=lambda rows: rows["text"].map(letter_in)
    )
    found = settled(told, pair="pair_id", order="order", letter="read")
    counts = found["BS2"].value_counts()
    assert tuple(counts[name] for name in ("1", "2", "tie")) == wanted
    tied = (found["BS1"] == "tie").sum()
    assert found["same"].sum() == wanted[0] + wanted[1] + tied
    assert found["proposed"].isna().all() and set(found["status"]) == {"ok"}


def letter_in(text):
    return parse_verdict(text).answer
