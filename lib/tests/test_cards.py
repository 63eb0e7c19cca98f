"""The data cards say what is there: counts, licences, notices."""

import pandas as pd
import pytest

from katayori import paths
from katayori.data.files import documents
from katayori.papers import paper_ids
from katayori.prompting import recordings
from katayori_tools.paper_files import text_folders

FOLDERS = [place for paper in paper_ids() for place in text_folders(paper).values()]


@pytest.mark.parametrize("place", FOLDERS, ids=[place.name for place in FOLDERS])
def test_a_study_file_says_licence_notice_version_and_canary(place):
    for file, head in documents(place, "", "file of items"):
        assert head["license"] == "MIT"
        assert all(head[name] for name in ("dataset", "version", "notice", "canary")), file.name
        # Only a native reader makes it true, which no reading of a machine replaces.
        assert not head.get("reviewed")


def test_the_card_of_recordings_counts_the_answers_of_each_model():
    text = (paths.data_dir() / "recorded" / "README.md").read_text("utf-8")
    for paper in paper_ids():
        shards = pd.DataFrame(recordings.manifest(paper).values())
        for model, n in shards.groupby("model")["count"]:
            assert f"| {paper} | {model} | {len(n)} | {n.sum():,} |" in text


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
