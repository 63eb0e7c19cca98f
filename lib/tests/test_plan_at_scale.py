"""The papers' designs as one plan: counted, written, run by a job, read back, asked again."""

import csv
import json
import math
import os
import shutil
import subprocess
import sys

import pandas as pd
import pytest
from conftest import NOTEBOOKS
from stub_model import Stub, probabilities, rules_of, troubled

from katayori import paths
from katayori.papers import answers, paper_ids
from katayori.papers.items import OwnItems
from katayori.prompting.models import get_model
from katayori.prompting.prompts import load_prompts
from katayori.prompting.store import store_path
from katayori_tools import asking, cli, datasets, plan as planner, planning
from katayori_tools.answer_store import Store
from katayori_tools.asking import load_rows
from katayori_tools.choices import Asking
from katayori_tools.collect import collect_sync

sys.path.insert(0, str(paths.root() / "lib" / "benchmarks"))

from at_scale import answer_all, by_chance, few_lost, results

MODELS = "m@vllm n@vllm gpt-4o"
YES = by_chance(("yes",))


@pytest.fixture
def outputs(tmp_path, monkeypatch):
    monkeypatch.setenv("KATAYORI_OUTPUTS", str(tmp_path / "out"))
    monkeypatch.setenv("KATAYORI_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("KATAYORI_LABEL", "the-server-of-these-tests")
    return tmp_path / "out" / "plan"


@pytest.fixture
def small_house(here):
    """`here` with the list of data sets, in which a plan looks for the papers' own items."""
    shutil.copy(NOTEBOOKS.parent / "data" / "catalogue.yaml", here / "data")
    return here


def plan(*words, **options):
    """`python -m katayori plan ...`; the exit code."""
    given = [part for name, value in options.items() for part in (f"--{name}", str(value))]
    return cli.main(["plan", *given, *map(str, words)])


def small(outputs, name="p", **options):
    """A plan of three models and the two questions of `house`."""
    given = {"models": MODELS, "papers": "discrim_eval", "name": name, **options}
    assert plan(**given) == 0
    return outputs / name


def lines(folder, pattern="*/*/*-0*.jsonl"):
    shards = [file for file in sorted(folder.glob(pattern)) if not file.name.startswith("results")]
    return [json.loads(raw) for file in shards for raw in file.read_text("utf-8").splitlines()]


def answer(folder, lost=lambda _: "", answerer=YES):
    """Result files for every shard that has none."""
    for shard in sorted(folder.glob("*/*/*-0*.jsonl")):
        target = shard.with_name(f"results-{shard.name}")
        if not shard.name.startswith("results") and not target.exists():
            with shard.open("rb") as asked, target.open("wb") as file:
                file.writelines(results(asked, answerer, lost))


# -- there -----------------------------------------------------------------------------------------


def test_a_plan_counts_what_it_writes(small_house, outputs, capsys):
    folder = small(outputs, shard=100, price="n@vllm=1,2", rate=5)
    told = capsys.readouterr().out
    with (folder / "plan.csv").open(encoding="utf-8") as file:
        rows = {(row["model"], row["paper"]): row for row in csv.DictReader(file)}
    requests = {key: int(row["requests"]) for key, row in rows.items()}
    asked = lines(folder)
    assert len(asked) == len({one["custom_id"] for one in asked}) == 540 + 540 + 270
    assert requests["m@vllm", "discrim_eval"] == requests["m@vllm", "all papers"] == 540
    assert requests["gpt-4o", "discrim_eval"] == 270  # it cannot be made to begin an answer
    assert "discrim_eval gpt-4o: left out: de_answer_prefix; openai cannot" in told
    assert rows["m@vllm", "discrim_eval"]["in_paper"] == "9450.0"
    assert float(rows["m@vllm", "discrim_eval"]["hours"]) == round(540 / 5 / 3600, 2)
    for name, prices in (("n@vllm", (1, 2)), ("gpt-4o", (2.5, 10))):
        row = rows[name, "discrim_eval"]
        tokens = [int(row[column]) for column in ("prompt_tokens", "answer_tokens")]
        cost = sum(a * b for a, b in zip(tokens, prices, strict=True)) / 1e6
        assert math.isclose(float(row["cost_usd"]), cost, abs_tol=0.005)
        assert float(row["cost_max_usd"]) >= float(row["cost_usd"]) and not row["note"]
    unpriced = rows["m@vllm", "all papers"]
    assert not unpriced["cost_usd"] and unpriced["note"].startswith("price unknown: give it with")
    assert "price unknown: give it with --price NAME=IN,OUT" in told
    assert "at 5 requests a second" in told and "left out everywhere: how likely" in told


def test_the_papers_own_items_are_planned_where_this_machine_has_all_of_them(monkeypatch):
    asked = []
    monkeypatch.setattr(datasets, "is_here", lambda name: asked.append(name) or False)
    assert {planner.dataset_of(paper, OwnItems()) for paper in paper_ids()} == {"study"}
    assert asked == ["discrim_eval", "jubaku_v2"]  # others' `official` is another set
    monkeypatch.setattr(datasets, "is_here", lambda name: True)
    for n, expected in ((215, "study"), (216, "official")):
        rows = pd.DataFrame({"item_id": range(n)})
        monkeypatch.setattr(planner, "read_items", lambda *_: None)
        monkeypatch.setattr(planner, "rows_to_ask", lambda _, rows=rows: rows)
        assert planner.dataset_of("jubaku_v2", OwnItems()) == expected
    assert planner.dataset_of("jubaku_v2", OwnItems(cases="mine.yaml")) == "study"


def test_tokens_are_those_of_recorded_answers_where_there_are_some():
    planning.recorded_answer.cache_clear()
    usual = planning.recorded_answer("discrim_eval", "de_answer_line")
    assert 1 < usual < 50
    assert math.isnan(planning.recorded_answer("discrim_eval", "nobody"))


def test_what_is_planned_is_what_would_be_asked_live(small_house, outputs):
    folder = small(outputs, shard=100)
    asked = Asking(papers="discrim_eval", models="m@vllm", limit=2)
    keys = [request.key for step in asking.wanted(asked) for request in step.requests]
    shards = sorted((folder / "m_vllm" / "discrim_eval").glob("*.jsonl"))
    written = [len(shard.read_text("utf-8").splitlines()) for shard in shards]
    assert written == [100, 100, 100, 100, 100, 40]
    assert [one["custom_id"] for one in lines(folder, "m_vllm/*/*.jsonl")] == keys
    listed = (folder / "m_vllm" / "shards.txt").read_text("utf-8").splitlines()
    assert listed == [f"discrim_eval/{shard.name}" for shard in shards]
    assert not (folder / "gpt-4o" / "job.sh").exists()  # a vendor runs it: make batch
    assert len((folder / "README.md").read_text("utf-8").splitlines()) == 5


def test_a_shard_has_no_more_bytes_than_services_take(small_house, outputs, monkeypatch):
    monkeypatch.setattr("katayori_tools.batch.BYTES", 50_000)
    folder = small(outputs)
    sizes = [file.stat().st_size for file in folder.glob("*/*/*.jsonl")]
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


def test_the_job_runs_a_shard_an_index_and_passes_over_finished_ones(small_house, outputs):
    folder = small(outputs, shard=200) / "m_vllm"
    shards = folder / "discrim_eval"
    assert job(folder, SLURM_ARRAY_TASK_ID="2").returncode == 0
    assert [file.name for file in shards.glob("results*")] == [
        "results-discrim_eval-m_vllm-0002.jsonl"
    ]
    (folder / "broken").touch()
    assert job(folder, SLURM_ARRAY_TASK_ID="1").returncode != 0
    assert not (shards / "results-discrim_eval-m_vllm-0001.jsonl").exists()
    (folder / "broken").unlink()
    done = job(folder, WEIGHTS="/weights/of mine")
    assert done.returncode == 0
    assert "discrim_eval/discrim_eval-m_vllm-0002.jsonl: has results" in done.stdout
    assert len(list(shards.glob("results*.jsonl"))) == 3
    assert not list(shards.glob("*.part"))
    calls = (folder / "calls").read_text("utf-8").splitlines()
    assert len(calls) == 4 and "--model /weights/of mine --served-model-name m" in calls[-1]
    assert job(folder, SLURM_ARRAY_TASK_ID="9").returncode == 2


# -- and back --------------------------------------------------------------------------------------


def test_what_failed_or_is_missing_is_counted_and_asked_again(small_house, outputs, capsys):
    folder = small(outputs)
    ids = [one["custom_id"] for one in lines(folder, "m_vllm/*/*.jsonl")]
    fates = {ids[0]: "failed", ids[1]: "failed", ids[2]: "missing"}
    for shard in (folder / "m_vllm/discrim_eval").glob("discrim*.jsonl"):
        with shard.open("rb") as asked:
            rows = list(results(asked, YES, lambda key: fates.get(key, "")))
        # The order is another, and one answer came twice.
        shard.with_name(f"results-{shard.name}").write_bytes(b"".join([*rows[::-1], rows[5]]))
    assert plan("--collect", folder) == 0
    told = capsys.readouterr().out
    assert (
        "discrim_eval m@vllm: 537 of 540 answered, 2 failed, 1 missing, 1 doubled; to ask again:"
        " discrim_eval-m_vllm-0002.jsonl" in told
    )
    assert "discrim_eval n@vllm: 0 of 540 answered, 540 not run yet\n" in told
    assert "the plan: 537 of 1,350 answered, 2 failed, 1 missing, 810 not run yet" in told
    assert "2 row(s) failed: batch: the engine was busy [500]" in told
    again = lines(folder, "m_vllm/*/*-0002.jsonl")
    assert [one["custom_id"] for one in again] == ids[:3]
    assert lines(folder, "m_vllm/*/*-0001.jsonl")[:3] == again  # to the letter
    assert (folder / "m_vllm/shards.txt").read_text("utf-8").count("\n") == 2
    # Once more without new results: nothing changes, and nothing is asked twice.
    before = {file: file.read_bytes() for file in folder.rglob("*.jsonl")}
    assert plan("--collect", folder) == 0
    assert {file: file.read_bytes() for file in folder.rglob("*.jsonl")} == before
    assert "3 not run yet" in capsys.readouterr().out
    answer(folder)
    assert plan("--collect", folder) == 0
    told = capsys.readouterr().out
    assert "the plan: 1,350 of 1,350 answered, 1 doubled\n" in told
    assert "to ask again" not in told
    answers_file = folder / "answers" / "discrim_eval.jsonl"
    rows = [json.loads(raw) for raw in answers_file.read_text("utf-8").splitlines()]
    assert len({(row["model"], row["item_id"], row["prompt_id"]) for row in rows}) == 1350
    assert f"PROFILE=imported MODELS='{MODELS}'" in told.replace("gpt-4o m@vllm n@vllm", MODELS)


def test_what_came_back_is_what_make_live_finds(small_house, outputs):
    folder = small(outputs)
    answer(folder)
    assert plan("--collect", folder) == 0
    with Store(store_path()) as store:
        for step in asking.wanted(Asking(papers="discrim_eval", models="m@vllm", limit=2)):
            assert not store.pending(step.requests)
    # A plan made now has nothing to ask, and its answers are collected all the same.
    later = small(outputs, "later")
    assert not lines(later)
    assert plan("--collect", later) == 0
    known = [(one / "answers" / "discrim_eval.jsonl").read_bytes() for one in (folder, later)]
    assert known[0] == known[1]


def test_a_file_cut_in_half_loses_only_what_it_lacks(small_house, outputs, capsys):
    folder = small(outputs)
    answer(folder)
    [cut] = folder.glob("m_vllm/*/results*.jsonl")
    raw = cut.read_bytes()
    half = raw[: len(raw) // 2 + 10]  # within a row
    cut.write_bytes(half)
    [shard] = folder.glob("n_vllm/*/discrim*.jsonl")
    shard.write_bytes(shard.read_bytes()[:5000])
    kept = half.count(b"\n")
    assert plan("--collect", folder) == 0
    told = capsys.readouterr().out
    assert "1 row(s) is not JSON; is the file cut off? (results-discrim_eval-m_vllm-0001" in told
    assert f"m@vllm: {kept} of 540 answered, {540 - kept} missing; to ask again" in told
    assert "discrim_eval-n_vllm-0001.jsonl: is not as it was written (cut off?)" in told
    assert "n@vllm: 540 of 540 answered" in told
    shard.unlink()
    assert plan("--collect", folder) == 0
    assert "discrim_eval-n_vllm-0001.jsonl: is not there" in capsys.readouterr().out


def test_results_of_another_plan_are_refused_and_wherever_ours_lie_they_are_found(
    small_house, outputs, capsys
):
    mine, other = small(outputs), small(outputs, "other", models="k@vllm")
    answer(other)
    [theirs] = other.glob("*/*/results*.jsonl")
    place = mine / "from-the-cluster"
    place.mkdir()
    (place / theirs.name).write_bytes(theirs.read_bytes())
    assert plan("--collect", mine) == 1
    told = capsys.readouterr().out
    assert "540 row(s) belongs to no request of this run" in told
    assert "the plan: 0 of 1,350 answered, 1,350 not run yet" in told
    answer(mine)
    for file in mine.glob("*/*/results*.jsonl"):
        file.rename(place / file.name)
    assert plan("--collect", mine) == 0
    assert "the plan: 1,350 of 1,350 answered" in capsys.readouterr().out


def test_what_holds_an_earlier_answer_follows_in_a_shard_of_its_own(outputs, capsys):
    """A judge's criteria come first; what is asked with them is written when they are there."""
    given = {"papers": "logprob_judge", "models": "m@vllm", "limit": 6, "name": "judge"}
    assert plan(**given) == 0
    table = pd.read_csv(outputs / "judge" / "plan.csv")
    assert table["requests"].iloc[0] == 6 + 6 * 12  # the waiting ones are counted
    answer_all(outputs / "judge", lambda _: "")
    capsys.readouterr()
    assert plan("--collect", outputs / "judge") == 0
    assert "42 of 78 answered, 36 can be asked now; to ask again" in capsys.readouterr().out
    answer_all(outputs / "judge", lambda _: "")
    assert plan("--collect", outputs / "judge") == 0
    assert "the plan: 78 of 78 answered\n" in capsys.readouterr().out


def planted(chosen):
    """Answers of the stub model of `stub_model` to what a plan asks, as the stand-in gives them."""
    rules = rules_of(chosen)

    def answerer(body):
        request = rules[json.dumps(body["messages"], ensure_ascii=False)]
        text = troubled(request, "none")
        return text, probabilities(request.paper, text)

    return answerer, rules


@pytest.mark.parametrize("paper", ["discrim_eval", "persona_jbbq", "inter_jbbq"])
def test_answers_read_back_are_those_of_the_same_model_asked(
    outputs, tmp_path, monkeypatch, paper, capsys
):
    chosen = Asking(papers=paper, models="stub@vllm", limit=2)
    answerer, rules = planted(chosen)
    assert plan(papers=paper, models="stub@vllm", limit=2, name="p") == 0
    answer(outputs / "p", answerer=answerer)
    assert plan("--collect", outputs / "p") == 0
    monkeypatch.setenv("KATAYORI_CACHE", str(tmp_path / "asked"))
    steps = list(asking.wanted(chosen))
    with Stub(rules) as stub, Store(store_path()) as store:
        for step in steps:
            model, endpoint = step.model, step.endpoint
            options = {"base_url": stub.url, "progress": False}
            collect_sync(step.requests, model, endpoint, store, **options)
    items = load_rows(paper, "study", limit=2)
    prompt_ids = list(dict.fromkeys(q.prompt_id for step in steps for q in step.requests))
    assert prompt_ids and get_model("stub@vllm")
    for prompt_id in prompt_ids:
        prompt = load_prompts(paper)[prompt_id]
        file = str(outputs / "p" / "answers" / f"{paper}.jsonl")
        back = answers.get(items, prompt, ["stub@vllm"], source="imported", answers_file=file)
        asked = answers.get(items, prompt, ["stub@vllm"], source="live")
        assert (asked["outcome"] == "ok").all()
        read = ["item_id", "outcome", "answer", "text"]
        read += [name for name in asked if str(name).startswith("p_") or name == "mass"]
        pd.testing.assert_frame_equal(back[read], asked[read])
        shares = [frame["answer"].value_counts(normalize=True) for frame in (back, asked)]
        pd.testing.assert_series_equal(*shares)


# -- what is wrong ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ([], 'a plan is of models you name: MODELS="gpt-4o my-model@vllm"'),
        (["--models", "nobody"], "unknown model 'nobody'"),
        (["--models", "m@nowhere"], "unknown endpoint 'nowhere'"),
        (["--models", "sim-fair"], "sim-fair is simulated and needs no plan"),
        (["--models", "gpt-4o gpt-4o@openai"], "gpt-4o and gpt-4o@openai are one model"),
        (["--models", "b@completions"], "batches are of chats"),
        (["--models", "m@vllm", "--rate", "0"], "--rate is requests a second, above 0, not 0"),
        (["--models", "m@vllm", "--price", "m@vllm"], "--price takes MODEL=IN,OUT in US dollars"),
        (["--models", "m@vllm", "--price", "m@vllm=1,-2"], "not 'm@vllm=1,-2'"),
        (["--models", "m@vllm", "--price", "x=1,2"], "--price names 'x'; the plan's models: m@v"),
        (["--models", "m@vllm", "--cases", "none.yaml"], "cases: there is no"),
        (["--collect", "nothing"], "nothing holds no plan; make one with MODELS="),
        (["--collect", "x", "--models", "m@vllm"], "x says what was asked; leave out"),
    ],
)
def test_what_is_wrong_is_one_line_and_writes_nothing(outputs, capsys, words, line):
    assert plan(*words) == 2
    told = capsys.readouterr().err
    assert line in told and told.count("\n") == 1
    assert not list(outputs.glob("*"))


def test_a_plan_that_is_there_stays_as_it_is(small_house, outputs, capsys):
    folder = small(outputs)
    before = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    assert plan(models="other@vllm", papers="discrim_eval", name="p") == 2
    told = capsys.readouterr().err
    assert "is a plan already; collect it with" in told and "another name with --name" in told
    assert {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()} == before
    # What a stopped one left is no plan, and is written anew.
    (outputs / "q.part" / "m_vllm" / "discrim_eval").mkdir(parents=True)
    (outputs / "q.part" / "m_vllm" / "discrim_eval" / "batch.json").touch()
    assert len(lines(small(outputs, "q"))) == 1350
    assert not (outputs / "q.part").exists()


def test_the_stand_in_loses_a_few():
    """What the benchmark counts on: five of a thousand fail, two are missing."""
    fates = [few_lost(str(number)) for number in range(20_000)]
    assert 60 < fates.count("failed") < 140 and 20 < fates.count("missing") < 60
