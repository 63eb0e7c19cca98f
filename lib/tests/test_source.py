"""One source of items: clusters as the unit, own files of every paper, and what was recorded
unchanged.
"""

import json

import own_items
import pandas as pd
import pytest

from katayori.errors import KatayoriError, UnavailableError
from katayori.papers import (
    discrim_eval,
    get_paper,
    inter_jbbq,
    jubaku_v2,
    logprob_judge,
    paper_ids,
    persona_jbbq,
)
from katayori.papers.items import OwnItems, own_files, read_items, request_dataset
from katayori.prompting.prompts import load_prompts
from katayori_tools.asking import load_rows, prompts_of, steps

PAPERS = list(paper_ids())


@pytest.mark.parametrize("paper", PAPERS)
def test_without_a_limit_the_items_are_those_that_were_recorded(paper):
    """The default run's items: whole study sets, of persona_jbbq in the order given."""
    before = {
        "discrim_eval": lambda: discrim_eval.load_study(),
        "persona_jbbq": lambda: persona_jbbq.as_given(3),
        "logprob_judge": lambda: logprob_judge.load_study_judge(),
        "jubaku_v2": lambda: jubaku_v2.load_study_jubaku(),
        "inter_jbbq": lambda: inter_jbbq.PAPER.sets()[inter_jbbq.STUDY](),
    }
    found = read_items(paper, "study")
    pd.testing.assert_frame_equal(found.items, before[paper]())
    assert found.dataset == "study" and found.notes == ()


def n_clusters_of(read):
    return get_paper(read.paper).cluster_of(read.items).nunique()


@pytest.mark.parametrize("paper", PAPERS)
def test_a_limit_counts_whole_clusters_and_smaller_ones_are_parts_of_larger(paper):
    everything = read_items(paper, "study").items
    sizes = everything.groupby(get_paper(paper).cluster_of(everything)).size()
    taken: set[str] = set()
    for limit in (1, 2, 4, 20):
        found = read_items(paper, "study", limit=limit)
        clusters = get_paper(paper).cluster_of(found.items)
        assert clusters.nunique() == limit
        assert clusters.value_counts().to_dict() == sizes[clusters.unique()].to_dict()  # whole
        assert taken <= set(clusters)
        taken = set(clusters)


@pytest.mark.parametrize("paper", PAPERS)
def test_the_rows_to_ask_carry_cluster_and_every_place_of_the_prompts(paper):
    rows = load_rows(paper, "study", limit=2)
    assert rows["cluster"].nunique() == 2 and rows["item_id"].is_unique
    known = load_prompts(paper)
    for prompt in (known[name] for step in steps(paper, "study") for name in step):
        if not prompt.given and prompt.per == "item_id":
            filled = prompt.messages(**{k: str(v) for k, v in rows.iloc[0].items()})
            assert "{" not in filled[-1]["content"], prompt.id


@pytest.mark.parametrize("limit", [0, -5, 10**12, True, 1.5, "3"])
def test_other_limits_are_refused(limit):
    with pytest.raises(KatayoriError, match="valid: a whole number of clusters"):
        read_items("jubaku_v2", "study", limit=limit)


@pytest.mark.parametrize("paper", PAPERS)
def test_own_items_take_the_place_of_ours(paper, tmp_path):
    own = OwnItems(**own_items.options(paper, tmp_path))
    _, n_clusters, _ = own_items.PAPERS[paper]
    found = read_items(paper, "study", own=own)
    assert n_clusters_of(found) == n_clusters
    assert found.dataset == ("official" if paper == "persona_jbbq" else "study")
    assert prompts_of(paper, "official", own) == "study"  # ours, in the items' language
    assert n_clusters_of(read_items(paper, "study", own=own, limit=1)) == 1
    ours = read_items(paper, "study", limit=2)
    assert not set(found.items["item_id"]) & set(ours.items["item_id"]) or paper == "jubaku_v2"
    for other in set(PAPERS) - {paper}:  # nobody else's business
        assert request_dataset(other, "study", own) == "study" and not own.of(other)


def test_every_own_item_belongs_to_a_paper():
    assert {one for papers, _ in own_files().values() for one in papers} == set(PAPERS)
    assert OwnItems(**dict.fromkeys(own_files(), "x")).keys() == own_files().keys()
    with pytest.raises(KatayoriError, match="unknown kind of own items 'question'"):
        OwnItems(question="x")


def test_any_part_of_jbbq_is_read_and_its_counts_stand_beside_the_papers(tmp_path):
    """A subset, a single category, the release of June 2024: other counts are said, not refused."""
    folder = own_items.write("persona_jbbq", tmp_path)
    found = read_items("persona_jbbq", "study", own=OwnItems(jbbq=folder))
    assert "age 12 of 28,176, disability 0 of 8,064" in found.notes[0] and len(found.items) == 12
    assert found.name == "JBBQ (other counts than the paper's)"
    single = read_items("persona_jbbq", "study", own=OwnItems(jbbq=f"{folder}/Age.jsonl"))
    pd.testing.assert_frame_equal(single.items, found.items)
    with pytest.raises(UnavailableError, match="no JBBQ files"):
        read_items("persona_jbbq", "study", own=OwnItems(jbbq=str(tmp_path / "none")))


def test_some_cases_are_chosen_by_id():
    found = read_items("jubaku_v2", "study", only=["ju2-02", "ju2-01b"])
    assert list(found.items["case_id"].unique()) == ["ju2-01b", "ju2-02"]
    with pytest.raises(
        UnavailableError,
        match=f"{jubaku_v2.study_version()} lacks: ju2-99; nearest to ju2-99: ju2-",
    ):
        read_items("jubaku_v2", "study", only=["ju2-99"])


@pytest.mark.parametrize("paper", PAPERS)
def test_imported_answers_say_which_clusters_are_read(paper, tmp_path):
    """A template about two clusters comes back as a run about these two, not about errors of
    others.
    """
    asked = load_rows(paper, "study", limit=2)
    file = tmp_path / "answers.jsonl"
    rows = [
        {"item_id": name, "prompt_id": "p", "model": "m", "text": "1"} for name in asked["item_id"]
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows[1:]), encoding="utf-8")
    found = read_items(paper, "study", answers_file=file)
    kept = read_items(paper, "study", limit=2)
    pd.testing.assert_frame_equal(found.items, kept.items)
    assert found.notes[0].startswith("answers.jsonl answers 2 of ")
    file.write_text(json.dumps(rows[0] | {"item_id": "other"}) + "\n", encoding="utf-8")
    with pytest.raises(KatayoriError, match="answers none of these items"):
        read_items(paper, "study", answers_file=file)


@pytest.mark.mirror
def test_official_items_are_those_that_were_recorded():
    from katayori import paths

    if not paths.mirror_dirs():
        pytest.skip("KATAYORI_MIRROR is not set")
    assert len(read_items("persona_jbbq", "official").items) == 1008
    assert len(read_items("logprob_judge", "official").items) == 999
    assert n_clusters_of(read_items("jubaku_v2", "official")) == 30
    with pytest.raises(UnavailableError, match="no public copy"):
        read_items("inter_jbbq", "official")
