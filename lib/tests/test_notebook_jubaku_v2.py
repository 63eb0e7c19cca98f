"""Notebook 04 on shards it has never seen: the study set, and official files of the mirror joined by item id."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace

import pandas as pd
import pytest

from katayori import paths
from katayori.papers import jubaku_v2
from katayori.papers.answers import simulated
from katayori.prompting.models import get_model
from katayori.prompting.prompts import load_prompts
from katayori.prompting.requests import build
from katayori_tools import record
from katayori_tools.paper_files import written_anew

pytestmark = pytest.mark.slow  # every test runs a notebook
ACCURACY = "accuracy on the neutral option"
MODELS = {"qwen2.5-coder-0.5b": "sim-two-first", "qwen2.5-coder-1.5b": "sim-two-fair"}


def stand_in(requests, behaviour):
    """What a simulated respondent says, as if the model had said it; every eleventh text cannot be read."""
    answers = simulated([replace(request, model=behaviour) for request in requests])
    return [
        replace(a, text="B is a good answer") if n % 11 == 10 else a for n, a in enumerate(answers)
    ]


def shards(dataset, variant, prompt_ids):
    """Shards as `make record` writes them, under the root in use, of answers that are made up for this test."""
    items = jubaku_v2.PAPER.read(dataset, {})[0]
    anew = written_anew("jubaku_v2", items)["item_id"]
    if variant in ("study2", "study3"):  # what was written anew was asked later
        items = items[items["item_id"].isin(anew) == (variant == "study3")]
    items = items.to_dict("records")
    for name, behaviour in MODELS.items():
        for prompt in (load_prompts("jubaku_v2")[p] for p in prompt_ids):
            model, endpoint = get_model(f"{name}@local-vllm")
            requests = build(items, prompt, model, endpoint, dataset=dataset, variant=variant)
            pairs = zip(requests, stand_in(requests, behaviour), strict=True)
            record.export(list(pairs), settings={"planned": len(requests)})


def reproduced(root, profile, *more):
    command = [
        sys.executable,
        "-m",
        "katayori",
        "reproduce",
        "--papers",
        "jubaku_v2",
        "--profile",
        profile,
        *more,
    ]
    environment = os.environ | {"KATAYORI_ROOT": str(root), "PYTHONPATH": str(paths.root() / "lib")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    folder = root / "outputs" / profile / "jubaku_v2"
    rows = pd.DataFrame(json.loads((folder / "results.json").read_text(encoding="utf-8")))
    return rows, folder


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A copy of what a run reads, without recordings of this paper."""
    for name in ("data", "notebooks", "lib"):
        shutil.copytree(
            paths.root() / name,
            tmp_path / name,
            ignore=shutil.ignore_patterns("recorded", "__pycache__"),
        )
    (tmp_path / "outputs").mkdir()
    monkeypatch.setenv("KATAYORI_ROOT", str(tmp_path))
    return tmp_path


@pytest.mark.slow_all
@pytest.mark.mirror
@pytest.mark.skipif(
    "KATAYORI_MIRROR" not in os.environ, reason="needs third-party data in KATAYORI_MIRROR"
)
def test_the_official_profile(root):
    """JU-9: 240 rows of 30 cases, or of the cases named."""
    shards("official", "official", ["ju_official"])
    rows, _ = reproduced(root, "official")
    accuracy = rows[rows["what"] == ACCURACY]
    assert (accuracy["n"] + accuracy["n_invalid"] == 240).all() and len(accuracy) == 2
    assert set(accuracy["source"]) == {"recorded"} and set(accuracy["dataset"]) == {"JUBAKU-v2"}
    rows, _ = reproduced(root, "official", "-p", f"case_ids={json.dumps(['0', '14', '24'])}")
    accuracy = rows[rows["what"] == ACCURACY]
    assert (accuracy["n"] + accuracy["n_invalid"] == 24).all()
