"""Missing answers in JupyterLab: one plain line, no red trace, nothing of an earlier setting below.

Each notebook runs in a kernel of its own, as JupyterLab runs it: nobody gives an output_dir.
"""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from katayori import paths
from katayori.errors import KatayoriError
from katayori.report.run import NOT_RUN, Run, _is_settings
from katayori_tools import reproduce

OPEN = """from katayori.report import Run
run = Run("discrim_eval")
study = run.open(models=models, limit=1, asked=["de_answer_line"])
print("opened")"""
RED = [new_output("error", ename="E", evalue="v", traceback=["of an earlier run"])]


def tiny(*more: str) -> nbformat.NotebookNode:
    """Parameters, set-up, a cell with an old output, text, and what a test adds."""
    cells = [new_code_cell("models: list[str] = ['sim-fair']  # a comment"), new_code_cell(OPEN)]
    cells += [new_code_cell("print(len(study.items))", outputs=RED), new_markdown_cell("# A text")]
    return new_notebook(cells=[*cells, *map(new_code_cell, more)])


@contextmanager
def kernel(book: nbformat.NotebookNode, folder: str = ".") -> Iterator[NotebookClient]:
    """A client that runs all cells as often as `run_all` says, in one kernel."""
    client = NotebookClient(book, kernel_name="python3", resources={"metadata": {"path": folder}})
    with client.setup_kernel():
        yield client


def run_all(client: NotebookClient) -> list[str]:
    """Runs all cells (an error would raise, as it stops Run All); what each code cell printed."""
    for place, cell in enumerate(client.nb.cells):
        client.execute_cell(cell, place)
    cells = [cell for cell in client.nb.cells if cell.cell_type == "code"]
    for output in (output for cell in cells for output in cell.outputs):
        assert output.output_type != "error" and output.get("name") != "stderr", output
    return ["".join(output.get("text", "") for output in cell.outputs) for cell in cells]


@pytest.fixture(autouse=True)
def here(monkeypatch, tmp_path):
    """No server of the user's, and an empty store."""
    for name in ("KATAYORI_BASE_URL", "KATAYORI_LABEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("KATAYORI_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONPATH", str(paths.root() / "lib"))


@pytest.mark.slow
def test_missing_answers_are_one_line_and_hold_the_cells_below_back_until_a_run_opens():
    book = tiny("%%time\n1 / 0", "%env MINE=1", "import os\nos.environ['K'] = '1'", "1 +")
    settings, setup, below = book.cells[:3]
    with kernel(book) as client:
        settings.source = "models: list[str] = ['my-model@custom']"
        printed = run_all(client)
        assert printed[0] == "" and printed[1].startswith(
            "skipped: no recorded answers of my-model"
        )
        assert printed[1].count("\n") == 1 and len(printed[1]) < 300
        assert "make live PAPERS=discrim_eval MODELS=my-model@custom" in printed[1]
        assert printed[2:] == [f"{NOT_RUN}\n"] * 2 + ["env: MINE=1\n", ""] + [f"{NOT_RUN}\n"]

        # Cells run one by one, and one that the reader has just written.
        below.source = "print('mine')"
        client.execute_cell(below, 2)
        assert below.outputs[0]["text"] == f"{NOT_RUN}\n"
        setup.source = "%%time\n" + setup.source  # a magic above the set-up
        settings.source = "models: list[str] = ['sim-fair']"
        book.cells[4].source, book.cells[7].source = "print('again')", ""
        printed = run_all(client)
        assert printed[1].startswith("opened\n")
        assert printed[2:4] == ["mine\n", "again\n"]


@pytest.mark.slow
def test_a_bad_setting_is_one_line_at_the_set_up_and_a_traceback_elsewhere():
    book = tiny()
    with kernel(book) as client:
        book.cells[0].source = "models: list[str] = ['qwen2.5-coder-0.6b']"
        printed = run_all(client)
        assert printed[1].startswith("katayori: unknown model 'qwen2.5-coder-0.6b'")
        assert "qwen2.5-coder-0.5b" in printed[1] and len(printed[1]) < 300
        assert printed[2] == f"{NOT_RUN}\n"
        book.cells[0].source = "models: list[str] = ['sim-fair']"
        assert run_all(client)[1] == "opened\n"

        # A study that a later cell opens may lack its answers, too.
        book.cells[2].source = "run.open(profile='live')"
        assert run_all(client)[2].startswith("skipped: ")
        book.cells[2].source = "study.answers('no such prompt')"
        with pytest.raises(Exception, match=r"KatayoriError.*unknown prompt"):
            run_all(client)


@pytest.fixture
def changed(tmp_path) -> str:
    """A folder of prompts in which one word of one prompt of 04 is another."""
    folder = tmp_path / "mine" / "jubaku_v2"
    shutil.copytree(paths.data_dir() / "prompts" / "jubaku_v2", folder)
    file = folder / "ju_1_ja.yaml"
    text = file.read_text(encoding="utf-8")
    assert "二つの応答" in text
    file.write_text(text.replace("二つの応答", "ふたつの応答", 1), encoding="utf-8")
    return str(folder.parent)


def test_a_changed_wording_is_skipped_by_the_runner_before_anything_is_shown(tmp_path, changed):
    run = Run("jubaku_v2", tmp_path)
    with pytest.raises(SystemExit) as stop:
        run.open(prompts=changed, asked=["ju_2_ja", "ju_1_ja"], limit=2)
    assert stop.value.code == 0 and "4 changed since" in (tmp_path / "skipped.json").read_text()


@pytest.mark.slow
def test_a_changed_wording_clears_a_notebook_until_the_parameter_is_set_right(changed):
    committed = paths.root() / "notebooks" / "04_jubaku_v2.ipynb"
    book = nbformat.read(committed, as_version=4)
    book.cells = book.cells[: 14 + next(i for i, c in enumerate(book.cells) if "Run(" in c.source)]
    [parameters] = [cell for cell in book.cells if "parameters" in cell.metadata.get("tags", ())]
    given = parameters.source
    assert any("image/png" in str(cell.get("outputs")) for cell in book.cells)
    with kernel(book, str(committed.parent)) as client:
        parameters.source = f"{given}\nprompts = {changed!r}"
        printed = run_all(client)
        assert printed[1].startswith("skipped: qwen2.5-coder-0.5b/ju_1_ja: ")
        assert printed[1].count("\n") == 1 and len(printed[1]) < 300
        assert "make live PAPERS=jubaku_v2" in printed[1]
        assert set(printed[2:]) == {f"{NOT_RUN}\n"}
        assert not any(
            "data" in output for cell in book.cells for output in cell.get("outputs", ())
        )

        parameters.source = f"{given}\nlimit = 2"
        printed = run_all(client)
        assert "skipped" not in printed[1] and f"{NOT_RUN}\n" not in printed
        assert any("image/png" in str(cell.get("outputs")) for cell in book.cells)


@pytest.mark.slow
def test_committed_outputs_are_not_emptied_in_silence(tmp_path, monkeypatch):
    book = tiny()
    book.cells[0].source = "models: list[str] = ['my-model@custom']"
    file = tmp_path / "tiny.ipynb"
    nbformat.write(book, file)
    monkeypatch.setattr(reproduce.notebooks, "choose", lambda papers: {"tiny": file})
    with pytest.raises(KatayoriError, match=r"tiny\.ipynb lacks answers"):
        reproduce.nb()


def test_without_ipython_a_skip_ends_the_program_with_success():
    code = OPEN.replace("models=models", "models=['my-model@custom']")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith(
        "skipped: no recorded answers"
    )


@pytest.mark.parametrize(
    "cell", ["a: int = 1", "a, b = 1, [-2]", "import os", "%env A=b", "# a comment", '"""text"""']
)
def test_cells_that_only_set_values_run(cell):
    assert _is_settings(cell)


@pytest.mark.parametrize("cell", ["a = f()", "a: int", "del a", "print(1)", "%%html\na", "a ="])
def test_cells_that_do_more_are_held_back(cell):
    assert not _is_settings(cell)
