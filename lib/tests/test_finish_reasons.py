"""The table of finish reasons: only known words of a whole answer make one, by whichever way in."""

import json

import pytest
from api_double import completion, requests_for, yes_no_frame

from katayori.finish_reasons import OUTCOMES, ended, usual
from katayori.prompting.answer_store import Store
from katayori.prompting.exchange import import_answers
from katayori.prompting.parsing import behind_thoughts
from katayori.prompting.replies import read_completion
from katayori.prompting.requests import Response
from katayori_tools import batch

#: What servers send, as they write it.
KINDS = {
    "ok": """
        stop STOP Stop eos eos_token end_turn END_TURN endTurn stop_sequence STOP_SEQUENCE COMPLETE
        FINISH_REASON_STOP FINISH_STOP REASON_STOP FinishReason.STOP null None
    """,
    "truncated": """
        length LENGTH max_tokens MAX_TOKENS maxTokens MaxTokens FINISH_REASON_MAX_TOKENS
        FINISH_MAX_TOKENS max_output_tokens max_completion_tokens max_length model_length
        token_limit model_context_window_exceeded REASON_MAX_LEN REASON_MAX_CONTEXT ERROR_LIMIT
    """,
    "filtered": """
        content_filter content-filter contentFiltered content_filter:PROHIBITED_CONTENT SAFETY
        FINISH_REASON_SAFETY RECITATION BLOCKLIST PROHIBITED_CONTENT SPII IMAGE_SAFETY LANGUAGE
        guardrail_intervened sensitive ERROR_TOXIC
    """,
    "refusal": "refusal REFUSAL",
    "error": """
        error ERROR FINISH_REASON_ERROR failed failure abort aborted cancelled USER_CANCEL TIMEOUT
        time_limit network_error internal_error insufficient_system_resource rate_limit_exceeded
        tool_calls tool_use function_call TOOL_CALL MALFORMED_FUNCTION_CALL
        OTHER FINISH_REASON_UNSPECIFIED unknown load repetition finished nonstop stop,stop --- 完了
    """,
}
#: Of the kind `error`: what the server may do better when it is asked again.
AGAIN = KINDS["error"].split()[:15]
WORDS = [(word, outcome) for outcome, words in KINDS.items() for word in words.split()]


@pytest.mark.parametrize(("word", "outcome"), WORDS)
def test_every_word_is_of_one_kind(word, outcome):
    found = ended(word)
    assert found.outcome == outcome and outcome in OUTCOMES
    assert bool(found.note) is (outcome != "ok")
    assert found.again is (word in AGAIN)
    _, cut = behind_thoughts("yes", word)
    assert (cut and cut.outcome) == (None if outcome == "ok" else outcome)


@pytest.mark.parametrize("word", [None, "", " "])
def test_no_word_says_nothing_against_an_answer(word):
    assert ended(word).outcome == "ok" and usual(word or None) == "stop"


@pytest.mark.parametrize("word", [0, True, [], "tired", "\x1b[31m", "x" * 10**6, "完了"])
def test_a_word_that_is_not_known_is_named_and_never_an_answer(word):
    found = ended(word)
    assert found.outcome == "error" and not found.again
    assert str(word)[:20] in found.note or "x1b" in found.note
    assert found.note.isprintable() and len(found.note) < 120


def test_one_token_always_ends_at_its_limit():
    assert ended("length", one_token=True).outcome == "ok"
    assert ended("SAFETY", one_token=True).outcome == "filtered"


def outcome_of_answer(word):
    """Outcome of an answer of a server; what is raised is asked again, and an error in the end."""
    try:
        return read_completion(completion(finish_reason=word), requests_for(1)[0]).outcome
    except ValueError:
        return "error"


@pytest.mark.parametrize(("word", "outcome"), WORDS)
def test_a_word_means_the_same_by_whichever_way_an_answer_comes(word, outcome, tmp_path):
    [request] = requests_for(1)
    assert outcome_of_answer(word) == outcome
    row = {"response": {"status_code": 200, "body": completion(finish_reason=word)}}
    assert batch.to_response(row, request).outcome == outcome
    given = {"item_id": "q00000", "prompt_id": "p", "model": "m", "text": "Answer: yes"}
    file = tmp_path / "a.jsonl"
    file.write_text(json.dumps(given | {"finish_reason": word}) + "\n", encoding="utf-8")
    responses = import_answers(file, [request])
    assert responses[0].outcome == outcome
    frame = yes_no_frame([request], responses, "imported")
    assert frame["outcome"].item() == outcome
    if ended(word).note.startswith("unknown"):
        assert word in frame["note"].item()


@pytest.mark.parametrize("outcome", ["ok", "truncated", "filtered", "refusal"])
def test_the_usual_word_of_an_outcome_is_of_its_kind(outcome):
    word = KINDS[outcome].split()[0]
    assert ended(usual(word)).outcome == outcome


@pytest.mark.parametrize(
    ("stored", "outcome"),
    [
        (Response("ok", "Answer: yes", "stop"), "ok"),
        (Response("ok", "Answer: yes", "eos"), "ok"),
        (Response("ok", "Answer: yes", "finished"), "ok"),
        (Response("ok", "Answer: yes", "length"), "truncated"),
        (Response("ok", "Answer: yes", "content_filter"), "filtered"),
        (Response("truncated", "Answer: yes", "length"), "truncated"),
        (Response("filtered", "", "content_filter"), "filtered"),
    ],
)
def test_what_was_stored_by_an_earlier_version_reads_as_before(stored, outcome, tmp_path):
    [request] = requests_for(1)
    with Store(tmp_path / "answers.sqlite") as store:
        store.put(request, stored)
        [(_, read)] = store.get([request])
        assert store.pending([request]) == []
    assert yes_no_frame([request], [read], "live")["outcome"].item() == outcome
