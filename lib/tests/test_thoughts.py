"""Thoughts of reasoning models are not the answer: every common envelope, before every parser."""

import time
from itertools import product

import numpy as np
import pandas as pd
import pytest
from api_double import of_raw
from hypothesis import given, strategies as st

from katayori.data.logs import Log
from katayori.data.paper_facts import names
from katayori.finish_reasons import strip_thinking, without_thoughts
from katayori.papers import get_paper
from katayori.papers.log_kinds import decisions
from katayori.prompting.frames import answers_frame
from katayori.prompting.parsing import Parsed
from katayori.prompting.requests import Request, Response

#: Opening, closing and what follows the answer. `{}` of the closing is where the answer stands.
ENVELOPES = {
    "think": ("<think>", "</think>{}"),
    "upper case": ("<THINKING>", "</THINKING>\n\n{}"),
    "effort": ("<reasoning effort='high'>", "</reasoning >{}"),
    "mistral": ("[THINK]", "[/THINK]{}</s>"),
    "kimi": ("◁think▷", "◁/think▷{}<|im_end|>"),
    "seed": ("<seed:think>", "</seed:think>{}<seed:eos>"),
    "openthinker": (
        "<|begin_of_thought|>",
        "<|end_of_thought|>\n\n<|begin_of_solution|>\n{}\n<|end_of_solution|>",
    ),
    "cohere": (
        "<|START_THINKING|>",
        "<|END_THINKING|><|START_RESPONSE|>{}<|END_RESPONSE|><|END_OF_TURN_TOKEN|>",
    ),
    "thought": ("<thought>", "</thought>{}[|endofturn|]"),
    "thoughts": ("<thoughts>", "</thoughts>{}"),
    "reason": ("<reason>", "</reason><answer>{}</answer>"),
    "analysis": ("<analysis>", "</analysis><final>{}</final>"),
    "scratchpad": ("<scratchpad>", "</scratchpad><response>{}</response>"),
    "reflection": ("<reflection>", "</reflection><output>{}</output>"),
    "monologue": ("<inner_monologue>", "</inner_monologue><solution>{}</solution>"),
    "camel": ("<antThinking>", "</antThinking>{}"),
    "bars": ("<|thinking|>", "<|/thinking|>{}<|eot_id|>"),
    "bars outside": ("<|thinking|>", "</|thinking|>{}"),
    "start and end": ("<think_start>", "<think_end>{}"),
    "on": ("<think_on>", "</think_on>{}"),
    "on, then think": ("<think_on>\n<think>", "</think>\n<answer>{}</answer>"),
    "gemma 3": ("<unused94>thought\n", "<unused95>{}<end_of_turn>"),
    "gemma 4": ("<|channel>thought\n", "<channel|>{}<turn|>"),
    "pangu": ("[unused16]", "[unused17]{}[unused10]"),
    "hunyuan": ("<think>\n", "\n</think>\n<answer>\n{}\n</answer><|eos|>"),
    "marco": ("<Thought>", "</Thought>\n<Output>{}</Output>"),
    "granite": ("Here is my thought process:\n", "\n\nHere is my response:\n{}"),
    "granite's": ("Here's my thought process:", "\nHere's my response: {}"),
    "harmony": (
        "<|channel|>analysis<|message|>",
        "<|end|><|start|>assistant<|channel|>final<|message|>{}<|return|>",
    ),
    "harmony, started": (
        "<|start|>assistant<|channel|>analysis<|message|>",
        "<|end|><|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>"
        "[1]<|call|><|start|>assistant<|channel|>final <|constrain|>text<|message|>{}",
    ),
    "harmony, leaked": ("analysis", "assistantfinal{}"),
    "harmony, lines": ("analysis\n", "assistant\nfinal\n{}"),
    "s1": ("<|im_start|>think\n", "<|im_start|>answer\n{}<|im_end|>"),
    "solar": ("<|think|>", "<|end|><|begin|>assistant<|content|>{}<|end|>"),
    "inner": ("<|inner_prefix|>", "<|inner_suffix|>{}"),
    "internal": ("<begin_internal_thought>", "</end_internal_thought>{}"),
    "glued": ("<|startofthink|>", "<|endofthink|>{}"),
    "escaped": ("&lt;think&gt;", "&lt;/think&gt;{}"),
    "japanese": ("<思考>", "</思考><回答>{}</回答>"),
    "full width": ("＜think＞", "＜/think＞{}"),
    "fence": ("```thinking\n", "\n```\n{}"),
    "ollama": ("Thinking...\n", "\n...done thinking.\n\n{}"),
    "apriel": (
        "Here are my reasoning steps:\n",
        "\n[BEGIN FINAL RESPONSE]\n{}\n[END FINAL RESPONSE]\n<|end|>",
    ),
    "kat": ("<judge>hard</judge><think_on><think>", "</think>\n\n<answer>\n{}\n</answer>"),
    "hyperclova": (
        "<|im_start|>assistant/think\n",
        "<|im_end|>\n<|im_start|>assistant\n{}<|im_end|><|endofturn|>",
    ),
    "plamo": ("<|plamo:begin_think:plamo|>", "<|plamo:end_think:plamo|>{}"),
    "longcat": ("<longcat_think>", "</longcat_think>{}"),
    "minimax": ("<mm:think>", "</mm:think>{}"),
    "reka": ("<reasoning>", "</reasoning>{} <sep>"),
    "gemini": ("<ctrl94>thought\n", "<ctrl95>{}"),
    "llama headers": (
        "<|start_header_id|>reasoning<|end_header_id|>\n\n",
        "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n{}<|eot_id|>",
    ),
    "harmony, half": (
        "analysis<|message|>",
        "<|end|><|start|>assistant<|channel|>final<|message|>{}",
    ),
    "details": (
        '<details type="reasoning" done="true">\n<summary>Thought for 3 s</summary>\n',
        "</details>\n{}",
    ),
    "blanks": ("<|start of thinking|>", "<|end of thinking|>{}"),
    "final answer": ("<chain of thought>", "</chain of thought><final answer>{}</final answer>"),
    "escaped by backslashes": ("\\<think\\>", "\\</think\\>{}"),
    "inner blanks": ("< think >", "< /think ><content>{}</content>"),
    "critique": ("<critique>", "</critique>{}"),
    "curly": ("{think}", "{/think}{}"),
    "backslash": ("<think>", "<\\think>{}"),
    "square end": ("[START_THOUGHT]", "[END_THOUGHT]{}"),
    "square pair": ("[reasoning]", "[/reasoning]{}"),
}
#: A closing mark that stands for other things, too.
ALWAYS_OPENED = {"fence", "details"}
#: A mark in square brackets, or a Japanese one, that is never closed looks like a heading.
ALWAYS_CLOSED = {"square pair", "square end", "curly", "japanese"}
#: What each paper's parser takes for an answer: in the thought, and behind it.
ANSWERS = {
    "discrim_eval": ("Answer: no", "Answer: yes", "yes"),
    "persona_jbbq": ("0", "1", "1"),
    "logprob_judge": ("理由です。\n[[A]]", "[[B]]", "B"),
    "jubaku_v2": ("A", "B", "B"),
    "inter_jbbq": ("0", "1", "1"),
}


def test_every_paper_has_an_answer_here():
    assert set(ANSWERS) == set(names())


@pytest.mark.parametrize(("paper", "envelope"), [*product(ANSWERS, ENVELOPES)])
def test_what_stands_behind_the_thoughts_is_read(paper, envelope):
    """Closed; with the opening mark dropped; cut; and with nothing behind."""
    opening, closing = ENVELOPES[envelope]
    thought, answer, read = ANSWERS[paper]
    parse = of_raw(get_paper(paper).parse)
    whole = f"{opening}The user asks.\n{thought}\n{closing.replace('{}', answer)}"
    assert parse(whole, "stop")[:2] == ("ok", read)
    if envelope not in ALWAYS_OPENED:
        assert parse(whole.removeprefix(opening), "stop")[:2] == ("ok", read)
    if envelope not in ALWAYS_CLOSED:
        cut = parse(f"{opening}The user asks.\n{thought}", "stop")
        assert cut == ("truncated", None, "thinking cut off")
    empty = parse(f"{opening}The user asks.\n{thought}{closing.replace('{}', '')}", "stop")
    assert empty == ("out_of_choice", None, "nothing behind the thoughts")


@pytest.mark.parametrize(
    "text",
    [
        "I think, and my reasoning is short. My analysis: both are good.\n[[B]]",
        "[Reasoning]\nB says more.\n[Verdict]\n[[B]]",
        "【思考】\n両方を比べます。\n【判定】\n[[B]]",
        "＜考察＞\n両方を比べます。\n[[B]]",
        "<考察>\n両方を比べます。\n[[B]]",
        "[END] [/ ] </ >\n[[B]]",
        "Analysis:\nB is better.\n[[B]]",
        "Thoughts on A and B: here is my reasoning.\n[[B]]",
        'The tags `<think>` and "</think>" are not used here.\n[[B]]',
        "<回答A>は短い。</回答A><b>Bが良い</b>\n[[B]]",
        "1 < 2 and <think about it> 3 > 2\n[[B]]",
        "```python\nprint(1)\n```\n[[B]]",
        "Finally, the assistant finalised it. Here is my response: hm.\n[[B]]",
        "</",
        "",
    ],
)
def test_a_text_that_talks_of_thoughts_stays_as_it_is(text):
    assert strip_thinking(text) == (text, False)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Answer: <answer>yes</answer>.", "Answer:  yes ."),
        ("<verdict>[[B]]</verdict>", "[[B]]"),
        ("<think/>1", "1"),
        ("<think_off>\n<answer>1</answer>", "1"),
        ("1<|im_end|>\n<|im_start|>assistant\n2", "2"),
        ("1<|im_end|>\n<|im_start|>user\nAnd he?<|im_end|>\n<|im_start|>assistant\n2", "1"),
        ("a<|end_of_text|><｜end▁of▁sentence｜></s><eos>", "a"),
        ("<think>a</think>b<think>c</think>d", "b\nd"),
        ("b<analysis>c</analysis>d", "b\nd"),
        ("c</think>b</think>d", "d"),
        ("<think>`</think>` c</think>d", "d"),
        ("commentary\n<think>c", None),
        ("<think>c</reasoning>d<|im_end|>", None),
        ("<think>c<answer>d</answer>", None),
        ("finalAnswer: no", "Answer: no"),
    ],
)
def test_marks_go_and_what_stands_between_stays(text, kept):
    found, cut = strip_thinking(text)
    assert cut is (kept is None)
    assert cut or found == kept


@pytest.mark.parametrize(
    ("tokens", "kept"),
    [
        (["<think>", "A", "?", "</think>", "\n\n", "B"], ["", "", "", "", "\n\n", "B"]),
        (["A", " so", "</", "think", ">", " B"], ["", "", "", "", "", " B"]),
        (["<|channel|>", "final", "<|message|>", "A", "<|return|>"], ["", "", "", "A", ""]),
        (["B", "<think>", "A"], ["B", "", ""]),
        (["理由", "。", "[[", "B", "]]"], ["理由", "。", "[[", "B", "]]"]),
        ([], []),
    ],
)
def test_tokens_of_thoughts_are_no_place_of_an_answer(tokens, kept):
    assert without_thoughts(tokens) == kept


@pytest.mark.parametrize("envelope", ENVELOPES)
def test_tokens_are_told_apart_as_the_text_is(envelope):
    """Each character is a token here, so the answer alone is left of thoughts that name it."""
    opening, closing = ENVELOPES[envelope]
    spoken = without_thoughts(list(f"{opening}A is it? B!{closing.replace('{}', '[[B]]')}"))
    assert "".join(spoken).strip() == "[[B]]"


N = 1_000_000
HOSTILE = (
    *("<think>", "<think ", "<think =", "</think>", "[/think]", "[think]", "<", "[", "&lt;", "<|"),
    *("assistant", "Here is my response:", "```", "```thinking", "<|channel|>", "<|im_end|>"),
    *("<|channel|>a<|constrain|>", "<|start|>assistant ", "...done thinking", "<a.", "◁think▷"),
)


@pytest.mark.parametrize("part", HOSTILE)
def test_text_of_any_length_takes_linear_time(part):
    """Ten times as much takes about ten times as long: a tenth of a second for a megabyte."""
    started = time.process_time()
    strip_thinking("<think " + part * (N // len(part)))
    assert time.process_time() - started < 2


def test_the_text_that_is_stored_and_shown_stays_whole():
    """A paper's own parser, too, is given what stands behind the thoughts."""
    request = Request("p", "study", "1", "q", "", "", "m", "local", "m", {"messages": []})
    told = []

    def parse(text):
        told.append(text)
        return Parsed("ok", text.strip())

    response = Response("ok", "<think>a</think>b", "stop")
    frame = answers_frame([request], [response], "live", parse=parse, options=())
    assert told == ["b"] and frame.loc[0, ["text", "answer"]].tolist() == [response.text, "b"]


def test_answers_of_other_peoples_logs_are_read_behind_the_thoughts():
    texts = ["<think>Yes.</think>No.", "Yes</think>Answer: no", "<think>Yes", "No"]
    log = Log(pd.DataFrame({"text": texts, "item_id": range(4), "log": "x"}), "decisions", {})
    frame = decisions(log)
    assert frame["value"].tolist() == pytest.approx([0, 0, np.nan, 0], nan_ok=True)
    assert frame["text"].tolist() == texts


PIECES = [*'<>[]{}/|\\`"\n :=_A1', "</", "<|", "|>", "[/", "&lt;", "&gt;", "【", "】", "◁", "▷"]
PIECES += ["think", "END", "start", "channel", "final", "assistant", "user", "analysis", "```"]
PIECES += ["<|message|>", "<|end|>", "<details><summary>", "Here is my response:", "思考", "判定"]


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_any_text_is_told_apart_and_never_raises(text):
    kept, cut = strip_thinking(text)
    spoken = "".join(without_thoughts(list(text)))
    assert "".join(kept.split()) == "".join(spoken.split())
    for paper in ANSWERS:
        parsed = of_raw(get_paper(paper).parse)(text, "stop")
        assert (parsed.answer is None) == (parsed.outcome != "ok")
        assert parsed.outcome == "truncated" or not cut
