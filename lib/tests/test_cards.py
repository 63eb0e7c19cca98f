"""The data cards say what is there: counted tables, licences, notices."""

import pytest

from katayori import paths
from katayori.errors import KatayoriError
from katayori.papers import paper_ids
from katayori.prompting import recordings
from katayori_tools import cards, cli
from katayori_tools.study_sets import editions, folder, heads, study_sets

HEADS = [
    pytest.param(paper, edition, head, id=f"{folder(paper, edition).name}/{head['file']}")
    for paper in paper_ids()
    for edition in editions(paper)
    for head in heads(paper, edition)
]


@pytest.mark.parametrize("path", cards.card_paths(), ids=lambda path: path.parent.name)
def test_a_card_holds_todays_counts(path):
    assert path.read_text("utf-8") == cards.renewed(path), "run `katayori cards`"


def test_an_old_card_is_told_and_written_anew(tmp_path, monkeypatch, capsys):
    card = tmp_path / "recorded" / "README.md"
    card.parent.mkdir()
    card.write_text(f"before\n{cards.BEGIN}\n7 answers\n{cards.END}\nafter\n", encoding="utf-8")
    monkeypatch.setattr(cards, "card_paths", lambda: [card])
    monkeypatch.setattr(paths, "root", lambda: tmp_path)
    monkeypatch.setattr(cards, "recorded_part", lambda: "8 answers")
    assert cli.main(["cards", "--check"]) == 1
    assert "7 answers" in card.read_text("utf-8")
    assert cli.main(["cards"]) == 0
    assert card.read_text("utf-8") == f"before\n{cards.BEGIN}\n8 answers\n{cards.END}\nafter\n"
    assert cli.main(["cards", "--check"]) == 0
    assert "out of date" in capsys.readouterr().out


def test_a_card_without_marks_is_refused(tmp_path):
    card = tmp_path / "study" / "README.md"
    card.parent.mkdir()
    card.write_text("no marks\n", encoding="utf-8")
    with pytest.raises(KatayoriError, match="lacks a mark"):
        cards.renewed(card)


@pytest.mark.parametrize(("paper", "edition", "head"), HEADS)
def test_a_study_file_says_licence_notice_version_and_canary(paper, edition, head):
    assert head["license"] == "MIT"
    assert all(head[name] for name in ("dataset", "version", "notice", "canary"))
    # Only a native reader makes it true, which no reading of a machine replaces.
    assert head["reviewed"] in (False, None)


def test_the_first_edition_is_counted_as_the_items_are():
    text = (paths.data_dir() / "study" / "README.md").read_text("utf-8")
    items = study_sets("discrim_eval")[0].items
    assert f"| 1 | discrim_eval | study | {len(items):,} | 70 | en |" in text


def test_the_card_of_recordings_names_models_licences_and_all_answers():
    text = (paths.data_dir() / "recorded" / "README.md").read_text("utf-8")
    entries = [one for paper in paper_ids() for one in recordings.manifest(paper).values()]
    for model in {entry["model"] for entry in entries}:
        row = next(line for line in text.splitlines() if line.startswith(f"| {model} |"))
        assert row.endswith(".gguf | Apache-2.0 |")
    assert "no finding about larger models" in text
    for field in ("item_id", "key", "outcome", "text", "finish", "tokens", "top"):
        assert f"| `{field}` |" in text


def test_rows_of_shards_hold_the_fields_of_the_card():
    text = (paths.data_dir() / "recorded" / "README.md").read_text("utf-8")
    for paper in paper_ids():
        for entry in list(recordings.manifest(paper).values())[:3]:
            shard = (paper, entry["model"], entry["prompt_id"], entry["variant"])
            row = next(recordings.read(*shard))
            assert all(f"| `{field}` |" in text for field in row)
