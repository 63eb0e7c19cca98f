"""Several models as one batch: counted, written, run by a job, read back, asked again."""

import json
import os
import subprocess
import sys

import pandas as pd
import pytest
from stub_model import Stub, probabilities, rules_of, troubled

from katayori import paths
from katayori.papers import answers
from katayori.prompting.answer_store import Store
from katayori.prompting.prompts import load_prompts
from katayori.prompting.store import store_path
from katayori_tools import asking, cli
from katayori_tools.asking import load_rows
from katayori_tools.choices import Asking
from katayori_tools.collect import collect_sync

sys.path.insert(0, str(paths.root() / "lib" / "benchmarks"))

from at_scale import answer_all, by_chance, results

MODELS = "m@vllm n@vllm gpt-4o"
YES = by_chance(("yes",))


@pytest.fixture
def outputs(tmp_path, monkeypatch):
    monkeypatch.setenv("KATAYORI_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("KATAYORI_LABEL", "the-server-of-these-tests")
    return tmp_path / "out"


def batch(*words, **options):
    """`python -m katayori batch ...`; the exit code."""
    given = [part for name, value in options.items() for part in (f"--{name}", str(value))]
    return cli.main(["batch", *given, *map(str, words)])


def small(outputs, name="p", **options):
    """A batch of three models and the two questions of `house`."""
    given = {"models": MODELS, "papers": "discrim_eval", **options}
    assert batch("export", outputs / name, **given) == 0
    return outputs / name


def lines(folder, pattern="*/0*.jsonl"):
    shards = sorted(folder.glob(pattern))
    return [json.loads(raw) for file in shards for raw in file.read_text("utf-8").splitlines()]


def answer(folder, lost=lambda _: "", answerer=YES):
    """Result files for every shard that has none."""
    for shard in sorted(folder.glob("*/0*.jsonl")):
        target = shard.with_name(f"results-{shard.name}")
        if not target.exists():
            with shard.open("rb") as asked, target.open("wb") as file:
                file.writelines(results(asked, answerer, lost))


# -- there -----------------------------------------------------------------------------------------


def test_a_batch_counts_what_it_writes_and_asks_what_is_asked_live(here, outputs, capsys):
    folder = small(outputs, shard=100)
    told = capsys.readouterr().out
    asked = lines(folder)
    assert len(asked) == len({one["custom_id"] for one in asked}) == 540 + 540 + 270
    # An endpoint that cannot be made to begin an answer is not asked for one.
    assert "discrim_eval gpt-4o: 270 to ask, 0 stored, 0 wait for an earlier answer; 3" in told
    assert "3 shard(s) (de_answer_line)\n" in told
    chosen = Asking(papers="discrim_eval", models="m@vllm", limit=2)
    keys = [request.key for _, requests in asking.wanted(chosen) for request in requests]
    shards = sorted((folder / "m@vllm").glob("*.jsonl"))
    written = [len(shard.read_text("utf-8").splitlines()) for shard in shards]
    assert written == [100, 100, 100, 100, 100, 40]
    assert [one["custom_id"] for one in lines(folder, "m@vllm/*.jsonl")] == keys
    assert not (folder / "gpt-4o" / "job.sh").exists()  # a vendor runs it


def test_a_shard_has_no_more_bytes_than_services_take(here, outputs, monkeypatch):
    monkeypatch.setattr("katayori_tools.batch.BYTES", 50_000)
    folder = small(outputs)
    sizes = [file.stat().st_size for file in folder.glob("*/*.jsonl")]
    assert max(sizes) <= 50_000 and len(sizes) > 3
    assert len({one["custom_id"] for one in lines(folder)}) == 1350


ENGINE = """#!/bin/sh
[ "$1" = run-batch ] && shift
echo "$@" >> calls
while getopts i:o: name 2>/dev/null; do
  case $name in i) in=$OPTARG;; o) out=$OPTARG;; *) break;; esac
done
[ ! -e broken ] || { echo half > "$out"; exit 1; }
cp "$in" "$out"
"""


def job(folder, **variables):
    """Runs a model's job with an engine that copies shards, or breaks where there is `broken`."""
    tools = folder / "bin"
    tools.mkdir(exist_ok=True)
    (tools / "vllm").write_text(ENGINE, encoding="utf-8")
    (tools / "vllm").chmod(0o755)
    env = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", **variables}
    return subprocess.run(["sh", "job.sh"], cwd=folder, env=env, capture_output=True, text=True)


def test_the_job_runs_a_shard_an_index_and_passes_over_finished_ones(here, outputs):
    folder = small(outputs, shard=200) / "m@vllm"
    assert job(folder, SLURM_ARRAY_TASK_ID="2").returncode == 0
    names = [file.name for file in folder.glob("results*")]
    assert names == ["results-0002-discrim_eval-m@vllm.jsonl"]
    (folder / "broken").touch()
    assert job(folder, SLURM_ARRAY_TASK_ID="1").returncode != 0
    assert not (folder / "results-0001-discrim_eval-m@vllm.jsonl").exists()
    (folder / "broken").unlink()
    assert job(folder, WEIGHTS="/weights/of mine").returncode == 0
    assert len(list(folder.glob("results*.jsonl"))) == 3
    assert not list(folder.glob("*.part"))
    calls = (folder / "calls").read_text("utf-8").splitlines()
    assert len(calls) == 4 and "--model /weights/of mine --served-model-name m" in calls[-1]


# -- and back --------------------------------------------------------------------------------------


def test_what_failed_or_is_missing_is_counted_and_asked_again(here, outputs, capsys):
    folder = small(outputs, shard=270)
    ids = [one["custom_id"] for one in lines(folder, "m@vllm/*.jsonl")]
    fates = {ids[0]: "failed", ids[1]: "failed", ids[2]: "missing"}
    first, second = sorted((folder / "m@vllm").glob("0*.jsonl"))
    for shard in (second, first):
        capsys.readouterr()
        assert batch("import", folder) == 0
        # Nothing is asked again while the job may still be running.
        assert f"without results: {first.name}" in capsys.readouterr().out
        with shard.open("rb") as asked:
            rows = list(results(asked, YES, lambda key: fates.get(key, "")))
        # The order is another, and one answer came twice.
        shard.with_name(f"results-{shard.name}").write_bytes(b"".join([*rows[::-1], rows[5]]))
    assert batch("import", folder) == 0
    told = capsys.readouterr().out
    assert (
        "discrim_eval m@vllm: 272 already stored, 2 failed, 267 ok; 3 of 540 requests still to ask,"
        " now in 0003-discrim_eval-m@vllm.jsonl\n" in told
    )
    assert "discrim_eval n@vllm: no row; 540 of 540 requests still to ask; without results" in told
    assert "537 of 1,350 answered" in told
    assert "2 row(s) failed: batch: the engine was busy [500]" in told
    again = lines(folder, "m@vllm/0003*.jsonl")
    assert [one["custom_id"] for one in again] == ids[:3]
    assert lines(folder, "m@vllm/0001*.jsonl")[:3] == again  # to the letter
    # Once more without new results: nothing changes, and nothing is asked twice.
    before = {file: file.read_bytes() for file in folder.rglob("*.jsonl")}
    assert batch("import", folder) == 0
    assert {file: file.read_bytes() for file in folder.rglob("*.jsonl")} == before
    answer(folder)
    capsys.readouterr()
    assert batch("import", folder) == 0
    told = capsys.readouterr().out
    assert "1,350 of 1,350 answered\n" in told
    assert "now in" not in told


def test_results_of_another_batch_are_refused_and_wherever_ours_lie_they_are_found(
    here, outputs, capsys
):
    mine, other = small(outputs), small(outputs, "other", models="k@vllm")
    answer(other)
    place = mine / "from-the-cluster"
    place.mkdir()
    for theirs in other.glob("*/results*.jsonl"):
        (place / theirs.name).write_bytes(theirs.read_bytes())
    assert batch("import", mine) == 1
    told = capsys.readouterr().out
    assert "540 row(s) belongs to no request of this run" in told
    assert "0 of 1,350 answered" in told
    answer(mine)
    for file in mine.glob("*/results*.jsonl"):
        if file.parent != place:
            file.rename(place / file.name)
    assert batch("import", mine) == 0
    assert "1,350 of 1,350 answered" in capsys.readouterr().out


def test_what_holds_an_earlier_answer_follows_in_a_shard_of_its_own(outputs, capsys):
    """A judge's criteria come first; what is asked with them is written when they are there."""
    small(outputs, "judge", papers="logprob_judge", models="m@vllm", limit=6)
    answer_all(outputs / "judge", lambda _: "")
    capsys.readouterr()
    assert batch("import", outputs / "judge") == 0
    assert "42 of 78 answered" in capsys.readouterr().out
    answer_all(outputs / "judge", lambda _: "")
    assert batch("import", outputs / "judge") == 0
    assert "78 of 78 answered\n" in capsys.readouterr().out


def planted(chosen):
    """Answers of the stub model of `stub_model` to a batch, as the stand-in gives them."""
    rules = rules_of(chosen)

    def answerer(body):
        request = rules[json.dumps(body["messages"], ensure_ascii=False)]
        text = troubled(request, "none")
        return text, probabilities(request.paper, text)

    return answerer, rules


@pytest.mark.parametrize("paper", ["discrim_eval", "persona_jbbq", "inter_jbbq"])
def test_answers_read_back_are_those_of_the_same_model_asked(outputs, tmp_path, monkeypatch, paper):
    chosen = Asking(papers=paper, models="stub@vllm", limit=2)
    answerer, rules = planted(chosen)
    small(outputs, papers=paper, models="stub@vllm", limit=2)
    answer(outputs / "p", answerer=answerer)
    assert batch("import", outputs / "p") == 0
    items, steps = load_rows(paper, "study", limit=2), list(asking.wanted(chosen))
    prompt_ids = list(dict.fromkeys(q.prompt_id for _, requests in steps for q in requests))

    def read():
        wording = load_prompts(paper)
        return [answers.get(items, wording[p], ["stub@vllm"], source="live") for p in prompt_ids]

    back = read()
    monkeypatch.setenv("KATAYORI_CACHE", str(tmp_path / "asked"))
    with Stub(rules) as stub, Store(store_path()) as store:
        for step, requests in steps:
            options = {"base_url": stub.url, "progress": False}
            collect_sync(requests, step.model, step.endpoint, store, **options)
    for ours, asked in zip(back, read(), strict=True):
        assert (asked["outcome"] == "ok").all()
        columns = ["item_id", "outcome", "answer", "text"]
        columns += [name for name in asked if str(name).startswith("p_") or name == "mass"]
        pd.testing.assert_frame_equal(ours[columns], asked[columns])


# -- what is wrong ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["export"], 'a batch is of models you name: MODELS="gpt-4o my-model@vllm"'),
        (["export", "--models", "nobody"], "unknown model 'nobody'"),
        (["export", "--models", "m@nowhere"], "unknown endpoint 'nowhere'"),
        (["export", "--models", "sim-fair"], "sim-fair is simulated and asks nobody"),
        (["export", "--models", "gpt-4o gpt-4o@openai"], "gpt-4o and gpt-4o@openai are one model"),
        (["export", "--models", "b@completions"], "batches are of chats"),
        (["export", "--models", "m@vllm", "--cases", "none.yaml"], "cases: there is no"),
        (["import"], "begin with `batch export`"),
        (["import", "--models", "m@vllm"], "says what was asked; leave out MODELS="),
    ],
)
def test_what_is_wrong_is_one_line_and_writes_nothing(outputs, capsys, words, line):
    assert batch(*words, outputs) == 2
    told = capsys.readouterr().err
    assert line in told and told.count("\n") == 1
    assert not outputs.exists()


def test_a_batch_that_is_there_stays_as_it_is(here, outputs, capsys):
    folder = small(outputs)
    before = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    assert batch("export", folder, models="other@vllm", papers="discrim_eval") == 2
    assert "exists; import its results, or name a new folder" in capsys.readouterr().err
    assert {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()} == before
