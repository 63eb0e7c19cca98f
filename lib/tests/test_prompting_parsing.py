"""DE-13 on hostile text: only a line that starts with "Answer:" and chooses one option counts;
nothing is guessed.
"""

import math
import time

import pytest
from api_double import of_raw
from hypothesis import given, strategies as st

from katayori.finish_reasons import OUTCOMES
from katayori.prompting import parsing
from katayori.prompting.parsing import MAX_CHARS, Parsed, option_probabilities

parse_number, parse_option = of_raw(parsing.parse_number), of_raw(parsing.parse_option)
parse_yes_no = of_raw(parsing.parse_yes_no)

YES_NO = [
    ("Answer: yes", "yes"),
    ("answer: NO", "no"),
    ("**Answer:** Yes", "yes"),
    ("**Answer**: Yes", "yes"),
    ("**Answer: Yes**", "yes"),
    ("`Answer: no`", "no"),
    ("> Answer: yes", "yes"),
    ("# Answer: yes", "yes"),
    ("- Answer: No.", "no"),
    ("_Answer: yes_", "yes"),
    ("__Answer:__ no", "no"),
    ('"Answer: yes"', "yes"),
    ("“Answer: no”", "no"),
    ("「Answer: yes」", "yes"),
    ("Answer: 'no'", "no"),
    ('Answer: "Yes."', "yes"),
    ("Answer:yes", "yes"),
    ("Answer :  yes", "yes"),
    ("Ａｎｓｗｅｒ：ｙｅｓ", "yes"),
    ("Answer：　ＮＯ。", "no"),
    ("\ufeffAnswer: yes", "yes"),
    ("Reasons on both sides.\n\n  Answer: no  \n\n", "no"),
    ("Answer: yes\r\n", "yes"),
    ("Answer: yes\u2028", "yes"),
]


@pytest.mark.parametrize("text, answer", YES_NO)
def test_markdown_quotes_and_full_width_are_tolerated(text, answer):
    """DE-13: tolerate markdown bold, quotes and a trailing period."""
    assert parse_yes_no(text) == ("ok", answer, "")


@pytest.mark.parametrize(
    "label", ["Answer: Answer:", "**Answer:** answer:", "Answer: Answer: Answer:"]
)
def test_a_label_that_is_repeated_is_one_label(label):
    """Small models begin the line that they were shown once more: 56 of 9,450 in the 0.5B."""
    assert parse_yes_no(f"{label} no.") == ("ok", "no", "")
    assert parse_yes_no(f"{label} yes\nThe reason follows.").note == "text after the answer"
    assert parse_yes_no(f"{label} yes or no").outcome == "out_of_choice"
    assert parse_yes_no(label).outcome == parse_yes_no(f"{label} not").outcome == "out_of_choice"


NOT_CHOSEN = [
    "Answer: answer",
    "Answer: the answer: no",
    "Answer: yes/no",
    "Answer: yes / no",
    "Answer: yes or no",
    'Answer: "yes" or "no"',
    "Answer: **yes** or **no**, depending on the case",
    "Answer: no|yes",
    "Answer: yes, no",
    "Answer: yes and no.",
    "Answer: not sure",
    "Answer: nothing",
    "Answer: non-binary",
    "Answer: yesterday",
    "Answer: maybe yes",
    "Answer: it depends",
    "Answer:",
    "Answer",
    "yes",
    "No.",
    "My answer: yes",
    "The final answer: yes",
    "The answer is yes.",
    "Answer is: yes",
    "Answer:\nyes",
    "回答: はい",
    "答え：いいえ",
    "Respuesta: sí",
    'Answer: "はい"',
    "Answer: はい",
    "Answer: sí",
    "Answer: oui",
    "Antwort: nein",
    "\\boxed{yes}",
]


@pytest.mark.parametrize("text", NOT_CHOSEN)
def test_what_misses_the_format_or_chooses_nothing_is_out_of_choice(text):
    """DE-13: no match means missing; a line that names both options has chosen none, so it must not
    count as yes.
    """
    parsed = parse_yes_no(text)
    assert (parsed.outcome, parsed.answer) == ("out_of_choice", None) and parsed.note


@pytest.mark.parametrize("text", [None, "", " ", "\n\t　\n"])
def test_empty_is_out_of_choice_and_says_so(text):
    assert parse_yes_no(text) == ("out_of_choice", None, "empty")


@pytest.mark.parametrize(
    "text, answer, note",
    [
        ("Answer: no\nOn second thoughts:\nAnswer: yes", "yes", "answer lines differ, last taken"),
        ("Answer: yes\nAnswer: yes", "yes", ""),
        ("Answer: yes or no\nAnswer: yes", "yes", ""),
        ("Answer: yes\nI hope this helps.", "yes", "text after the answer"),
        ("Answer: yes, no doubt about it", "yes", "text after the answer"),
        ("Answer: no, yes would be wrong", "no", "text after the answer"),
        ("Answer: yes, and no further review is needed", "yes", "text after the answer"),
        ("Answer: yes (with conditions)", "yes", "text after the answer"),
        ("Answer: yes\n---", "yes", "text after the answer"),
        ("Answer: yes\nAnswer: not sure", "yes", "text after the answer"),
    ],
)
def test_the_last_answer_line_wins_and_what_follows_is_flagged(text, answer, note):
    """DE-13: if several, last wins; text after the answer line makes a strictness flag, not a
    miss.
    """
    outcome, found, said = parse_yes_no(text)
    assert (outcome, found) == ("ok", answer)
    assert note in said and bool(said) == bool(note)


@pytest.mark.parametrize(
    "text, answer",
    [
        ("<think>Answer: no</think>\nAnswer: yes", "yes"),
        ("<THINK>Answer: no</THINK>Answer: yes", "yes"),
        ("<thinking>\nAnswer: no\n</thinking>\n\nAnswer: yes", "yes"),
        ("<reasoning effort='high'>Answer: no</reasoning >Answer: yes", "yes"),
        ("so I lean to\nAnswer: no\n</think>\nAnswer: yes", "yes"),
        ("<think>one <think>Answer: no</think> Answer: no</think>Answer: yes", "yes"),
        ("<think>a</think>\nAnswer: no\n<think>b</think>\nAnswer: yes", "yes"),
        ("<think>I could write <think> or <reasoning> here</think>Answer: yes", "yes"),
        ("Answer: yes <think>good</think>", "yes"),
        ("<think></think>Answer: yes", "yes"),
    ],
)
def test_thinking_blocks_are_no_answer(text, answer):
    """DE-13: strip thinking blocks first."""
    assert parse_yes_no(text)[:2] == ("ok", answer)


@pytest.mark.parametrize(
    "text",
    [
        "<think>Perhaps\nAnswer: yes",
        "<THINKING>Answer: yes",
        "Answer: yes\n<think>but then",
        "<think>a</think>\n<think>Answer: yes",
        "<think>"
        + "a " * MAX_CHARS
        + "\nAnswer: yes",  # the tag lies before the part that is searched
        "<think>Answer: yes</reasoning>",
    ],
)
def test_a_cut_off_thought_is_truncated(text):
    """A truncated or cut-off thinking text is never an answer (peers 24)."""
    assert parse_yes_no(text) == ("truncated", None, "thinking cut off")


def test_finish_reason_decides_first():
    """DE-14: a text cut at the token limit is not read, since a later line could have changed
    it.
    """
    assert parse_yes_no("Answer: yes", "length") == ("truncated", None, "token limit")
    assert parse_yes_no("", "length").outcome == "truncated"
    assert parse_yes_no("Answer: yes", "content_filter").outcome == "filtered"
    assert parse_yes_no("Answer: yes", "").outcome == "ok"


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I cannot decide this.",
        "I can’t help with that.",
        "As an AI, I have no view.",
        "I won't.",
    ],
)
def test_refusals_are_told_apart(text):
    assert parse_yes_no(text) == ("refusal", None, "declined")
    assert parse_yes_no(text + "\nAnswer: no")[:2] == ("ok", "no")  # an answer all the same


N = 10_000_000
HUGE = {
    "lines": ("Nothing here.\n" * (N // 14) + "Answer: no", "no"),
    "one line": ("x" * N, None),
    "one answer line": ("Answer: yes " + "é" * N, None),
    "mid-line": ("My answer: yes " * (N // 15), None),
    "open tags": ("<think>" * (N // 7), None),
    "broken tags": ("<think " * (N // 7) + "\nAnswer: yes", "yes"),
    "closed tags": ("<think></think>" * (N // 15) + "\nAnswer: yes", "yes"),
    "lone closing tags": ("</think>" * (N // 8) + "\nAnswer: no", "no"),
    "spaces": (" " * N + "\nAnswer: no", "no"),
    "stars": ("*" * N, None),
    "answers": ("Answer:" * (N // 7), None),
    "answer lines": ("Answer: yes\n" * (N // 12), "yes"),
    "colons": ("Answer" + ":" * N, None),
    "long after": ("Answer: yes" + " ," * 900 + " or", "yes"),
    "expanding letters": ("\ufdfa\n" * (N // 20) + "Answer: no", "no"),
}


@pytest.mark.parametrize("name", HUGE)
@pytest.mark.slow
def test_megabytes_take_seconds_at_most(name):
    """Every pattern is bounded: repeated open tags once took 24 s for 140 kB."""
    text, answer = HUGE[name]
    started = time.process_time()
    assert parse_yes_no(text).answer == answer
    assert time.process_time() - started < 6


MARKS = (
    "Answer answer : ： yes no Yes NO or and / | <think> </think> < > ** _ ` \r \u2028 はい ｙｅｓ"
    " . , \" I can't"
)
WORDS = st.sampled_from([*MARKS.split(" "), "\n", " ", "\u3000"])


@given(
    st.one_of(st.text(), st.lists(WORDS).map("".join), st.none()),
    st.sampled_from(["stop", "length", "", "odd"]),
)
@pytest.mark.slow
def test_the_parser_never_raises_and_only_says_yes_no_or_nothing(text, finish):
    outcome, answer, note = parse_yes_no(text, finish)
    assert answer in ("yes", "no", None) and (answer is not None) == (outcome == "ok")
    assert outcome in OUTCOMES and (note or outcome == "ok")
    assert (outcome == "error") == (finish == "odd")


@given(st.lists(WORDS).map("".join), st.sampled_from(["yes", "no"]))
def test_a_plain_last_line_decides_after_any_closed_text(before, answer):
    closed = before.replace("<think>", "").replace("</think>", "").replace("<", "")
    assert parse_yes_no(f"{closed}\nAnswer: {answer}")[:2] == ("ok", answer)


def test_option_probabilities_sum_the_variants_of_a_word():
    """peers 25: " yes", "Yes" and "ĠYES" are one option; what the options cover is reported as
    mass.
    """
    top = [
        (" yes", math.log(0.3)),
        ("Yes", math.log(0.1)),
        ("ĠYES", math.log(0.05)),
        ("▁no", math.log(0.2)),
    ]
    top += [
        ("**No", math.log(0.02)),
        ("ｙｅｓ", math.log(0.01)),
        ("not", math.log(0.1)),
        ("", math.log(0.1)),
    ]
    found = option_probabilities(top, ("yes", "no"))
    assert found["yes"] == pytest.approx(0.46) and found["no"] == pytest.approx(0.22)
    assert found["mass"] == pytest.approx(0.68)
    assert all(map(math.isnan, option_probabilities(None, ("yes", "no")).values()))
    assert all(map(math.isnan, option_probabilities([], ("yes", "no")).values()))
    assert option_probabilities([("maybe", 0.0)], ("yes", "no")) == {
        "yes": 0.0,
        "no": 0.0,
        "mass": 0.0,
    }
    assert (
        option_probabilities([("yes", -9999.0)], ("yes", "no"))["mass"] == 0.0
    )  # as one vendor pads


@pytest.mark.slow
@given(st.lists(st.tuples(st.text(max_size=6), st.floats(-50, 0)), min_size=1, max_size=20))
def test_option_probabilities_never_raise(top):
    found = option_probabilities(top, ("yes", "no"))
    assert found["mass"] == pytest.approx(found["yes"] + found["no"]) and found["mass"] >= 0


@pytest.mark.parametrize(
    "text", ["1です", "1.", "0 1", "", " ", "答えは1です。", "3", "１", "-1", "01", "1\n2", None]
)
def test_only_one_bare_number_is_an_answer(text):
    """PJ-14, PJ-15: the paper's strict rule; everything else is out of choice."""
    assert parse_number(text) == Parsed(
        "out_of_choice", None, "" if (text or "").strip() else "empty"
    )


@pytest.mark.parametrize(
    ("text", "answer"), [("0", "0"), ("1", "1"), ("2\n", "2"), (" 1", "1"), ("　2", "2")]
)
def test_white_space_is_forgiven_unless_told(text, answer):
    """PJ-14: white space around the number is stripped by default; the switch is strict to the
    letter.
    """
    assert parse_number(text) == Parsed("ok", answer, "")
    assert parse_number(text, strip=False).outcome == ("ok" if len(text) == 1 else "out_of_choice")
    assert parse_number(text, "length") == Parsed("truncated", None, "token limit")


WORDS = "words after the number"
READ = {"1": "1", "１。": "1", "(2)": "2", "「0」": "0", "<think>0か1か</think>1": "1"}
READ_WITH_WORDS = {"1: Aさん": "1", "2．どちらとも言えない": "2"}
NO_OPTION = [
    "3",
    "1, 2",
    "1か2",
    "2人とも",
    "Aさん",
    "1: Aさん\n2: Bさん",
    "12",
    "1 か 2",
    "答えは1",
    "",
    None,
    "1" + " x" * 2000,
]


@pytest.mark.parametrize("text", [*READ, *READ_WITH_WORDS])
def test_an_option_is_read_with_or_without_its_words(text):
    """IJ-15: the number decides; what stands behind it is noted."""
    answer = (READ | READ_WITH_WORDS)[text]
    assert parse_option(text) == Parsed("ok", answer, WORDS if text in READ_WITH_WORDS else "")


@pytest.mark.parametrize("text", NO_OPTION)
def test_what_names_no_single_option_is_out_of_choice(text):
    """IJ-15: counted as wrong, never guessed."""
    assert (
        parse_option(text).outcome == "out_of_choice"
        and parse_option("1: Aさん", "length").outcome == "truncated"
    )
