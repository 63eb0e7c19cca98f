"""The house itself: rooms know only lower rooms, the top level is the design card's."""

import ast
import subprocess
import sys

import pytest

from katayori import paths
from katayori.data.paper_facts import names as rooms

LIB = paths.root() / "lib" / "katayori"
TOOLS = paths.root() / "lib" / "katayori_tools"
#: What a room may import from, beside itself, `errors` and `paths` (contracts and house sketch).
MAY_KNOW = {
    "data": set(),
    "prompting": {"data"},
    "metrics": set(),
    # A claim is judged by scores, and by the same scores of what chance alone would have made.
    "papers": {"data", "prompting", "metrics"},
    "report": {"data", "metrics", "papers"},
}


def imported_rooms(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
        if isinstance(node, ast.ImportFrom) and node.module == "katayori":
            names = [f"katayori.{alias.name}" for alias in node.names]
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            parts = name.split(".")
            if parts[0] == "katayori" and len(parts) > 1 and parts[1] in MAY_KNOW:
                yield parts[1]


@pytest.mark.parametrize("room", MAY_KNOW)
def test_rooms_import_only_lower_rooms(room):
    for path in sorted((LIB / room).rglob("*.py")):
        wrong = set(imported_rooms(path)) - MAY_KNOW[room] - {room}
        assert not wrong, f"{path.name} of {room} imports {', '.join(sorted(wrong))}"


def _depends(path, package):
    """The modules of its own package that a file imports when it is loaded or later."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == package.name:
            for name in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names)):
                file = package.parent.joinpath(*name.split(".")).with_suffix(".py")
                if file.exists():
                    yield file


@pytest.mark.parametrize("package", [LIB, TOOLS], ids=lambda package: package.name)
def test_no_file_depends_on_one_that_depends_on_it(package):
    """Circles, imports within functions included; what starts the rest (cli) is a root."""
    known = {file: set(_depends(file, package)) for file in package.rglob("*.py")}
    while free := [file for file, needs in known.items() if not needs & known.keys()]:
        for file in free:
            del known[file]
    assert not known, "a circle among " + ", ".join(sorted(file.stem for file in known))


def test_the_library_and_the_notebooks_do_without_the_tools():
    notebooks = [
        f for f in (paths.root() / "notebooks").rglob("*") if f.suffix in (".ipynb", ".py")
    ]
    files = [f for f in LIB.rglob("*.py") if f.name != "__main__.py"] + notebooks
    assert not [f.name for f in files if "katayori_tools" in f.read_text(encoding="utf-8")]


def test_top_level_is_the_design_card():
    card = {
        "notebooks",
        "lib",
        "data",
        "outputs",
        "environment.yml",
        "Makefile",
        "README.md",
    }
    beside = {"LICENSE", "CITATION.cff"}  # read there by those who host and cite software
    listed = subprocess.run(["git", "-C", paths.root(), "ls-files"], capture_output=True, text=True)
    if listed.returncode or not listed.stdout:
        pytest.skip("not a git checkout")
    top = {line.split("/")[0] for line in listed.stdout.splitlines()}
    assert {name for name in top if not name.startswith(".")} == card | beside


def test_the_collector_process_stays_light():
    """Asking imports no pandas, scipy or plotting (a million requests are asked in one process)."""
    heavy = "('pandas', 'scipy', 'matplotlib')"
    code = f"import sys, katayori_tools.collect; print([m for m in {heavy} if m in sys.modules])"
    seen = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert seen.stdout.strip() == "[]"


def test_weights_of_the_registry_are_those_of_the_engines():
    """data/models.yaml and data/weights.yaml name the same digests."""
    import yaml

    from katayori.prompting.models import registry

    weights = yaml.safe_load((paths.data_dir() / "weights.yaml").read_text(encoding="utf-8"))[
        "weights"
    ]
    digests = {name: model.digest for name, model in registry()[1].items() if model.weights}
    assert digests == {name: entry["sha256"] for name, entry in weights.items()}


def test_a_paper_knows_no_other_paper():
    """What two papers need stands in a general room."""
    papers = LIB / "papers"
    for room in rooms():
        own = [*(papers / room).glob("*.py"), *papers.glob(f"{room}*.py")]
        assert own
        for path in own:
            text = path.read_text(encoding="utf-8")
            named = {one for one in set(rooms()) - {room} if f"katayori.papers.{one}" in text}
            assert not named, f"{path.name} of {room} imports {', '.join(named)}"
