"""The runner on tiny notebooks (one behaviour each), profiles, and the comparison of runs."""

import base64
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from nbclient.exceptions import DeadKernelError

from katayori import paths, profiles
from katayori.errors import KatayoriError
from katayori_tools import cli, notebooks, reproduce
from katayori_tools.choices import NotebookRun, filled

FIXTURES = Path(__file__).parent / "fixtures" / "notebooks"


def _copy_house(root: Path) -> Path:
    shutil.copytree(FIXTURES, root / "notebooks")
    (root / "data").mkdir()
    shutil.copy(paths.root() / "data" / "profiles.yaml", root / "data")
    (root / "lib").mkdir()
    (root / "lib" / "requirements.lock").write_text("one==1\n")
    return root


@pytest.fixture
def house(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("KATAYORI_ROOT", str(_copy_house(tmp_path)))
    return tmp_path


def _reproduce(root: Path, *words: str, code: str = "") -> subprocess.CompletedProcess:
    run = code or "import sys; from katayori_tools.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, *(["-c", run] if code else ["-m", "katayori"]), "reproduce", *words]
    env = os.environ | {"KATAYORI_ROOT": str(root), "MPLBACKEND": "agg"}
    return subprocess.run(command, env=env, capture_output=True, text=True, cwd=root)


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """All four notebooks run once (the only kernels of these tests); a good run of `broken` was there before."""
    root = _copy_house(tmp_path_factory.mktemp("house"))
    before = root / "outputs" / "recorded" / "broken"
    before.mkdir(parents=True)
    (before / "results.json").write_text("[]")
    for name in (".run-killed", f".run-{os.getpid()}-other"):  # that of a process which runs stays
        left = root / "outputs" / "recorded" / name / "good"
        left.mkdir(parents=True)
        (left / "results.json").write_text("[]")
    return root, _reproduce(root)


def folder(root: Path, paper: str) -> Path:
    return root / "outputs" / "recorded" / paper


@pytest.mark.slow_all
def test_failures_are_told_at_the_end_and_the_others_finish(ran):
    root, done = ran
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "broken           FAILED: ValueError: the reason" in done.stderr.splitlines()[-2]
    assert json.loads((folder(root, "overview") / "seen.json").read_text()) == ["broken", "good"]


def test_failed_notebook_is_kept_and_the_earlier_outputs_untouched(ran):
    root, _ = ran
    kept = folder(root, "broken")
    assert sorted(path.name for path in kept.iterdir()) == [
        "02_broken.failed.ipynb",
        "results.json",
    ]
    text = (kept / "02_broken.failed.ipynb").read_text()
    assert "before" in text and "the reason" in text


def test_notebook_gets_defaults_settings_and_its_folder(ran):
    root, _ = ran
    found = json.loads((folder(root, "good") / "found.json").read_text())
    assert (found["n"], found["models"]) == (3, ["a", "b"])
    assert (found["OMP_NUM_THREADS"], found["PYTHONHASHSEED"]) == ("1", "0")
    assert "inline" in found["MPLBACKEND"]  # set by the kernel, not the "agg" of the caller
    assert found["folder"] == str(folder(root, "good"))
    assert Path(found["cwd"]) == root / "notebooks"
    assert not found["ipython"].startswith(str(Path.home()))
    assert (folder(root, "good") / "01_good.ipynb").exists()
    assert [path.name for path in folder(root, "good").parent.glob(".*")] == [
        f".run-{os.getpid()}-other"
    ]


def _fresh(ran, tmp_path) -> Path:
    return shutil.copytree(ran[0], tmp_path / "house")


def _state(root: Path, monkeypatch, **changed) -> str:
    """Why the runner would run `good` again; empty if it is up to date."""
    monkeypatch.setenv("KATAYORI_ROOT", str(root))
    (job,) = reproduce.planned(NotebookRun(**{"papers": "good"} | changed))
    return reproduce.stale(job, reproduce.shared_inputs())


@pytest.mark.slow
def test_unchanged_run_is_up_to_date_and_imports_nothing_heavy(ran):
    root, _ = ran
    for path in root.rglob("*"):
        os.utime(path, (1, 1))  # a checkout changes times, not content
    code = """
import sys
from katayori_tools.cli import main
code = main(sys.argv[1:])
heavy = {"papermill", "pandas", "numpy", "nbformat", "nbconvert", "multiprocessing"} & set(sys.modules)
sys.exit(code or f"imported: {heavy}" if heavy else code)
"""
    done = _reproduce(root, "--papers", "good", code=code)
    assert done.returncode == 0, done.stderr
    assert "up to date" in done.stderr and "started" not in done.stderr


GOOD = "outputs/recorded/good"


@pytest.mark.parametrize(
    ("file", "text", "reason"),
    [
        ("data/.hidden", "", ""),
        ("data/new.yaml", "", "changed: data"),
        ("lib/requirements.lock", "one==2\n", "changed: environment"),
        (f"{GOOD}/results.json", "[1]", "outputs were changed or removed"),
        (f"{GOOD}/more.csv", "", "outputs were changed or removed"),
        (f"{GOOD}/stamp.json", "{", "not run yet"),
    ],
)
def test_stamp_follows_content(ran, tmp_path, monkeypatch, file, text, reason):
    root = _fresh(ran, tmp_path)
    assert _state(root, monkeypatch) == ""
    (root / file).write_text(text)
    assert _state(root, monkeypatch) == reason


def test_stamp_follows_notebook_parameters_and_files_that_they_name(ran, tmp_path, monkeypatch):
    root = _fresh(ran, tmp_path)
    assert _state(root, monkeypatch, parameter=["n=4"]) == "changed: parameters"
    own = tmp_path / "own.yaml"
    given = {"parameter": [f"note={own}"]}
    assert _state(root, monkeypatch, **given) == "changed: parameters"
    own.write_text("a: 1")
    assert _state(root, monkeypatch, **given) == "changed: files of note, parameters"
    book = root / "notebooks" / "01_good.ipynb"
    book.write_text(book.read_text().replace("n: int = 3", "n: int = 4"))
    assert _state(root, monkeypatch) == "changed: notebook"


def test_a_relative_file_is_looked_for_where_the_user_stands(tmp_path, monkeypatch):
    """The kernel runs in notebooks/, where the same words would name another file."""
    monkeypatch.chdir(tmp_path)
    pairs = ["questions=mine.yaml", "answers_file=", "n=4", "note=mine.yaml"]
    given = reproduce._given(NotebookRun(parameter=pairs), profiles.load("recorded"))
    assert given == {
        "profile": "recorded",
        "questions": str(tmp_path / "mine.yaml"),
        "answers_file": None,
        "n": 4,
        "note": "mine.yaml",
    }


def test_overview_ignores_what_is_meant_for_the_others(house):
    words = ["reproduce", "--limit", "8", "-p", "n=4"]

    def plan(papers: str) -> dict:
        args = cli.parsed([*words[:1], "--papers", papers, *words[3:]])
        run = filled(NotebookRun, vars(args))
        return {job.paper: job.parameters for job in reproduce.planned(run)}

    assert plan("00 01") == {
        "good": {"profile": "recorded", "n": 4},
        "overview": {"profile": "recorded"},
    }
    with pytest.raises(KatayoriError, match="no notebook of overview has a parameter 'n'"):
        plan("00")
    given = filled(NotebookRun, vars(cli.parsed(words)))
    assert (given.limit, given.parameter) == (8, ["n=4"])


def test_data_fetches_file_by_file_and_goes_on(capsys, monkeypatch):
    from katayori_tools import datasets

    fetched = []

    def fetch(name, path):
        fetched.append((name, path))
        if name != "jbnli":
            raise KatayoriError(f"{name}: not reached")

    monkeypatch.setattr(datasets, "fetch", fetch)
    assert cli.main(["data"]) == 0
    sets, err = {name for name, _ in fetched}, capsys.readouterr().err.splitlines()
    assert len([path for name, path in fetched if name == "jbnli"]) == 3
    assert "bbq" in sets and not sets & {"discrim_eval_sample", "jbbq", "study_discrim_eval"}
    assert sorted(err) == sorted(f"katayori: {name}: not reached" for name in sets - {"jbnli"})
    assert cli.main(["data", "jbnli"]) == 0
    assert cli.main(["data", "discrim_eval_sample", "jbbq"]) == 2  # no address; no file
    assert [name for name, _ in fetched[-2:]] == ["discrim_eval_sample", "jbbq"] and fetched[-1][
        1
    ] is None
    assert cli.main(["data", "none"]) == 2


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["-p", "m=1"], ["'m'", "models", "output_dir"]),
        (["-p", "n=1.5"], ["'n'", "int", "1.5"]),
        (["-p", "n=true"], ["'n'", "int", "True"]),
        (["-p", "ratio=high"], ["'ratio'", "float", "'high'"]),
        (["-p", "note=3"], ["'note'", "str, not 3"]),
        (["-p", "weights=[a]"], ["'weights'", "list[float]"]),
        (["-p", "flag=no thanks"], ["'flag'", "bool"]),
        (["-p", "n"], ["name=value", "'n'"]),
        (["--papers", "nine"], ["'nine'", "good", "broken", "skipped", "overview"]),
        (["--profile", "fast"], ["'fast'", "recorded", "smoke", "live", "official"]),
        (["--prompts", "nowhere"], ["nowhere", "name a folder that exists"]),
        (["--jobs", "0"], ["--jobs"]),
    ],
)
def test_wrong_request_is_one_line_before_any_kernel(house, capsys, monkeypatch, words, names):
    monkeypatch.setattr(reproduce, "_run", lambda _: pytest.fail("a kernel would have started"))
    assert cli.main(["reproduce", "--papers", "good", *words]) == 2
    err = capsys.readouterr().err
    assert len(err.splitlines()) == 1
    assert all(name in err for name in names), err


@pytest.mark.parametrize(
    "source",
    [
        "n = 3",
        "n: int = 'three'",
        "n: Path = 3",
        "n: int | None = 3",
        "import os",
        "n: int = len('x')",
    ],
)
def test_parameters_cell_must_be_typed_literals(tmp_path, source):
    path = tmp_path / "01_x.ipynb"
    path.write_text(
        json.dumps({"cells": [{"metadata": {"tags": ["parameters"]}, "source": source}]})
    )
    with pytest.raises(KatayoriError, match=r"01_x|not understood"):
        notebooks.parameters(path)


def test_papers_by_name_number_and_file(house):
    assert list(notebooks.choose("")) == ["good", "broken", "skipped", "overview"]
    for name in ("good", "01", "1", "01_good", "01_good.ipynb"):
        assert list(notebooks.choose(f"00, {name}")) == ["good", "overview"]


def _job(tmp_path) -> reproduce.Job:
    own = {"work": tmp_path / ".run" / "x", "env": dict(os.environ)}
    return reproduce.Job(
        "x", Path("01_x.ipynb"), {}, tmp_path / "x", profiles.load("recorded"), **own
    )


def killed(job: reproduce.Job) -> str:
    """In place of `run_alone`, in the process of a notebook."""
    os.kill(os.getpid(), signal.SIGKILL)
    return ""


def test_dead_process_is_a_failure_not_a_traceback(tmp_path, monkeypatch):
    job = _job(tmp_path)
    monkeypatch.setattr(reproduce, "run_alone", killed)
    assert reproduce._run(job) == "its process died" and not job.final.exists()


@pytest.mark.parametrize(("error", "tries"), [(RuntimeError, 2), (DeadKernelError, 1)])
def test_kernel_that_does_not_start_gets_a_second_try(tmp_path, monkeypatch, error, tries):
    import papermill

    calls = []

    def fail(notebook, output, **_):
        calls.append(notebook)
        raise error("Kernel didn't respond in 120 seconds\nmore")

    monkeypatch.setattr(papermill, "execute_notebook", fail)
    told = reproduce.run_alone(_job(tmp_path))
    assert len(calls) == tries and "didn't respond" in told and "\n" not in told


def test_readers_see_the_picture_that_notebook_01_makes():
    root, name = paths.root(), "notebooks/images/discrim_eval_person_or_words.png"
    book = json.loads((root / "notebooks" / "01_discrim_eval.ipynb").read_text(encoding="utf-8"))
    [cell] = [cell for cell in book["cells"] if cell["id"] == "person-or-words"]
    [made] = [one["data"]["image/png"] for one in cell["outputs"] if "image/png" in one["data"]]
    renew = "jupyter nbconvert --to markdown writes the pictures of a notebook beside it; copy it"
    assert (root / name).read_bytes() == base64.b64decode("".join(made)), renew
    for text in ("README.md", "lib/pages/index.md"):
        assert (root / text).read_text(encoding="utf-8").count(name) == 1


@pytest.mark.slow
def test_committed_notebook_loses_what_changes_from_run_to_run(tmp_path):
    import nbformat

    path = shutil.copy(FIXTURES / "01_good.ipynb", tmp_path)
    notebook = nbformat.read(path, as_version=4)
    plain = notebook.cells[0].source
    notebook.metadata["widgets"] = {"state": {}}
    notebook.metadata["language_info"]["version"] = "3.11.7"
    notebook.cells[0].metadata["execution"] = {"iopub.status.busy": "now"}
    written = {"talk": [{"headline": "h"}], "jupyter": {"source_hidden": True}, "breach": "a table"}
    notebook.cells[0].metadata.update(written)
    nbformat.write(notebook, path)
    convert = ["-m", "nbconvert", "--to", "notebook", "--inplace", *reproduce.CLEAR, str(path)]
    command = [sys.executable, *convert]
    subprocess.run(command, capture_output=True, check=True)
    notebook = nbformat.read(path, as_version=4)
    assert sorted(notebook.metadata) == ["kernelspec", "language_info"]
    assert notebook.metadata.language_info == {"name": "python"}
    # What people wrote about a cell stays.
    assert notebook.cells[0].metadata == {"tags": ["parameters"]} | written
    assert notebook.cells[0].source == plain


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{items: study, answers: recorded, size: full, model: x}", "unknown field 'model'; known"),
        ("{items: both, answers: recorded, size: full}", "items must be study or official"),
        ("{items: study, answers: guessed, size: full}", "simulated or imported, not 'guessed'"),
        ("{items: study, answers: recorded, size: 0}", "size must be full or a positive .*, not 0"),
        ("{items: study, answers: recorded}", "size must be full or .*, not null"),
        ("&a {items: study, answers: live, size: 9}\nb: *a", "exactly one"),
        ("study", "named blocks"),
        ("[", "not readable YAML"),
    ],
)
def test_wrong_profile_file_is_explained(tmp_path, text, problem):
    path = tmp_path / "mine.yaml"
    path.write_text(f"mine: {text}")
    with pytest.raises(KatayoriError, match=problem) as caught:
        profiles.load(str(path))
    assert "\n" not in str(caught.value)


def test_doctor_names_remedies_and_no_key(capsys, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "canary-7f3a")
    monkeypatch.delenv("KATAYORI_MIRROR", raising=False)
    cli.main(["doctor"])
    out = capsys.readouterr().out
    assert "canary" not in out
    for subject in ("python", "packages", "disk", "mirror", "endpoint openai", "browser", "uv"):
        assert subject in out
    assert "key set" in out
