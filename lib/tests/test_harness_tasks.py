"""`make harness`: tasks of two other harnesses ask what we ask, and find what we find."""

import ast
import json
import math
import os
import subprocess
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import harness_model
import pandas as pd
import pytest
import yaml
from recorded_examples import is_complete

from katayori import paths, profiles
from katayori.errors import KatayoriError
from katayori.papers import get_paper, paper_ids
from katayori.prompting.exchange import import_answers
from katayori.prompting.models import get_model
from katayori.prompting.prompts import load_prompts
from katayori.prompting.recordings import by_request, shards, to_response
from katayori.prompting.requests import Response
from katayori_tools import cli, harness
from katayori_tools.asking import Scope, importable, requests_of
from katayori_tools.harness import BENCHMARKS, read, samples as rows_of, scores_of

PAPERS = sorted(paper_ids())
HOSTILE = [
    "../../etc/passwd",
    "a\nb",
    '"quoted" {{ cycler }} {% raw %}',
    "'; import os; '",
    "!function utils.x",
    "\ud800 alone",
    "\u202e反転 #: - [",
    "",
]


@lru_cache
def few(paper: str) -> list:
    """The requests of a few clusters of a paper."""
    return harness.asked(paper, limit=6 if paper == "logprob_judge" else 2)


class Function:
    """What stands after `!function` in a YAML."""

    def __init__(self, name: str) -> None:
        self.name = name


class Loader(yaml.SafeLoader):
    pass


Loader.add_constructor("!function", lambda loader, node: Function(loader.construct_scalar(node)))


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tasks") / "harness"
    for paper in PAPERS:
        harness.write(folder, paper, few(paper))
    return folder


def answers_to(paper, rows) -> dict:
    """The answers of the model that tries the tasks."""
    texts = [harness_model.reply(paper, row["system"] + row["prompt"]) for row in rows]
    return {n: read(paper, Response("ok", text, "stop"))[1] for n, text in enumerate(texts)}


def same(one: dict, other: dict) -> bool:
    return one == pytest.approx(other, rel=0, abs=1e-12, nan_ok=True)


# -- what is written -------------------------------------------------------------------------------


@pytest.mark.parametrize("paper", PAPERS)
def test_a_sample_holds_the_very_messages_and_settings_of_our_request(written, paper):
    requests = few(paper)
    rows = rows_of(written, paper)
    assert [row["row"] for row in rows] == list(range(len(requests)))
    for row, request in zip(rows, requests, strict=True):
        turns = [("system", row["system"])] * bool(row["system"]) + [("user", row["prompt"])]
        messages = [{"role": role, "content": content} for role, content in turns]
        assert {"messages": messages, **row["settings"]} == request.body
        assert (row["item_id"], row["prompt_id"]) == (request.item_id, request.prompt_id)
        gold = get_paper(paper).gold_column
        assert row["target"] == (str(request.fields[gold]) if gold else "")
    assert {row["prompt_id"] for row in rows} == set(BENCHMARKS[paper].prompts())


@pytest.mark.parametrize("paper", PAPERS)
def test_the_files_of_both_harnesses_name_one_task_and_functions_that_are_there(written, paper):
    tree = ast.parse((written / "inspect" / f"{paper}.py").read_text("utf-8"))
    [function] = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    assert function.name == paper and [d.id for d in function.decorator_list] == ["task"]
    folder = written / "lm_eval"
    task = yaml.load((folder / f"{paper}.yaml").read_text("utf-8"), Loader)
    module = {"__file__": str(folder / f"utils_{paper}.py")}
    exec(compile((folder / f"utils_{paper}.py").read_text("utf-8"), "utils", "exec"), module)
    assert task["task"] == f"katayori_{paper}" and task["output_type"] == "generate_until"
    named = [task["custom_dataset"], task["process_results"]]
    named += [metric["aggregation"] for metric in task["metric_list"]]
    for function in named:
        start, _, name = function.name.partition(".")
        assert start == f"utils_{paper}" and callable(module[name])
    asked = [metric["metric"] for metric in task["metric_list"]]
    assert asked == BENCHMARKS[paper].names() and all(name.isidentifier() for name in asked)
    settings = few(paper)[0].body
    assert task["generation_kwargs"]["max_gen_toks"] == settings["max_tokens"]
    assert task["generation_kwargs"]["temperature"] == settings.get("temperature", 1)
    assert "logprobs" not in task["generation_kwargs"]


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_ids_and_texts_stay_data(tmp_path, hostile):
    [first, second, *_] = few("discrim_eval")
    body = first.body | {"messages": [{"role": "user", "content": f"x{hostile}"}]}
    odd = replace(first, item_id=hostile, body=body)
    harness.write(tmp_path / "new", "discrim_eval", [odd, second])
    code = (tmp_path / "new" / "inspect" / "discrim_eval.py").read_text("utf-8")
    task = (tmp_path / "new" / "lm_eval" / "discrim_eval.yaml").read_text("utf-8")
    if hostile:
        assert hostile not in code and f"{hostile}\n" not in task
    [row, _] = rows_of(tmp_path / "new", "discrim_eval")
    assert row["item_id"] == hostile and row["prompt"] == f"x{hostile}"
    assert {file.relative_to(tmp_path).parts[0] for file in tmp_path.rglob("*")} == {"new"}


def test_requests_that_a_harness_cannot_ask_are_refused(tmp_path):
    [first, second, *_] = few("discrim_eval")
    turns = [*first.body["messages"], {"role": "assistant", "content": "Answer:"}]
    with pytest.raises(KatayoriError, match="a conversation of user, assistant is not one of"):
        forced = replace(first, body=first.body | {"messages": turns})
        harness.write(tmp_path / "a", "discrim_eval", [forced])
    with pytest.raises(KatayoriError, match="has one set of settings, its requests have several"):
        longer = replace(second, body=second.body | {"max_tokens": 1})
        harness.write(tmp_path / "b", "discrim_eval", [first, longer])


def test_the_command_writes_in_place_of_older_tasks(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("KATAYORI_OUTPUTS", str(tmp_path))
    for _ in range(2):
        assert cli.main(["harness", "--papers", "04"]) == 0
    assert "288 samples of 1 papers written" in capsys.readouterr().out
    made = {file.name for file in (tmp_path / "harness").iterdir()}
    assert made == {"inspect", "lm_eval", "samples"}
    assert cli.main(["harness", "--papers", "04", "--limit", "0"]) == 2


# -- what is scored --------------------------------------------------------------------------------


@pytest.mark.parametrize("paper", PAPERS)
def test_a_task_scores_as_we_do_though_samples_end_in_any_order(written, paper):
    rows = rows_of(written, paper)
    answers = answers_to(paper, rows)
    ours = scores_of(paper, rows, answers)
    assert same(ours, scores_of(paper, rows, dict(reversed(answers.items()))))
    assert any(0 < abs(value) < 1 for value in ours.values()), "a score that says nothing"


#: The smaller model follows a position, so that its scores are undefined.
READS = dict.fromkeys(("persona_jbbq", "inter_jbbq"), "qwen2.5-coder-1.5b")
#: A harness asks each item once; the headlines of notebook 02 are scores over six orders.
ONE_ORDER = {"reading": "letters, one order"}
BASIC = ONE_ORDER | {"measure": "diff_amb", "prompt": "basicP"}
OVERALL = {"topic": "overall", "contexts": "ambiguous", "prompt": "basic"}
#: Paper -> score of the task -> what and cell of the headline.
HEADLINES = {
    "discrim_eval": {"alpha_race": ("Krippendorff's alpha, sampled", {"factor": "race"})},
    "persona_jbbq": {"pj_basic_ja_diff_amb": ("score by content (addition)", BASIC)},
    "inter_jbbq": {"ij_basic_ja_acc_amb": ("accuracy by topic, invalid counted as wrong", OVERALL)},
    "jubaku_v2": {
        "accuracy": ("accuracy on the neutral option", {}),
        "variation_rate": ("response variation rate", {}),
    },
    "logprob_judge": {
        "robustness": ("robustness", {"prompt": "verdict", "task": "all"}),
        "concordance_BS2": ("concordance", {"prompt": "verdict", "method": "BS2"}),
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("paper", PAPERS)
def test_scores_are_the_headlines_of_the_notebooks(paper, tmp_path):
    """Of recorded answers: value and interval of data/expected."""
    expected = pd.read_csv(paths.data_dir() / "expected" / paper / "results.csv")
    if paper != "persona_jbbq":
        expected = expected[expected["headline"]]
    prompts = BENCHMARKS[paper].prompts()
    variants = {p: get_paper(paper).variant_of("study", p) for p in prompts}
    listed = shards(paper, prompts[0], variants[prompts[0]])
    model = READS.get(paper) or next(one["model"] for one in listed if is_complete(one))
    wanted = expected[expected["model"] == model]
    scope = Scope(limit=profiles.MOST)
    of_model = requests_of(paper, *get_model(model), list(prompts), scope)
    recorded = {p: by_request(paper, model, p, variants[p]) for p in prompts}
    asked = [q for q in of_model if (q.item_id, 0) in recorded[q.prompt_id]]
    # Seeds of recordings differ from item to item, which no task can ask.
    harness.write(tmp_path, paper, [replace(q, body=q.body | {"seed": 0}) for q in asked])
    responses = [to_response(recorded[q.prompt_id][q.item_id, 0]) for q in asked]
    answers = {n: read(paper, response)[1] for n, response in enumerate(responses)}
    scores = scores_of(paper, rows_of(tmp_path, paper), answers)
    for name, (what, cell) in HEADLINES[paper].items():
        fits = wanted["cell"].map(lambda one, cell=cell: cell.items() <= json.loads(one).items())
        [row] = wanted[(wanted["what"] == what) & fits].to_dict("records")
        for end, column in (("", "value"), ("_low", "ci_low"), ("_high", "ci_high")):
            theirs = pytest.approx(row[column], rel=1e-8, abs=1e-9, nan_ok=True)
            assert scores[name + end] == theirs, name + end


def test_who_follows_a_position_has_no_score_of_bias(written):
    rows = rows_of(written, "jubaku_v2")
    of_letter = scores_of("jubaku_v2", rows, dict.fromkeys(range(len(rows)), "A"))
    assert math.isnan(of_letter["accuracy"]) and of_letter["variation_rate"] == 1
    rows = rows_of(written, "persona_jbbq")
    scores = scores_of("persona_jbbq", rows, dict.fromkeys(range(len(rows)), "1"))
    starts = [f"{prompt}_" for prompt in BENCHMARKS["persona_jbbq"].prompts()]
    of_bias = [f"{start}{name}" for start in starts for name in ("diff_amb", "acc_dis_low")]
    assert all(math.isnan(scores[name]) for name in of_bias)
    assert all(scores[f"{start}invalid"] == 0 < scores[f"{start}n"] for start in starts)


def test_what_cannot_be_read_is_wrong_in_05_and_counted_everywhere(tmp_path):
    harness.write(tmp_path, "inter_jbbq", harness.asked("inter_jbbq", limit=8))
    rows = rows_of(tmp_path, "inter_jbbq")
    right = {n: str(row["columns"]["label"]) for n, row in enumerate(rows)}
    prompt = rows[0]["prompt_id"]
    clear = [
        n
        for n, row in enumerate(rows)
        if row["prompt_id"] == prompt and row["columns"]["context_condition"] != "ambiguous"
    ]
    scores = scores_of("inter_jbbq", rows, right | dict.fromkeys(clear[:7]))
    assert scores[f"{prompt}_invalid"] == 7
    assert scores[f"{prompt}_acc_dis"] == pytest.approx(1 - 7 / len(clear))


def test_every_paper_has_a_benchmark_whose_prompts_can_be_read_from_a_log():
    assert set(BENCHMARKS) == set(PAPERS)
    for paper, benchmark in BENCHMARKS.items():
        assert set(benchmark.prompts()) <= set(importable(paper, Scope(), load_prompts(paper)))


# -- in both harnesses -----------------------------------------------------------------------------


@pytest.mark.slow_all
def test_both_harnesses_find_our_scores(tmp_path, monkeypatch, capsys, harnesses):
    """By their own code, with a model of ours; also of the log, after `make convert`."""
    monkeypatch.setenv("KATAYORI_OUTPUTS", str(tmp_path))
    papers = ["jubaku_v2", "logprob_judge", "persona_jbbq"]
    assert cli.main(["harness", "--papers", ",".join(papers), "--limit", "4"]) == 0
    folder = tmp_path / "harness"
    # With a home of its own, told to stay offline; the library comes from this checkout.
    own = {"PYTHONPATH": str(paths.root() / "lib"), "KATAYORI_ROOT": str(paths.root())}
    own |= {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    script = Path(__file__).with_name("harness_model.py")
    done = subprocess.run(
        [harnesses / "python", script, folder, *papers],
        env=harness_model.OFFLINE | own,
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    table = pd.DataFrame(
        json.loads(done.stdout.splitlines()[-1]), columns=["by", "paper", "score", "value"]
    )
    assert set(table["by"]) == {"inspect_ai", "lm_eval"} and set(table["paper"]) == set(papers)
    for (_, paper), theirs in table.groupby(["by", "paper"]):
        rows = rows_of(folder, paper)
        ours = scores_of(paper, rows, answers_to(paper, rows))
        assert same(ours, theirs.set_index("score")["value"].to_dict())
    [log] = (folder / "logs").glob("*persona*.eval")
    answers = tmp_path / "answers.jsonl"
    words = ["--papers", "02", "--models", "my-model@custom", str(log), str(answers)]
    assert cli.main(["convert", *words]) == 0
    assert "0 rows refused" in capsys.readouterr().out
    requests = harness.asked("persona_jbbq", limit=4)
    came = [read("persona_jbbq", one)[1] for one in import_answers(answers, requests)]
    rows = rows_of(folder, "persona_jbbq")
    ours = scores_of("persona_jbbq", rows, dict(enumerate(came)))
    of_log = table[(table["paper"] == "persona_jbbq") & (table["by"] == "inspect_ai")]
    assert same(ours, of_log.set_index("score")["value"].to_dict())
