"""Old names work for one version with one line on stderr, and then they go."""

import runpy
import shutil
import subprocess

import pandas as pd
import pytest
import yaml

import katayori
from katayori import paths, profiles, renamed
from katayori.errors import KatayoriError
from katayori.renamed import Renamed
from katayori_tools import cli, reproduce
from katayori_tools.choices import NotebookRun
from katayori_tools.options import filled

INVENTED = (
    Renamed("command", "weigh", "compare", "0.4"),
    Renamed("option", "--run", "--profile", "0.4", "compare"),
    Renamed("parameter", "wordings", "prompts", "0.4"),
    Renamed("parameter", "times", "draws", "0.4", "discrim_eval"),
    Renamed("field", "rows", "items", "0.4"),
    Renamed("column", "reply", "answer", "0.4", "answers"),
)


@pytest.fixture
def invented(monkeypatch):
    monkeypatch.setattr(renamed, "TABLE", INVENTED)
    renamed._tell.cache_clear()
    yield
    renamed._tell.cache_clear()


def told(capsys) -> list[str]:
    return capsys.readouterr().err.splitlines()


def test_an_old_name_is_told_once_and_replaced(invented, capsys):
    assert [renamed.current("command", "weigh") for _ in range(3)] == ["compare"] * 3
    line = "katayori: command weigh is now compare; weigh goes with version 0.4"
    assert told(capsys) == [line]


def test_a_name_of_today_is_left_alone(invented, capsys):
    assert renamed.current("command", "compare") == "compare"
    assert renamed.current("option", "weigh") == "weigh", "another kind"
    assert renamed.current("parameter", "times", "inter_jbbq") == "times", "another paper"
    assert not told(capsys)


def test_a_command_line_is_read_with_its_old_names(invented, monkeypatch, capsys):
    seen = []

    def compare(*, a, b, profile):
        seen.append((a, b, profile))

    monkeypatch.setattr("katayori_tools.compare.compare", compare)
    assert cli.main(["weigh", "a", "b", "--run=smoke"]) == 0
    assert cli.main(["weigh", "a", "b", "--run", "smoke"]) == 0
    assert seen == [("a", "b", "smoke")] * 2
    assert [line.split(";")[0] for line in told(capsys)] == [
        "katayori: command weigh is now compare",
        "katayori: option --run is now --profile",
    ]


def test_an_option_of_another_command_stays_unknown(invented, capsys):
    assert cli.main(["trace", "--run", "smoke"]) == 2
    assert "unrecognized arguments: --run" in capsys.readouterr().err


def plan(*parameters: str, papers: str) -> dict[str, dict]:
    """What each notebook would be given, by paper."""
    words = [word for parameter in parameters for word in ("-p", parameter)]
    args = cli._parser().parse_args(["reproduce", "--papers", papers, *words])
    run = filled(NotebookRun, vars(args))
    return {job.paper: job.parameters for job in reproduce.planned(run)}


def test_a_notebook_takes_the_old_name_of_a_parameter(invented, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    given = plan("wordings=own", "times=3", papers="discrim_eval,overview")
    assert given["discrim_eval"]["prompts"] == str(tmp_path / "own"), "made absolute as today's"
    assert given["discrim_eval"]["draws"] == 3
    assert "times" not in given["overview"]
    assert len(told(capsys)) == 2


def test_old_and_new_name_together_are_refused(invented):
    with pytest.raises(KatayoriError, match="parameter prompts is given twice"):
        plan("wordings=a", "prompts=b", papers="discrim_eval")


def test_a_profile_takes_the_old_name_of_a_field(invented, tmp_path, capsys):
    path = tmp_path / "own.yaml"
    path.write_text(yaml.safe_dump({"own": {"rows": "study", "answers": "live", "size": 3}}))
    assert profiles.load(str(path))["items"] == "study"
    assert told(capsys) == ["katayori: field rows is now items; rows goes with version 0.4"]


def test_a_frame_gets_the_columns_of_today(invented, capsys):
    frame = pd.DataFrame({"item_id": ["a"], "reply": ["yes"]})
    assert list(renamed.columns(frame, "answers").columns) == ["item_id", "answer"]
    assert list(renamed.columns(frame, "items").columns) == ["item_id", "reply"]
    assert len(told(capsys)) == 1
    with pytest.raises(KatayoriError, match="column answer is given twice"):
        renamed.columns(frame.assign(answer="no"), "answers")


def make(folder, *words: str) -> subprocess.CompletedProcess:
    command = ["make", "--no-print-directory", "-n", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


@pytest.fixture
def checkout(tmp_path):
    """The Makefile beside a table with one renamed variable."""
    shutil.copy(paths.root() / "Makefile", tmp_path)
    table = tmp_path / "lib" / "katayori" / "renamed.py"
    table.parent.mkdir(parents=True)
    source = (paths.root() / "lib" / "katayori" / "renamed.py").read_text(encoding="utf-8")
    invented = '\nTABLE = (\n    Renamed("variable", "PAPER", "PAPERS", "0.4"),\n)\n'
    head, line, rest = source.partition("\n\n\n@cache")
    table.write_text(head + invented + line + rest, encoding="utf-8")
    assert runpy.run_path(str(table))["TABLE"][0].new == "PAPERS"
    return tmp_path


def test_make_takes_the_old_name_of_a_variable(checkout):
    done = make(checkout, "reproduce", "PAPER=01 02")
    assert "reproduce --papers '01 02'" in done.stdout
    line = "katayori: variable PAPER is now PAPERS; PAPER goes with version 0.4"
    assert done.stderr.splitlines() == [line]


def test_make_says_nothing_of_a_variable_of_today(checkout):
    done = make(checkout, "reproduce", "PAPERS=01")
    assert "--papers '01'" in done.stdout and not done.stderr
    assert make(checkout, "reproduce", "PAPRE=01").returncode == 2


def test_make_sees_every_renamed_variable():
    done = subprocess.run(
        ["make", "-s", "--eval", "show: ; @echo $(RENAMED)", "show"],
        cwd=paths.root(),
        capture_output=True,
        text=True,
        check=True,
    )
    entries = [entry for entry in renamed.TABLE if entry.kind == "variable"]
    assert done.stdout.split() == [f"{entry.old}:{entry.new}:{entry.goes}" for entry in entries]


def test_no_entry_outlives_its_version():
    overdue = renamed.overdue(katayori.__version__)
    assert not overdue, "take these out of renamed.TABLE and what they kept working"


def test_an_entry_is_overdue_from_the_version_it_names(invented):
    assert not renamed.overdue("0.3.9")
    assert renamed.overdue("0.4.0") == list(INVENTED) == renamed.overdue("1.0.0")


def test_every_entry_is_of_a_known_kind():
    for entry in renamed.TABLE + INVENTED:
        assert entry.kind in renamed.KINDS and entry.old != entry.new
