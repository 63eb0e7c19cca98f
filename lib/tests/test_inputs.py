"""What a user gives is checked first: one line, exit 2, before a kernel, a request, or a written
file.
"""

import json
import re
import shutil
import subprocess
import sys

import own_items
import pytest

from katayori import paths, profiles
from katayori.metrics import calibration
from katayori.papers import get_paper
from katayori.profiles import DEMONSTRATION
from katayori_tools import asking, cli, notebooks, reproduce
from katayori_tools.choices import Asking, NotebookRun

MODEL = "my-model@custom"
PAPERS = list(own_items.PAPERS)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Folders of its own, and nothing that may start a kernel."""
    monkeypatch.setenv("KATAYORI_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("KATAYORI_OUTPUTS", str(tmp_path / "outputs"))
    monkeypatch.setattr(reproduce, "_run", lambda job: pytest.fail("a kernel would have started"))
    return tmp_path


def refused(capsys, *words: str) -> str:
    """The one line that a wrong request gets."""
    capsys.readouterr()
    assert cli.main([str(word) for word in words]) == 2
    err = capsys.readouterr().err
    assert len(err.splitlines()) == 1, err
    return err


def flags(values: dict[str, str]) -> list[str]:
    return [word for name, value in values.items() for word in (f"--{name}", value)]


# -- a user's folder through estimate, template and the loading path -------------------------------


@pytest.mark.parametrize("paper", PAPERS)
def test_own_items_go_through_estimate_template_and_the_notebooks_parameters(
    paper, here, monkeypatch, capsys
):
    """The same option everywhere, and everywhere the same number of requests."""
    _, n_clusters, n_prompts = own_items.PAPERS[paper]
    given = own_items.options(paper, here)
    words = ["--papers", paper, "--models", MODEL, *flags(given)]
    assert cli.main(["estimate", *words]) == 0
    said = capsys.readouterr()
    line = said.out.splitlines()[1].split()
    calls, clusters = int(line[4]), int(line[6])
    assert clusters == n_clusters and "price unknown" in said.out and "$" not in said.out

    file = here / "answers.jsonl"
    assert cli.main(["template", *words, str(file)]) == 0
    rows = [json.loads(row) for row in file.read_text(encoding="utf-8").splitlines()]
    prompts = {row["prompt_id"] for row in rows}
    if paper == "logprob_judge":  # what rests on an earlier answer cannot be asked elsewhere
        assert len(rows) == calls - 6 * n_clusters and len(prompts) == n_prompts - 1
    else:
        assert len(rows) == calls and len(prompts) == n_prompts
    assert f"{n_clusters} {get_paper(paper).clusters}" in capsys.readouterr().out

    text = "".join(json.dumps(row | {"text": "1"}) + "\n" for row in rows)
    file.write_text(text, encoding="utf-8")
    ran = []
    monkeypatch.setattr(reproduce, "_run", lambda job: ran.append(job) or "")
    words = [*words, "--profile", "imported", "-p", f"answers_file={file}"]
    assert cli.main(["reproduce", *words]) == 0
    [job] = ran
    assert {name: job.parameters[name] for name in given} == given


def test_a_notebook_of_several_gets_the_parameters_that_it_declares(here):
    run = NotebookRun(papers="01 05", own=own_items.options("inter_jbbq", here))
    first, second = reproduce.planned(run)
    assert "topics" not in first.parameters and "topics" in second.parameters


# -- wrong requests --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["estimate", "--limit", "-5"], "'-5' is no whole number of clusters"),
        (["estimate", "--limit", "0"], "'0' is no whole number"),
        (["live", "--limit", "1000000000000"], "from 1 to 1,000,000"),
        (["reproduce", "--limit", "-1"], "'-1' is no whole number"),
        (["reproduce", "--papers", "04", "-p", "limit=0"], "limit is 0; valid"),
        (["reproduce", "--papers", "04", "-p", "limit=1000000000000"], "limit is 1000000000000"),
        (["live", "--limit", "x"], "'x' is no whole number"),
        (["live", "--papers", "05", "--models", MODEL, "--topics", "/no"], "there is no /no"),
        (["live", "--papers", "01", "--models", MODEL, "--questions", "."], "is a folder"),
        (["live", "--papers", "01", "--models", MODEL, "--topics", "."], "for inter_jbbq, which"),
        (["estimate", "--models", "sim-fair"], "a simulated model costs nothing"),
        (["template", "--papers", "04", "--models", MODEL, "/no/a.csv"], "/no is no folder"),
        (["template", "--papers", "04", "--models", MODEL, "/tmp/a.txt"], "must end in"),
        (["reproduce", "--profile", "imported", "--papers", "04"], "need a model: MODELS="),
        (
            ["reproduce", "--profile", "imported", "--papers", "04", "--models", MODEL],
            'ARGS="-p answers_file=',
        ),
        (
            ["reproduce", "--papers", "04", "-p", "answers_file=x.csv"],
            "read with PROFILE=imported, not recorded",
        ),
        (["live", "--profile", "official"], "use PROFILE=live, or live-official"),
    ],
)
def test_wrong_requests_are_one_line(here, capsys, words, says):
    assert says in refused(capsys, *words)
    assert not (here / "cache" / "answers.sqlite").exists()


@pytest.mark.parametrize(
    ("encoding", "named"), [("cp932", "iconv -f CP932"), ("utf-16", "iconv -f UTF-16")]
)
@pytest.mark.parametrize("name", ["comparisons", "answers_file"])
def test_another_encoding_is_named_with_its_remedy(here, capsys, name, encoding, named):
    text = "item_id,prompt_id,model,text\np0-12,lj_verdict,m@custom,はい\n"
    (here / "mine.csv").write_bytes(text.encode(encoding))
    words = ["--papers", "03", "--models", "m@custom", "-p", f"{name}={here / 'mine.csv'}"]
    words += ["--profile", "imported"] if name == "answers_file" else []
    err = refused(capsys, "reproduce", *words)
    assert "is not UTF-8" in err and named in err


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("item_id,prompt_id,model\nx,p,m@custom\n", "row 1 lacks the column(s) text"),
        ("item_id,prompt_id,model,text\nx,ju_1_ja,o,A\n", "(PAPERS=); its models: o"),
        ("item_id,prompt_id,model,text\nx,ju_1_ja,m@custom,A\n", "answers none of these items"),
        ("item_id,prompt_id,model,text\nx,p,m@custom,A\n", "of 'm@custom' to a prompt of"),
        ("", "its models: none"),
        ('item_id,prompt_id,model,text\n"x', "is the file cut off?"),
    ],
)  # fmt: skip
def test_answers_are_read_before_the_notebook_starts(here, capsys, text, says):
    before = here / "outputs" / "imported" / "jubaku_v2"
    before.mkdir(parents=True)
    (before / "results.json").write_text("an earlier run")
    (here / "answers.csv").write_text(text, encoding="utf-8")
    words = ["--papers", "04", "--models", "m@custom", "--profile", "imported"]
    words += ["-p", f"answers_file={here / 'answers.csv'}"]
    assert says in refused(capsys, "reproduce", *words)
    assert (before / "results.json").read_text() == "an earlier run"


def test_outputs_that_cannot_be_written_are_one_line(here, capsys, monkeypatch):
    (here / "outputs").write_text("a file")
    err = refused(capsys, "reproduce", "--papers", "04")
    assert "cannot write to" in err and "KATAYORI_OUTPUTS" in err
    assert "KATAYORI_OUTPUTS" in refused(capsys, "live", "--papers", "04", "--models", MODEL)

    def full(**_):
        raise OSError(28, "No space left on device")

    monkeypatch.setenv("KATAYORI_OUTPUTS", str(here / "full"))
    monkeypatch.setattr(notebooks.tempfile, "TemporaryFile", full)
    assert "No space left on device" in refused(capsys, "reproduce", "--papers", "04")


def test_a_disk_that_fills_up_later_is_one_line(here, capsys, monkeypatch):
    def full(chosen: Asking):
        raise OSError(28, "No space left on device", "answers.sqlite")

    monkeypatch.setattr("katayori_tools.planning.estimate", full)
    assert "No space left on device: answers.sqlite" in refused(capsys, "estimate")

    def broken(chosen: Asking):
        raise OSError(5, "Input/output error")  # not the user's doing

    monkeypatch.setattr("katayori_tools.planning.estimate", broken)
    with pytest.raises(OSError, match="Input/output"):
        cli.main(["estimate"])


# -- environment variables -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("KATAYORI_BASEURL", "KATAYORI_BASE_URL"),
        ("KATAYORI_MIROR", "KATAYORI_MIRROR"),
        ("KATAYORI_RPM_CUSTM", "KATAYORI_RPM_CUSTOM"),
        ("KATAYORI_CONCURENCY_OPENAI", "KATAYORI_CONCURRENCY_OPENAI"),
        ("KATAYORI_TPM_LOCAL_VLM", "KATAYORI_TPM_LOCAL_VLLM"),
        ("KATAYORI_OUTPUT", "KATAYORI_OUTPUTS"),
        ("KATAYORI_WEIGHTS_QWEN2_5_CODER_05B", "KATAYORI_WEIGHTS_QWEN2_5_CODER_0_5B"),
        ("KATAYORIMIRROR", "KATAYORI_MIRROR"),
    ],
)
def test_a_misspelt_variable_is_named(here, monkeypatch, capsys, given, meant):
    monkeypatch.setenv(given, "1")
    err = refused(capsys, "doctor")
    assert f"{given} is unknown; do you mean {meant}?" in err


def test_every_variable_of_the_code_is_listed():
    """A variable that the code reads and this list lacks would be refused as a slip of the pen."""
    house = paths.root()
    texts = [
        file.read_text(encoding="utf-8")
        for folder in ("lib/katayori", "lib/katayori_tools")
        for file in (house / folder).rglob("*.py")
    ]
    texts += [
        (house / name).read_text(encoding="utf-8") for name in ("README.md", "data/models.yaml")
    ]
    read = set(re.findall(r"KATAYORI_[A-Z0-9_]*[A-Z0-9](?![A-Z0-9_<])", "\n".join(texts)))
    assert read - {"KATAYORI_XX"} <= cli.known_variables()


def test_the_cheap_checks_import_nothing_heavy(tmp_path):
    """A wrong path, limit or variable is found without pandas."""
    code = (
        "import sys\nfrom katayori_tools import cli\n"
        "words = ['estimate', '--papers', '05', '--models', 'm@custom', '--topics', '/none']\n"
        "assert cli.main(words) == 2\nprint('pandas' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout.strip() == "False"


def test_the_light_engine_gets_two_clusters_and_servers_more():
    """LIMIT= comes first; without MODELS= a run is a demonstration.

    Calibrating needs more than 20 templates.
    """

    def limit(profile="live", **given):
        return asking.limit_of(Asking(**given), profiles.load(profile))

    assert limit() == DEMONSTRATION == 2
    assert limit(models=MODEL) == 25 == limit("live-official", models=MODEL)
    assert limit(models=MODEL) > calibration.TRAINING_CLUSTERS
    assert limit(limit=7) == limit(limit=7, models=MODEL) == 7
    assert limit("imported", models=MODEL) is None


@pytest.mark.parametrize("paper", ["logprob_judge"])
def test_a_batch_is_about_the_same_requests(paper, here, capsys, monkeypatch):
    """`batch export` takes the same options, and keeps them for its import."""
    # An export for a server of one's own says whose answers it waits for.
    monkeypatch.setenv("KATAYORI_LABEL", "mine")
    given = own_items.options(paper, here)
    words = ["--papers", paper, "--models", MODEL, *flags(given), "--limit", "2"]
    assert cli.main(["estimate", *words]) == 0
    calls = int(capsys.readouterr().out.splitlines()[1].split()[4])
    assert cli.main(["batch", *words, "export", str(here / "out")]) == 0
    n = sum(len(file.read_bytes().splitlines()) for file in (here / "out").rglob("*.jsonl"))
    waiting = [int(w) for w in re.findall(r"(\d+) wait for", capsys.readouterr().out)]
    assert n + sum(waiting) == calls
    asked = json.loads((here / "out" / "batch.json").read_text())["asked"]["own"]
    assert {name: asked[name] for name in given} == given


def test_every_paper_is_read_before_the_first_is_asked(here, capsys, monkeypatch):
    """Prompts that lack the last paper, or a bad file of it, stop a run before its first
    request.
    """
    monkeypatch.setenv("KATAYORI_BASE_URL", "http://127.0.0.1:9")
    (here / "wording").mkdir()
    shutil.copytree(paths.data_dir() / "prompts" / "jubaku_v2", here / "wording" / "jubaku_v2")
    words = ["live", "--papers", "04 05", "--models", MODEL]
    err = refused(capsys, *words, "--prompts", here / "wording")
    assert "no prompts for inter_jbbq" in err
    (here / "library.yaml").write_text("topic: library", encoding="utf-8")
    assert "library.yaml" in refused(capsys, *words, "--topics", here / "library.yaml")
