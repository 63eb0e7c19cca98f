"""A sixth paper is a room, a notebook and its folders of data: nothing else is told of it.

The test adds a toy to a copy of the checkout and takes it through the commands a user has.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from api_double import Double
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from katayori import paths
from katayori.data.paper_facts import names as rooms
from katayori_tools import environment

ROOM = '''
"""Six questions with a plain yes or no."""

from katayori.papers.paper import Paper
from katayori.prompting.parsing import parse_yes_no
from katayori.prompting.requests import Response


class Toy(Paper):
    clusters = "questions"
    cluster_column = "item_id"
    options = ("yes", "no")
    shortest = "Answer: {}"

    def read(self, dataset, own):
        import pandas as pd

        from katayori.errors import UnavailableError

        if dataset != "study":
            raise UnavailableError("the toy has no items of others")
        texts = [f"{n} は偶数ですか。" for n in range(1, 7)]
        items = pd.DataFrame({"item_id": [f"toy-{n}" for n in range(1, 7)], "question": texts})
        return items.assign(even=[n % 2 == 0 for n in range(1, 7)]), "toy-study v1", []

    def parse(self, text):
        return parse_yes_no(text)

    def simulate(self, request):
        return Response("ok", "Answer: yes" if request.fields["even"] else "Answer: no", "stop")


PAPER = Toy()
'''
PROMPT = """
id: toy_line
version: 1
paper: toy
language: en
user: "{question}\\nThe last line of your reply is \\"Answer: yes\\" or \\"Answer: no\\"."
settings: {max_tokens: 64}
elements: [{requirement: TO-1, element: the question, line: "{question}"}]
"""
FACTS = """
id: toy
notebook: 06_toy
asks: does a model know even numbers?
measure: share of right answers
denominator: valid answers
status: here
page:
  title: Even or odd?
  ja: 偶数かどうかをたずねます。
  question: Does a model tell even numbers from odd ones?
  method: [Six questions are asked.]
  figure: none
  cannot_see: [Anything but even numbers.]
  differs: [There is no such paper.]
headlines:
  clusters: questions
  rows: [{what: share right, kind: ability, label: right answers, means: "1: all are right"}]
simulated: {sim-toy: Always right.}
recording: [{dataset: study, models: [smollm2-135m], prompts: [toy_line]}]
"""
CELLS = [
    """
profile: str = "recorded"  # a name or a file
models: list[str] = []  # empty: the simulated respondent
prompts: str = ""  # a folder of wordings
limit: int = 0  # so many questions
output_dir: str = ""  # given by the runner
""",
    """
import pandas as pd

from katayori import profiles
from katayori.errors import UnavailableError
from katayori.metrics.shares import cluster_share
from katayori.papers import answers
from katayori.papers.items import read_items
from katayori.prompting.prompts import load_prompts
from katayori.report.run import Run
from katayori.report.tables import glossary
from katayori.report.tables import show

chosen = profiles.load(profile)
run = Run("toy", output_dir, profile=profile, models=models, prompts=prompts, limit=limit)
try:
    read = read_items("toy", chosen["items"], limit=limit or chosen["size"])
    prompt = load_prompts("toy", prompts)["toy_line"]
    names = models or ["sim-toy"]
    frame = answers.get(read.items, prompt, names, source=chosen["answers"])
except UnavailableError as error:
    run.skip(str(error))
""",
    """
frame["correct"] = (frame["answer"] == "yes") == frame["even"]
for (model, source), own in frame.groupby(["model", "source"]):
    share = cluster_share(own["correct"].astype(int).tolist(), [1] * len(own))
    row = dict(model=model, source=source, prompt_id=prompt.id, n_invalid=0, clusters=len(own))
    row = pd.DataFrame([{**row, **share, "n": len(own)}])
    told = dict(requirement="TO-1", dataset=read.name, headline=True, unit="share")
    run.keep("share_right", row, what="share right", **told)
""",
    """
show(glossary("toy"), caption="Terms")
run.answers(frame)
show(run.save(datasets={read.name: "1"}, prompts={prompt.id: prompt.hash},
              **answers.provenance("toy", names, frame)), caption="Rows")
""",
]
#: Large and only read: the copy links to them.
LINKED = ("recorded", "published", "simulated", "expected", "study", "wordings")
IDS = re.compile("|".join(rooms()))


def notebook() -> dict:
    cells = [new_code_cell(source.strip(), id=f"cell-{n}") for n, source in enumerate(CELLS)]
    cells[0].metadata["tags"] = ["parameters"]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    about = {"kernelspec": kernel, "language_info": {"name": "python"}}
    title = new_markdown_cell("# 06 Even or odd?\n\n偶数かどうか", id="title")
    return new_notebook(cells=[title, *cells], metadata=about)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.lstrip(), encoding="utf-8")


def copied(root: Path) -> Path:
    """The checkout without what is large, private or made; the large data are links."""
    ours = paths.root()
    left_out = shutil.ignore_patterns("__pycache__", ".*_cache", "tests", "benchmarks")
    shutil.copytree(ours / "lib", root / "lib", ignore=left_out)
    shutil.copytree(ours / "notebooks", root / "notebooks")
    shutil.copytree(ours / "data", root / "data", ignore=shutil.ignore_patterns(*LINKED))
    for name in LINKED:
        (root / "data" / name).symlink_to(ours / "data" / name)
    shutil.copytree(ours / ".github", root / ".github")
    for name in ("README.md", "Makefile", "CITATION.cff"):
        shutil.copy(ours / name, root)
    return root


@pytest.fixture(scope="module")
def checkout(tmp_path_factory) -> Path:
    """A copy of the checkout with a sixth paper, whose files are all new."""
    root = copied(tmp_path_factory.mktemp("sixth") / "house")
    write(root / "lib" / "katayori" / "papers" / "toy.py", ROOM)
    data = root / "data"
    write(data / "papers" / "toy.yaml", FACTS)
    write(data / "prompts" / "toy" / "toy_line.yaml", PROMPT)
    write(root / "notebooks" / "06_toy.ipynb", json.dumps(notebook()))
    return root


def katayori(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A command in the copy, which must end well."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("KATAYORI_")}
    env = kept | {"PYTHONPATH": str(root / "lib"), "KATAYORI_CACHE": str(root / "cache")}
    command = [sys.executable, "-m", "katayori", *words]
    done = subprocess.run(command, cwd=root, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.mark.slow_all
def test_a_sixth_paper_is_reproduced_and_asked_and_has_its_page(checkout):
    katayori(checkout, "reproduce", "--papers", "toy")
    folder = checkout / "outputs" / "recorded"
    [row] = json.loads((folder / "toy" / "results.json").read_text(encoding="utf-8"))
    found = row["what"], row["value"], row["n"], row["source"]
    assert found == ("share right", 1, 6, "simulated")
    environment.setup_site()
    katayori(checkout, "site", "--no-interface")
    page = (folder / "site" / "toy.html").read_text(encoding="utf-8")
    assert "Even or odd?" in page and "Does a model tell even numbers" in page
    assert "toy.html" in (folder / "site" / "papers.html").read_text(encoding="utf-8")
    named = ["--papers", "toy", "--models", "my-model@custom"]
    with Double(answer="Answer: yes") as double:
        katayori(checkout, "live", *named, "--base-url", double.url)
        assert double.asked == 6
    run = checkout / "outputs" / "live" / "my-model@custom" / "toy"
    [row] = json.loads((run / "results.json").read_text(encoding="utf-8"))
    assert (row["value"], row["source"]) == (0.5, "live")  # it always says yes
    assert "right answers" in (run / "report.html").read_text(encoding="utf-8")


@pytest.mark.slow_all
def test_the_other_commands_know_a_sixth_paper(checkout):
    katayori(checkout, "review", "--papers", "toy")
    file = checkout / "template.csv"
    named = ["--papers", "toy", "--models", "m@custom"]
    assert "6 requests about 6 questions" in katayori(checkout, "template", *named, file).stdout


def test_no_general_room_names_a_paper():
    """An id occurs in the paper's room, notebook, prompts and data folders only.

    The tools may name papers: what only one of them needs stands in one table of a tool.
    """
    folder = paths.root() / "lib" / "katayori"
    files = [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc"
    ]
    beside = {f"{room}{end}" for room in rooms() for end in ("", ".py")}
    of_rooms = {path for path in (folder / "papers").iterdir() if path.name in beside}
    # The shape of a paper's own data files lies with the shapes of data.
    of_rooms |= {folder / "data" / f"{room}_schema.py" for room in rooms()}
    assert len({path.name.split(".")[0] for path in of_rooms} & set(rooms())) == len(rooms())
    general = [path for path in files if not of_rooms & {path, *path.parents}]
    named = [
        f"{path.relative_to(folder)}:{number}: {line.strip()}"
        for path in general
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if IDS.search(line)
    ]
    assert len(general) > 50 and not named, "\n".join(named)
