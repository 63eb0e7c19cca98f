"""Where runs of a user's models lie, and how compare, notebook 00 and the site find them."""

import re

import pytest
from hypothesis import given, strategies as st
from one_row import add_row

from katayori import paths, run_folders
from katayori.errors import KatayoriError
from katayori.report.run import Run
from katayori_tools import cli
from katayori_tools.compare import find_runs

LIVE = {"name": "live", "answers": "live"}
RECORDED = {"name": "recorded", "answers": "recorded"}
NAMES = ("my-model@custom", "Org/Model-7B@vllm", "llama3:8b@ollama")


@pytest.fixture
def outputs(tmp_path, monkeypatch):
    monkeypatch.setenv("KATAYORI_OUTPUTS", str(tmp_path))
    monkeypatch.delenv("KATAYORI_LABEL", raising=False)
    return tmp_path


def write(folder, paper, *models, source="live", value=0.5):
    """A run folder with a result a model and paper, and a simulated one beside it."""
    run = Run(paper, folder / paper, models=list(models))
    for model in (*models, "sim-x"):
        about = {"model": model, "source": "simulated" if model == "sim-x" else source}
        add_row(
            run, "X-1", "rate", value, ci=(value - 0.1, value + 0.1), headline=True, n=9, **about
        )
    run.save()


@pytest.mark.parametrize("name", ["my-model@custom", "table_2_qwen2.5-coder-0.5b", "モデル@vllm"])
def test_a_plain_name_stays(name):
    assert paths.safe_name(name) == name


@pytest.mark.parametrize(
    "name", ["Org/M@vllm", "a:b@ollama", "", "..", "a b", "-x", "con/", "x" * 999]
)
def test_any_other_name_is_marked(name):
    safe = paths.safe_name(name)
    assert re.fullmatch(r"[\w@][\w.@-]*-[0-9a-f]{6}", safe)
    assert len(safe.encode()) < 200


@given(st.lists(st.text(max_size=12), min_size=2, max_size=2, unique=True))
def test_two_names_are_two_files_on_every_file_system(names):
    one, other = (paths.safe_name(name).casefold() for name in names)
    assert one != other


def test_a_run_has_the_folder_of_its_models_or_label(outputs):
    one, two = (run_folders.run_folder(LIVE, models) for models in (NAMES[:1], NAMES[:2]))
    assert one == outputs / "live" / "my-model@custom"
    assert two == outputs / "live" / "my-model@custom+Org-Model-7B@vllm-92585f"
    assert run_folders.run_folder(LIVE, NAMES, "gpu-2") == outputs / "live" / "gpu-2"
    assert run_folders.run_folder(RECORDED, NAMES) == outputs / "recorded"
    many = run_folders.run_folder(LIVE, [f"model-{n}-{'x' * 40}@custom" for n in range(20)])
    assert len(many.name.encode()) < 255


def test_a_run_is_found_by_model_label_profile_and_folder(outputs):
    write(outputs / "live" / "my-model@custom", "discrim_eval", "my-model@custom")
    folder = outputs / "live" / "my-model@custom"
    for name in ("my-model@custom", "live", "live/my-model@custom", str(folder)):
        assert find_runs(name) == [folder]
    assert run_folders.only_run(LIVE) == folder
    write(outputs / "live" / "gpu-2", "discrim_eval", NAMES[1])
    assert find_runs("gpu-2") == [outputs / "live" / "gpu-2"]
    with pytest.raises(KatayoriError, match="gpu-2, my-model@custom; name"):
        run_folders.only_run(LIVE)
    assert find_runs("nothing") == find_runs("") == []


def test_a_label_cannot_hold_two_models(outputs, monkeypatch, capsys):
    monkeypatch.setenv("KATAYORI_LABEL", "gpu-2")
    write(outputs / "live" / "gpu-2", "discrim_eval", "my-model@custom")
    words = ["reproduce", "--papers", "1", "--profile", "live", "--models", "other@custom"]
    assert cli.main(words) == 2
    said = capsys.readouterr().err
    assert "my-model@custom under the label gpu-2" in said
    assert len(said.splitlines()) == 1


def test_compare_says_why_it_pairs_nothing(outputs, capsys):
    write(outputs / "live" / "gpu-2", "discrim_eval", NAMES[0])
    write(outputs / "recorded", "discrim_eval", "m", "n", source="recorded")
    has = "'recorded' has answers of m, n; '{}' has answers of {}; name one model of each"
    for sides, told in (
        (("recorded", "gpu-2"), has.format("gpu-2", NAMES[0])),
        (("recorded", "n"), has.format("n", "n")),
        (("gpu-2", "gpu-2"), "are the same: name two models or two runs"),
        (("gpu-2", "live/gpu-2"), "are the same"),
        (("recorded", "recorded"), "are the same"),
        (("n", "n"), "are the same"),
        (("gpu-2", NAMES[0]), "nothing to compare under"),
    ):
        assert cli.main(["compare", *sides]) == 2
        said = capsys.readouterr()
        assert told in said.err and said.err.count("\n") == 1 and said.out == "", sides
    assert not (outputs / "compare").exists()
    assert cli.main(["compare", "n", "gpu-2"]) == 0


def test_compare_says_which_papers_are_shared(outputs, capsys):
    write(outputs / "live" / "my-model@custom", "discrim_eval", "my-model@custom")
    write(outputs / "recorded", "jubaku_v2", "m", source="recorded")
    assert cli.main(["compare", "my-model@custom", "m"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.count("\n") == 1
    assert "no paper is in both: 'my-model@custom' has discrim_eval; 'm' has jubaku_v2" in told.err


def test_a_model_live_and_imported_is_named_by_its_folder(outputs, capsys):
    for way in ("live", "imported"):
        write(outputs / way / "my-model@custom", "discrim_eval", "my-model@custom", source=way)
    assert cli.main(["compare", "my-model@custom", "recorded"]) == 2
    assert "imported/my-model@custom, live/my-model@custom" in capsys.readouterr().err
    assert cli.main(["compare", "live/my-model@custom", "imported/my-model@custom"]) == 0


def test_the_overview_asks_nobody(outputs, capsys):
    assert cli.main(["live", "--papers", "overview", "--models", "my-model@custom"]) == 2
    said = capsys.readouterr().err
    assert "asks nobody" in said
    assert "make reproduce PAPERS=overview PROFILE=live MODELS='my-model@custom'" in said
    assert len(said.splitlines()) == 1
