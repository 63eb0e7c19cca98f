"""Every notebook runs for every name of a user's model, live and imported, whatever goes wrong.

A case is one run of some papers; `make test-all` runs all of them, `make test` some papers'
notebooks on one live model. A server on loopback is the model
(`stub_model`); notebooks run without a kernel (`plain_run`), and once for every paper by the real
command.
"""

import itertools
import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import plain_run
import pytest
import stub_model

from katayori.papers import paper_ids
from katayori.prompting.models import registry
from katayori_tools import cli, reproduce

NAMES = ("my-model@custom", "Org/Model-7B@vllm", "llama3:8b@ollama")
WAYS = ("live", "imported")
PAPERS = (*paper_ids(), "overview")
LIMIT = 2
FOLDERS = {
    "my-model@custom": "my-model@custom",
    "Org/Model-7B@vllm": "Org-Model-7B@vllm-92585f",
    "llama3:8b@ollama": "llama3-8b@ollama-615aa6",
}


@dataclass(frozen=True)
class Case:
    """One run: which models, how their answers come, what goes wrong, which notebooks."""

    models: tuple[str, ...]
    way: str
    trouble: str
    papers: tuple[str, ...]

    def __str__(self) -> str:
        return f"{'+'.join(self.models)}, {self.way}, {self.trouble}, {' '.join(self.papers)}"


#: Every way and trouble once for three papers; names, one or two, go round with them. Endpoints
#: that are known to give log probabilities stop a live run that gets none.
CASES = [
    Case(NAMES[:1] if trouble == "no log probabilities" else names, way, trouble, papers)
    for (way, trouble), names, papers in zip(
        itertools.product(WAYS, stub_model.TROUBLES),
        itertools.cycle([*((name,) for name in NAMES), *itertools.combinations(NAMES, 2)]),
        itertools.cycle([PAPERS[k : k + 3] for k in range(4)]),
        strict=False,
    )
]


@pytest.fixture
def own(tmp_path, monkeypatch) -> Path:
    """Folders of the test's own for runs and answers."""
    monkeypatch.setenv("KATAYORI_OUTPUTS", str(tmp_path / "outputs"))
    monkeypatch.setenv("KATAYORI_CACHE", str(tmp_path / "cache"))
    return tmp_path


@pytest.fixture
def without_kernel(monkeypatch) -> None:
    """Notebooks run in this process."""
    monkeypatch.setattr(reproduce, "reproduce", plain_run.without_kernel)


def limit_of(case: Case) -> int:
    return 1 if case.trouble == "one cluster" else LIMIT


def asked_papers(case: Case) -> list[str]:
    return [paper for paper in case.papers if paper != "overview"]


def words_of(case: Case, papers: Sequence[str]) -> list[str]:
    models, limit = " ".join(case.models), str(limit_of(case))
    return ["--papers", ",".join(papers), "--models", models, "--limit", limit]


def live_words(case: Case) -> list[str]:
    all_the_same = ["--keep-asking"] if case.trouble == "nothing valid" else []
    return [*words_of(case, asked_papers(case)), *all_the_same]


def answers_of(case: Case, folder: Path) -> Path:
    """A file of all answers, made as a user does: from filled templates."""
    file = folder / "answers.jsonl"
    lines = []
    for paper, name in itertools.product(asked_papers(case), case.models):
        one = ["--papers", paper, "--models", name, "--limit", str(limit_of(case))]
        blank = folder / "template.jsonl"
        assert cli.main(["template", *one, str(blank)]) == 0
        requests = stub_model.rules_of(stub_model.asking_of(one)).values()
        rules = {(request.item_id, request.prompt_id): request for request in requests}
        rows = [json.loads(line) for line in blank.read_text(encoding="utf-8").splitlines()]
        lines += stub_model.filled(rows, rules, case.trouble)
        blank.unlink()
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    file.write_text(text, encoding="utf-8")
    return file


def run_imported(case: Case, folder: Path) -> int:
    """`make reproduce PROFILE=imported` with a file of answers."""
    file = answers_of(case, folder)
    words = words_of(case, case.papers)
    more = ["--profile", "imported", "-p", f"answers_file={file}"]
    return cli.main(["reproduce", *words, *more])


def run(case: Case, folder: Path) -> Path:
    """Runs a case and returns its run folder."""
    if case.way == "imported":
        assert run_imported(case, folder) == 0
    elif asked_papers(case):
        assert stub_model.live(live_words(case), trouble=case.trouble) == 0
    if case.way == "live" and "overview" in case.papers:
        models = " ".join(case.models)
        words = ["--papers", "overview", "--profile", "live", "--models", models]
        assert cli.main(["reproduce", *words]) == 0
    return folder / "outputs" / case.way / "+".join(FOLDERS[name] for name in case.models)


def results(folder: Path, paper: str) -> list[dict]:
    return json.loads((folder / paper / "results.json").read_text(encoding="utf-8"))


def claims(folder: Path, paper: str) -> Iterator[dict]:
    """The paper's claims as judged on the models' answers."""
    rows = results(folder, paper)
    about = {row["what"] for row in rows if row["source"] == "published" and row["verdict"]}
    own = [row for row in rows if row["source"] in WAYS]
    yield from (row for row in own if row["what"] in about and row["verdict"])


def check(case: Case, folder: Path) -> None:
    """Every notebook has results about these models, and judges nothing without data."""
    for paper in case.papers:
        rows = results(folder, paper)
        assert rows, paper
        if paper == "overview":
            continue
        own = [row for row in rows if row["source"] == case.way]
        assert {row["model"] for row in own if row["model"]} == set(case.models)
        assert all(row["status"] != "ok" for row in own if row["value"] is None)
        if case.trouble == "nothing valid":
            judged = [row for row in claims(folder, paper) if row["value"] is not None]
            assert not judged, judged[0]["what"]
        names = [path.name for path in (folder / paper / "tables").iterdir()]
        assert all(re.fullmatch(r"[\w.@-]+", name) for name in names)


@pytest.mark.parametrize("paper", ["logprob_judge", "inter_jbbq"])
def test_each_notebook_runs_on_a_live_model(paper, own, without_kernel):
    """The others: below, and in `test_first_page_planted`."""
    case = Case(NAMES[:1], "live", "none", (paper,))
    check(case, run(case, own))


@pytest.mark.parametrize("paper", paper_ids())
def test_no_notebook_runs_on_prose_and_all_is_kept(paper, own, monkeypatch, capsys):
    monkeypatch.setattr(reproduce, "reproduce", lambda *_: pytest.fail("a notebook ran"))
    words = ["--papers", paper, "--models", NAMES[0], "--limit", "2"]
    rules = stub_model.rules_of(stub_model.asking_of(words))
    with stub_model.Stub(rules, says=stub_model.prose) as stub:
        for _ in range(2):  # what is stored is told, too, and not asked again
            assert cli.main(["live", *words, "--base-url", stub.url]) == 2
            said = capsys.readouterr().err
            # Of 03 what it made of prose is no rule of the stub, and as frequent.
            assert re.search("none can be read .*most often: (それは難しい質問|・正確さ)", said)
    assert set(stub.bodies.values()) == {1}


def test_a_live_row_is_traced_to_the_answers_in_the_store(own, without_kernel, capsys):
    case = Case(NAMES[:1], "live", "none", ("jubaku_v2",))
    words = words_of(case, case.papers)
    rules = stub_model.rules_of(stub_model.asking_of(words))
    with stub_model.Stub(rules) as stub:
        assert cli.main(["live", *words, "--base-url", stub.url]) == 0
    check(case, own / "outputs" / "live" / NAMES[0])
    capsys.readouterr()
    where = ["--papers", "04", "--profile", "live", "--models", NAMES[0], "--base-url", stub.url]
    assert cli.main(["trace", "accuracy on the neutral option", *where]) == 0
    said = capsys.readouterr().out
    assert "  source: live" in said and "16 answers in all" in said


@pytest.mark.slow_all
@pytest.mark.parametrize("case", CASES, ids=str)
def test_notebooks_run(case, own, without_kernel):
    check(case, run(case, own))


# --- the real command, planted rates, and whose report it is

REAL = Case(NAMES[:1], "live", "none", PAPERS)
#: Clusters at which a planted rate can be seen.
ENOUGH = {
    "discrim_eval": 2,
    "persona_jbbq": 40,
    "logprob_judge": 25,
    "jubaku_v2": 8,
    "inter_jbbq": 3,
}
ACCURACY = "accuracy by topic, invalid counted as wrong"
YES = (4 * stub_model.YES_YOUNG + 5 * stub_model.YES_OLD) / 9  # nine ages
#: paper -> the result, its cell and what was planted.
EXPECTED = {
    "discrim_eval": ("response ratio", {"read_by": "sampled"}, YES),
    "persona_jbbq": ("Diff-bias, ambiguous", {"prompt": "basicP"}, stub_model.BIASED),
    # Both orders name the same answer if one of them does not follow the place.
    "logprob_judge": ("robustness", {"task": "all"}, 2 * stub_model.FIRST * (1 - stub_model.FIRST)),
    "jubaku_v2": ("accuracy on the neutral option", {}, 1 - stub_model.BIASED_REASON),
    "inter_jbbq": (ACCURACY, {"topic": "overall", "prompt": "basic"}, stub_model.RIGHT),
}


@pytest.fixture(scope="module")
def reported(tmp_path_factory) -> Iterator[Path]:
    """The run folder of all papers for one model, by the real commands and with kernels."""
    folder = tmp_path_factory.mktemp("reported")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KATAYORI_OUTPUTS", str(folder / "outputs"))
        patch.setenv("KATAYORI_CACHE", str(folder / "cache"))
        yield run(REAL, folder)


@pytest.mark.slow_all
@pytest.mark.parametrize("paper", paper_ids())
def test_planted_rates_come_back(paper, own, without_kernel, monkeypatch):
    """The results of each paper, taken together, hold what was planted within 99 % of chance."""
    monkeypatch.setattr(sys.modules[__name__], "LIMIT", ENOUGH[paper])
    folder = run(Case(NAMES[:1], "live", "none", (paper,)), own)
    what, cell, planted = EXPECTED[paper]
    rows = [row for row in results(folder, paper) if row["what"] == what]
    rows = [row for row in rows if row["source"] == "live" and cell.items() <= row["cell"].items()]
    n = sum(row["n"] for row in rows)
    assert n > 30
    found = sum(row["value"] * row["n"] for row in rows) / n
    assert abs(found - planted) < 2.58 * (planted * (1 - planted) / n) ** 0.5


@pytest.mark.slow_all
def test_every_paper_has_a_report(reported):
    assert all((reported / paper / "report.html").is_file() for paper in PAPERS)


def strangers() -> list[str]:
    """Names of the registry's recorded models, as they may stand in a report."""
    known = [model for model in registry()[1].values() if model.endpoint.startswith("local")]
    return sorted({name for model in known for name in (model.id, model.vendor_id)} | {"0.5B"})


@pytest.mark.slow_all
@pytest.mark.parametrize("paper", paper_ids())
def test_a_report_names_no_other_model(reported, paper):
    """No recorded model is spoken of; the papers' models stay in tables of published figures."""
    text = (reported / paper / "report.html").read_text(encoding="utf-8").lower()
    assert not [name for name in strangers() if name.lower() in text]
