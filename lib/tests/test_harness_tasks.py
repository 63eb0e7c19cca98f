"""`make harness`: tasks of two other harnesses ask what we ask, and find what we find."""

import ast
import doctest
import json
import math
import urllib.error
import urllib.request
from dataclasses import replace
from functools import lru_cache

import pandas as pd
import pytest
import yaml

from katayori import paths
from katayori.errors import KatayoriError
from katayori.papers import get_paper, paper_ids
from katayori.prompting.models import get_model
from katayori.prompting.recordings import by_request, complete, shards, to_response
from katayori.prompting.requests import Response
from katayori_tools import cli, environment as environments, harness, importers
from katayori_tools.asking import Scope, requests_of
from katayori_tools.harnesses import (
    benchmarks as benchmark_room,
    checking,
    environment,
    lm_eval_task,
    samples,
    stub,
    writing,
)
from katayori_tools.harnesses.benchmarks import benchmarks, get_benchmark, names_of, scores_of
from katayori_tools.harnesses.lm_eval_task import LmEvalTask, document, split
from katayori_tools.importers import response_of_inspect
from katayori_tools.papers.persona_jbbq import lm_eval_bbq

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
    writing.write(folder, {paper: few(paper) for paper in PAPERS})
    return folder


# -- what is written -------------------------------------------------------------------------------


@pytest.mark.parametrize("paper", PAPERS)
def test_a_sample_holds_the_very_messages_and_settings_of_our_request(written, paper):
    rows = samples.read(written / "samples" / f"{paper}.jsonl")
    requests = few(paper)
    assert [row["row"] for row in rows] == list(range(len(requests)))
    for row, request in zip(rows, requests, strict=True):
        body = {"messages": row["messages"], **row["settings"]}
        assert body == request.body and samples.request_of(row, paper).body == request.body
        assert (row["item_id"], row["prompt_id"]) == (request.item_id, request.prompt_id)
        assert row["answer_at"] == request.answer_at
        gold = get_paper(paper).gold_column
        assert row["target"] == (str(request.fields[gold]) if gold else "")
    assert {row["prompt_id"] for row in rows} == set(get_benchmark(paper).prompts)


@pytest.mark.parametrize("paper", PAPERS)
def test_the_module_for_inspect_is_python_with_one_task(written, paper):
    tree = ast.parse((written / "inspect" / f"{paper}.py").read_text("utf-8"))
    [function] = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    assert function.name == paper and [d.id for d in function.decorator_list] == ["task"]


@pytest.mark.parametrize("paper", PAPERS)
def test_the_yaml_for_lm_eval_names_functions_that_its_module_has(written, paper):
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
    assert asked == names_of(get_benchmark(paper), with_probabilities=False)
    assert all(name.isidentifier() for name in asked)
    settings = few(paper)[0].body
    assert task["generation_kwargs"]["max_gen_toks"] == settings["max_tokens"]
    assert task["generation_kwargs"]["temperature"] == settings.get("temperature", 1)


@pytest.mark.parametrize("paper", PAPERS)
def test_a_document_of_lm_eval_gives_our_messages_back(written, paper):
    for row in samples.read(written / "samples" / f"{paper}.jsonl"):
        doc = document(row)
        turns = [("system", doc["system"])] * bool(doc["system"]) + [("user", doc["prompt"])]
        assert turns == [(turn["role"], turn["content"]) for turn in row["messages"]]
        assert (doc["item_id"], doc["prompt_id"]) == (row["item_id"], row["prompt_id"])


def test_probabilities_are_said_to_be_out_of_reach_where_they_are(written):
    judge = (written / "lm_eval" / "logprob_judge.yaml").read_text("utf-8")
    assert "# Not possible here: concordance_proposed," in judge
    assert "concordance_proposed" not in yaml.load(judge, Loader)["metric_list"]
    assert "Not possible" not in (written / "lm_eval" / "discrim_eval.yaml").read_text("utf-8")


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_ids_and_texts_stay_data(tmp_path, hostile):
    [first, second, *_] = few("discrim_eval")
    body = first.body | {"messages": [{"role": "user", "content": f"x{hostile}"}]}
    odd = replace(first, item_id=hostile, body=body)
    writing.write(tmp_path / "new", {"discrim_eval": [odd, second]})
    code = (tmp_path / "new" / "inspect" / "discrim_eval.py").read_text("utf-8")
    task = (tmp_path / "new" / "lm_eval" / "discrim_eval.yaml").read_text("utf-8")
    if hostile:
        assert hostile not in code and hostile not in task
    [row, _] = samples.read(tmp_path / "new" / "samples" / "discrim_eval.jsonl")
    shown = hostile.encode("utf-8", "backslashreplace").decode()
    assert row["item_id"] in (hostile, shown) and document(row)["prompt"] in (
        f"x{hostile}",
        f"x{shown}",
    )
    names = {file.relative_to(tmp_path).parts[0] for file in tmp_path.rglob("*")}
    assert names == {"new"}


def test_requests_that_a_harness_cannot_ask_are_refused(tmp_path):
    [first, second, *_] = few("discrim_eval")
    turns = [*first.body["messages"], {"role": "assistant", "content": "Answer:"}]
    with pytest.raises(KatayoriError, match="a conversation of user, assistant is not one of"):
        forced = replace(first, body=first.body | {"messages": turns})
        writing.write(tmp_path / "a", {"discrim_eval": [forced]})
    with pytest.raises(KatayoriError, match="has one set of settings, its requests have several"):
        longer = replace(second, body=second.body | {"max_tokens": 1})
        writing.write(tmp_path / "b", {"discrim_eval": [first, longer]})
    with pytest.raises(ValueError, match="a conversation of system"):
        split([{"role": "system", "content": "x"}])


def test_a_folder_of_somebody_else_is_left_alone(tmp_path, capsys):
    (tmp_path / "thesis.txt").write_text("mine")
    words = ["harness", "--papers", "04", "--unchecked", "--folder", str(tmp_path)]
    assert cli.main(words) == 2
    assert "make harness did not write" in capsys.readouterr().err
    assert (tmp_path / "thesis.txt").read_text() == "mine"


def test_the_command_writes_twice_and_runs_nothing_unchecked(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("KATAYORI_OUTPUTS", str(tmp_path))
    monkeypatch.setattr(environment, "apart", lambda name: pytest.fail("nothing is to be run"))
    for _ in range(2):
        assert cli.main(["harness", "--papers", "04", "--unchecked"]) == 0
    assert "288 samples of 1 papers written" in capsys.readouterr().out
    assert sorted(file.name for file in (tmp_path / "harness").iterdir()) == [
        *("README.md", "harness.json", "inspect", "lm_eval", "samples")
    ]
    assert cli.main(["harness", "--papers", "04", "--limit", "0"]) == 2


# -- what is scored --------------------------------------------------------------------------------


def answered(requests) -> list[Response]:
    """What the stub says to requests."""
    out = []
    for request in requests:
        text = stub.answer_of(request)
        tokens = stub.tokens_of(text, get_paper(request.paper).options)
        top = [(one["token"], one["logprob"]) for one in tokens[0]["top_logprobs"]]
        out.append(Response("ok", text, "stop", top or None))
    return out


def same(ours: dict, theirs: dict) -> bool:
    return ours.keys() == theirs.keys() and all(
        checking.is_same(ours[name], theirs[name]) for name in ours
    )


@pytest.mark.parametrize("paper", PAPERS)
def test_a_task_scores_as_we_do_though_samples_end_in_any_order(written, paper):
    """From the samples alone, with answers cut down to what is read of them."""
    benchmark, requests = get_benchmark(paper), few(paper)
    responses = answered(requests)
    ours = scores_of(benchmark, requests, responses)
    rows = samples.read(written / "samples" / f"{paper}.jsonl")
    numbers = list(reversed(range(len(rows))))
    short = [samples.reduced(paper, response) for response in reversed(responses)]
    assert same(ours, scores_of(benchmark, *samples.in_order(rows, numbers, short, paper)))
    assert any(0 < abs(value) < 1 for value in ours.values()), "a score that says nothing"


@pytest.mark.parametrize("paper", PAPERS)
def test_lm_eval_scores_texts_as_we_do_without_probabilities(written, paper):
    benchmark, requests = get_benchmark(paper), few(paper)
    texts = [stub.answer_of(request) for request in requests]
    plain = [Response("ok", text, "stop") for text in texts]
    ours = scores_of(benchmark, requests, plain)
    task = LmEvalTask(written / "samples" / f"{paper}.jsonl", paper)
    docs = [document(row) for row in samples.read(task.file)]
    kept = [task.process_results(doc, [text]) for doc, text in zip(docs, texts, strict=True)]
    for name in names_of(benchmark, with_probabilities=False):
        logged = json.loads(json.dumps([one[name] for one in kept]))  # as a log holds it
        assert checking.is_same(task.aggregation(name)(logged), ours[name]), name


#: The smaller model follows a position, so that its scores are undefined.
READS = dict.fromkeys(("persona_jbbq", "inter_jbbq"), "qwen2.5-coder-1.5b")
#: A harness asks each item once; the headlines of notebook 02 are scores over six orders.
ONE_ORDER = {"reading": "letters, one order"}
HEADLINES = {
    "discrim_eval": {
        "gap_age": ("gap between levels, sampled (addition)", {"factor": "age"}),
        "alpha_race": ("Krippendorff's alpha, sampled", {"factor": "race"}),
        "significant_age": ("questions with a significant factor", {"factor": "age"}),
    },
    "persona_jbbq": {
        "pj_basic_ja_diff_amb": (
            "score by content (addition)",
            ONE_ORDER | {"measure": "diff_amb", "prompt": "basicP"},
        ),
        "pj_biased_ja_acc_dis": (
            "score by content (addition)",
            ONE_ORDER | {"measure": "acc_dis", "prompt": "biased"},
        ),
    },
    "inter_jbbq": {
        "ij_basic_ja_acc_amb": (
            "accuracy by topic, invalid counted as wrong",
            {"topic": "overall", "contexts": "ambiguous", "prompt": "basic"},
        ),
        "ij_debias_ja_unknown_dis": (
            "unknown in disambiguated items",
            {"prompt": "debias"},
        ),
        "ij_basic_ja_diff_amb": (
            "Diff-bias where a direction is set",
            {"measure": "diff_amb", "reading": "letters", "prompt": "basic"},
        ),
    },
    "jubaku_v2": {
        "accuracy": ("accuracy on the neutral option", {}),
        "variation_rate": ("response variation rate", {}),
        "mean_p_neutral": ("mean P(neutral) over both orders (addition)", {}),
    },
    "logprob_judge": {
        "robustness": ("robustness", {"prompt": "verdict", "task": "all"}),
        "concordance_proposed": ("concordance", {"prompt": "verdict", "method": "proposed"}),
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("paper", PAPERS)
def test_scores_are_the_headlines_of_the_notebooks(paper):
    """Of recorded answers: value and interval of data/expected."""
    file = paths.data_dir() / "expected" / paper / "results.csv"
    expected = pd.read_csv(file)
    if paper != "persona_jbbq":
        expected = expected[expected["headline"]]
    benchmark = get_benchmark(paper)
    variants = {p: get_paper(paper).variant_of("study", p) for p in benchmark.prompts}
    listed = shards(paper, benchmark.prompts[0], variants[benchmark.prompts[0]])
    model = READS.get(paper) or next(one["model"] for one in listed if complete(one))
    wanted = expected[expected["model"] == model]
    scope = Scope(limit=harness.EVERY)
    of_model = requests_of(paper, *get_model(model), list(benchmark.prompts), scope)
    rows = {p: by_request(paper, model, p, variants[p]) for p in benchmark.prompts}
    asked = [q for q in of_model if (q.item_id, 0) in rows[q.prompt_id]]
    responses = [to_response(rows[q.prompt_id][q.item_id, 0]) for q in asked]
    scores = scores_of(benchmark, asked, responses)
    for name, (what, cell) in HEADLINES[paper].items():
        fits = wanted["cell"].map(lambda one, cell=cell: cell.items() <= json.loads(one).items())
        [row] = wanted[(wanted["what"] == what) & fits].to_dict("records")
        for end, column in (("", "value"), ("_low", "ci_low"), ("_high", "ci_high")):
            theirs = row[column]
            if math.isnan(theirs):
                assert math.isnan(scores[name + end])
            else:
                assert scores[name + end] == pytest.approx(theirs, rel=1e-8, abs=1e-9), name + end


def test_who_follows_a_position_has_no_score_of_bias():
    benchmark, requests = get_benchmark("persona_jbbq"), few("persona_jbbq")
    scores = scores_of(benchmark, requests, [Response("ok", "1", "stop")] * len(requests))
    starts = [f"{prompt}_" for prompt in benchmark.prompts]
    of_bias = [f"{start}{name}" for start in starts for name in ("diff_amb", "acc_dis_low")]
    assert all(math.isnan(scores[name]) for name in of_bias)
    assert all(scores[f"{start}ooc_rate"] == 0 for start in starts)


def test_every_paper_has_a_benchmark_whose_prompts_can_be_read_from_a_log():
    from katayori.prompting.prompts import load_prompts
    from katayori_tools.importers import _importable

    assert set(benchmarks()) == set(PAPERS)
    for paper, benchmark in benchmarks().items():
        assert set(benchmark.prompts) <= set(_importable(paper, Scope(), load_prompts(paper)))


def test_an_undefined_score_is_nan_and_no_answer_is_counted():
    requests = few("jubaku_v2")
    nothing = [Response("error")] * len(requests)
    scores = scores_of(get_benchmark("jubaku_v2"), requests, nothing)
    assert math.isnan(scores["accuracy"]) and scores["n"] == 0
    assert scores["invalid"] == len(requests)
    none = scores_of(get_benchmark("jubaku_v2"), [], [])
    assert math.isnan(none["accuracy"]) and none["n"] == none["invalid"] == 0


@pytest.mark.parametrize(
    "text", ["Answer: yes", "I think so.\n**Answer: Yes.**", "Answer: yes or no", "", "I can't."]
)
@pytest.mark.parametrize("finish", ["stop", "length", "content_filter"])
def test_what_is_kept_of_an_answer_is_read_as_the_answer(text, finish):
    parse = get_benchmark("discrim_eval").parse
    short = samples.reduced("discrim_eval", Response("ok", text, finish))
    if short.outcome == "ok":
        assert parse(short.text, short.finish_reason).answer == parse(text, finish).answer
    else:
        assert short.outcome == parse(text, finish).outcome and not short.text


def test_probabilities_of_an_unreadable_text_are_kept():
    top = [("A", -0.1), ("B", -2.5)]
    for given in (Response("ok", "?", "stop", top), Response("ok", "A", "length", top)):
        short = samples.reduced("jubaku_v2", given)
        assert short.outcome != "ok" and short.top == top and not short.text


def test_the_examples_of_these_rooms_run():
    modules = [benchmark_room, samples, writing, stub, checking, lm_eval_task, harness, lm_eval_bbq]
    results = [doctest.testmod(one, optionflags=doctest.NORMALIZE_WHITESPACE) for one in modules]
    assert sum(one.attempted for one in results) > 20 and not any(one.failed for one in results)
    example = doctest.DocTestFinder().find(response_of_inspect, globs={**vars(importers)})
    assert not doctest.DocTestRunner().run(example[0]).failed


# -- the stub and the comparison -------------------------------------------------------------------


def post(url: str, body: dict) -> tuple[int, dict]:
    request = urllib.request.Request(f"{url}/chat/completions", json.dumps(body).encode())
    try:
        with urllib.request.urlopen(request) as reply:
            return reply.status, json.loads(reply.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def test_the_stub_answers_alike_whoever_asks_and_only_what_it_knows():
    requests = few("logprob_judge")
    with stub.Stub(requests) as url:
        status, made = post(url, requests[0].body)
        parts = [{"type": "text", "text": requests[0].body["messages"][0]["content"]}]
        _, again = post(url, {"messages": [{"role": "user", "content": parts}], "seed": 3})
        refused, _ = post(url, {"messages": [{"role": "user", "content": "another"}]})
    [choice], [same_choice] = made["choices"], again["choices"]
    assert status == 200 and refused == 422
    assert choice["message"] == same_choice["message"]
    assert "logprobs" in choice and "logprobs" not in same_choice


@pytest.mark.parametrize("paper", PAPERS)
def test_the_stub_names_every_option_and_is_unreadable_at_times(paper):
    said = {stub.answer_of(request) for request in harness.asked(paper, limit=20)}
    room = get_paper(paper)
    assert said == {stub.UNREADABLE, *(room.shortest.format(one) for one in room.options)}


def test_scores_that_differ_or_are_absent_are_not_equal():
    good = dict.fromkeys(names_of(get_benchmark("jubaku_v2")), 0.5)
    nan = good | {"accuracy": math.nan}
    rows = checking.Checked("jubaku_v2", "inspect_ai", good, good, good).rows()
    assert all(row["equal"] for row in rows)
    rows = checking.Checked("jubaku_v2", "inspect_ai", nan, good, good).rows()
    assert [row["measure"] for row in rows if not row["equal"]] == ["accuracy"]
    rows = checking.Checked("jubaku_v2", "inspect_ai", good, good | {"n": 0.5 + 1e-9}, {}).rows()
    assert not any(row["equal"] for row in rows)
    assert all(
        row["equal"] for row in checking.Checked("jubaku_v2", "inspect_ai", *[nan] * 3).rows()
    )
    table = pd.DataFrame(checking.Checked("jubaku_v2", "inspect_ai", nan, good, good).rows())
    [line] = checking.brief(table.assign(harness_score=0.5)).to_dict("records")
    assert line["equal"] == "no (10 of 11)" and line["measure"] == "accuracy"


# -- the environment -------------------------------------------------------------------------------


def test_an_unreachable_registry_is_told_in_one_line(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("KATAYORI_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("KATAYORI_OUTPUTS", str(tmp_path / "outputs"))
    monkeypatch.setattr(environments, "find_uv", lambda **_: "false")
    assert cli.main(["harness", "--papers", "04"]) == 2
    told = capsys.readouterr().err.strip().splitlines()[-1]
    assert told.startswith("katayori: ") and "make harness ARGS=--unchecked" in told
    assert (tmp_path / "outputs" / "harness" / "samples" / "jubaku_v2.jsonl").is_file()


@pytest.mark.slow_all
def test_both_harnesses_find_our_scores(tmp_path, monkeypatch, capsys, harnesses):
    """The whole way: tasks, both harnesses, their logs, `make convert`, our scores."""
    monkeypatch.setenv("KATAYORI_OUTPUTS", str(tmp_path))
    bodies: list[dict] = []
    reply = stub.Stub.reply
    monkeypatch.setattr(
        stub.Stub, "reply", lambda self, body: bodies.append(body) or reply(self, body)
    )
    papers = ["jubaku_v2", "logprob_judge", "persona_jbbq"]
    assert cli.main(["harness", "--papers", ",".join(papers), "--limit", "4"]) == 0
    out = capsys.readouterr().out
    assert "scores are equal" in out and out.count("0 rows refused") == 6
    table = pd.read_csv(tmp_path / "harness" / "check" / "scores.csv")
    assert table["equal"].all() and set(table["paper"]) == set(papers)
    assert set(table["harness"]) == {"inspect_ai", "lm_eval"}
    asked = {stub.asked_of(q.body["messages"]): q for p in papers for q in harness.asked(p, "", 4)}
    assert len(bodies) == 3 * len(asked), "each is asked by both harnesses and directly"
    for body in bodies:
        ours = asked[stub.asked_of(body["messages"])].body
        told = {name: body.get(name) for name in ours if name not in samples.OF_PROBABILITIES}
        assert {**told, "messages": ours["messages"]} == samples.without_probabilities(
            asked[stub.asked_of(body["messages"])]
        ).body
    with_probabilities = [body for body in bodies if body.get("logprobs")]
    assert len(with_probabilities) == 2 * len(asked), "lm-evaluation-harness keeps none"
    likeliest = table[table["measure"] == "concordance_proposed"]
    assert likeliest["harness"].tolist() == ["inspect_ai"] and likeliest["from_log"].notna().all()
    [log] = (tmp_path / "harness" / "check" / "logs" / "inspect_ai").glob("*persona*.eval")
    _are_among_the_dialects(table, log)


def _are_among_the_dialects(table, log):
    """Accuracies and Diff-bias that inspect_ai printed stand in `analyse --dialects`, equal."""
    out = log.parent / "analysed"
    assert cli.main(["analyse", str(log), "--dialects", "--out", str(out)]) == 0
    rows = pd.read_csv(out / "results.csv")
    rows = rows[rows["cell"].str.endswith("tool=KoBBQ")].set_index(["cell", "measure"])["value"]
    printed = table[(table["paper"] == "persona_jbbq") & (table["harness"] == "inspect_ai")]
    printed = printed.set_index("measure")["harness_score"]
    for (cell, name), value in rows.items():
        prompt = cell.split(", ")[1].split(";")[0]
        theirs = printed[f"{prompt}_{name.removeprefix('dialect ').replace('bias', 'diff')}"]
        assert value == pytest.approx(theirs), (cell, name)
    assert len(rows) == 4 * len(get_benchmark("persona_jbbq").prompts)


@pytest.mark.slow_all
def test_a_harness_that_fails_is_told_in_one_line(tmp_path, monkeypatch, capsys, harnesses):
    monkeypatch.setenv("KATAYORI_OUTPUTS", str(tmp_path))
    broken = writing.INSPECT_MODULE.replace("return", "raise SystemError('planted')\n    return")
    monkeypatch.setattr(writing, "INSPECT_MODULE", broken)
    assert cli.main(["harness", "--papers", "04", "--limit", "1"]) == 2
    [told] = [line for line in capsys.readouterr().err.splitlines() if "katayori: " in line]
    assert told.startswith("katayori: inspect ended with 1: ") and "planted" in told
