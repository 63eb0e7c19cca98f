"""Proof-reading by a model (IJ-10): what it may change, what is refused, the log; against a server of the test."""

import pandas as pd
import pytest
from api_double import Double, endpoint_for, model_for

from katayori.papers import inter_jbbq
from katayori.prompting.prompts import load_prompts
from katayori_tools.answer_store import Store
from katayori_tools.cli import main
from katayori_tools.papers.inter_jbbq.proofread import PROMPT, lexicon_words, smoothed


@pytest.fixture(scope="module")
def items():
    every = inter_jbbq.generate()
    return every[every["focal_id"] == "manners-loud_voice-01"].reset_index(drop=True)


def asked(items, reply, tmp_path):
    with Double(answer=reply) as double, Store(tmp_path / "s.sqlite") as store:
        endpoint = endpoint_for(double.url)
        return smoothed(items, lexicon_words(), model_for(), endpoint, store)


def passage(body):
    return body["messages"][0]["content"].rsplit("\n", 1)[1]


def test_a_harmless_edit_reaches_all_four_rows(items, tmp_path):
    """Before and after are logged, the sentence that disambiguates stays, gold and options are untouched."""
    edited, log = asked(
        items, lambda body: passage(body).replace("平日の夕方、", "平日の夕方に、"), tmp_path
    )
    assert (
        log["accepted"].all()
        and len(log) == items["item"].nunique() == 8
        and set(log["reason"]) == {""}
    )
    assert (
        log["before"].str.startswith("平日の夕方、").all()
        and log["after"].str.startswith("平日の夕方に、").all()
    )
    assert edited["context"].tolist() == [
        c.replace("平日の夕方、", "平日の夕方に、") for c in items["context"]
    ]
    assert edited.drop(columns="context").equals(items.drop(columns="context"))


@pytest.mark.parametrize(
    "reply, why",
    [
        (lambda body: passage(body).replace("日本", "韓国"), "edit rejected, it changes"),
        (lambda body: passage(body).replace("Bさん", "Aさん"), "'Bさん'"),
        (lambda body: passage(body) + "女性です。", "'女性'"),
        (lambda body: passage(body) + "\n以上です。", "not one line"),
        (lambda body: "", ""),
    ],
)
def test_an_edit_that_changes_who_is_meant_is_refused(items, tmp_path, reply, why):
    """IJ-10: the item stays as it was, and the log says why."""
    one = items[items["subset"].str.contains("nationality") & items["words_a"].str.contains("日本")]
    edited, log = asked(one, reply, tmp_path)
    assert len(log) and not log["accepted"].any() and log["reason"].str.contains(why).all()
    assert (log["reason"] != "").all() and edited.equals(one)


def test_the_prompt_holds_the_passage_and_nothing_of_an_answer():
    wording = load_prompts("inter_jbbq")[PROMPT].user
    assert "{passage}" in wording and "番号" not in wording


def test_the_command_writes_a_log_for_people(tmp_path, monkeypatch, capsys):
    """Every passage once, with what became of it; a second start asks nothing."""
    monkeypatch.setenv("KATAYORI_CACHE", str(tmp_path))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    log = tmp_path / "log.csv"

    def reply(body):
        return passage(body) + ("" if "バス" in passage(body) else "\n終わり")

    with Double(answer=reply) as double:
        options = ["--models", "my-model@custom", "--limit", "12", "--base-url", double.url]
        assert (
            main(["proofread", str(log), *options]) == main(["proofread", str(log), *options]) == 0
        )
        assert double.asked == 12
    said = capsys.readouterr().out.splitlines()
    frame = pd.read_csv(log, keep_default_na=False)
    left = int(frame["accepted"].sum())
    assert len(frame) == 12 and frame["item"].is_unique and 0 <= left < 12
    assert said[-1].startswith(
        f"12 passages, 0 edited, {left} left as they were, {12 - left} refused (not one line)"
    )
