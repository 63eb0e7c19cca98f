"""LJ-6, LJ-21: the appendix's wording to the letter as a switch, and tasks of each kind."""

from dataclasses import replace

from katayori import paths
from katayori.prompting import recordings
from katayori.prompting.prompts import load_prompts

FOLDER = paths.data_dir() / "wordings" / "literal"
ANNOUNCED = "判定には次の観点を用いてください。\n"
CHANGED = {"lj_verdict": "lj_verdict_criteria", "lj_reason": "lj_reason_criteria"}


def test_the_literal_wording_deletes_the_block_and_nothing_else():
    """Its prompts without criteria are those with criteria less the delimited block."""
    ours, literal = load_prompts("logprob_judge"), load_prompts("logprob_judge", FOLDER)
    block = "<観点>\n{criteria}\n</観点>\n"
    for name, with_criteria in CHANGED.items():
        assert block in ours[with_criteria].user
        assert literal[name].user == ours[with_criteria].user.replace(block, "")
        assert literal[name].user.replace(ANNOUNCED, "") == ours[name].user
        assert literal[name].settings == ours[name].settings
        assert all(element["line"] in literal[name].user for element in literal[name].elements)


def test_all_other_prompts_are_ours():
    ours, literal = load_prompts("logprob_judge"), load_prompts("logprob_judge", FOLDER)
    assert set(ours) == set(literal)
    for name in set(ours) - set(CHANGED):
        same = replace(literal[name], given=ours[name].given)
        assert same == ours[name]


def test_no_answer_is_recorded_to_the_literal_wording():
    """The notebook says so by the hash, and shows the prompts that are recorded."""
    literal = load_prompts("logprob_judge", FOLDER)
    for name in CHANGED:
        entries = recordings.shards("logprob_judge", name, "study2")
        assert entries or name != "lj_verdict"
        assert literal[name].hash not in {e["prompt_hash"] for e in entries}
    kept = recordings.shards("logprob_judge", "lj_verdict_criteria", "study2")
    assert {e["prompt_hash"] for e in kept} == {literal["lj_verdict_criteria"].hash}
