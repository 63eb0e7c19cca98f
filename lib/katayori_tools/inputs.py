"""What a user gives is checked before a kernel starts, a request is sent or anything is
overwritten.

Every mistake is a KatayoriError: one line that names cause and remedy. Nothing heavy is imported
until the cheap checks are through.
"""

import os
import re
import sys
import tempfile
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from katayori import paths
from katayori.data.files import read_text, read_yaml
from katayori.errors import KatayoriError
from katayori.papers import get_paper, paper_ids
from katayori.papers.items import OwnItems, check_limit, own_files, read_items
from katayori.prompting.exchange import read_answers
from katayori.prompting.requests import Response

#: Every variable that the code reads, but for those that end in the name of an endpoint or weights.
VARIABLES = (
    "KATAYORI_API_KEY",
    "KATAYORI_BASE_URL",
    "KATAYORI_CACHE",
    "KATAYORI_CI",
    "KATAYORI_FRESH",
    "KATAYORI_LABEL",
    "KATAYORI_MIRROR",
    "KATAYORI_OUTPUTS",
    "KATAYORI_ROOT",
    "KATAYORI_WEIGHTS_FROM_WHEELS",
)
#: Address and limits of an endpoint: its name follows, in capitals, `_` for `-`.
OF_ENDPOINT = (
    "KATAYORI_BASE_URL_",
    "KATAYORI_RPM_",
    "KATAYORI_TPM_",
    "KATAYORI_CONCURRENCY_",
)
OF_WEIGHTS = "KATAYORI_WEIGHTS_"
LIKE = 0.88  # as similar as this is taken for a slip of the pen


# -- environment variables -------------------------------------------------------------------------


def check_environment() -> None:
    """KatayoriError for a KATAYORI_ variable that is a known one misspelt; other unknown ones are
    nobody's business.
    """
    given = [name for name in os.environ if name.upper().startswith("KATAYORI")]
    unknown = [name for name in given if name not in VARIABLES]
    known = known_variables() if unknown else []
    for name in sorted(set(unknown) - set(known)):
        for near in get_close_matches(name, known, n=1, cutoff=LIKE):
            problem = f"the environment variable {name} is unknown; do you mean {near}?"
            raise KatayoriError(f"{problem} (unset {name} otherwise)")


def known_variables() -> list[str]:
    """Every variable of `VARIABLES`, and one for each endpoint's limits and each model's
    weights.
    """
    endpoints = _names_in("models.yaml", "endpoints")
    weights = _names_in("weights.yaml", "weights")
    of_endpoints = [start + name for start in OF_ENDPOINT for name in endpoints]
    return [*VARIABLES, *of_endpoints, *(OF_WEIGHTS + name for name in weights)]


def _names_in(file: str, block: str) -> list[str]:
    """The keys of one block of a file of ours, as they end a variable's name; none where it cannot
    be read.

    Read without its schema: it is done before every command, and what is wrong with the file is
    said where its content is used.
    """
    try:
        names = read_yaml(paths.registry(file), "data file")[block]
    except (KatayoriError, KeyError, TypeError):
        return []
    return [re.sub(r"\W", "_", str(name)).upper() for name in names]


# -- files and folders -----------------------------------------------------------------------------


def check_path(name: str, value: str) -> None:
    """KatayoriError for an input that is not there, or is a folder for a file or a file for a
    folder.
    """
    known = own_files()
    kind = known[name][1].is_a if name in known else "file or folder"
    path = Path(value)
    if not os.path.exists(path):
        raise KatayoriError(f"{name}: there is no {value}; name a {kind} that exists")
    if kind == "file" and path.is_dir():
        raise KatayoriError(f"{name}: {value} is a folder; name a file in it")
    if kind == "folder" and not path.is_dir():
        raise KatayoriError(f"{name}: {value} is a file; name the folder that holds it")
    if path.is_file():
        read_text(path, name)  # says so where it is not UTF-8


def writable(folder: Path, variable: str) -> None:
    """KatayoriError where files cannot be written to a folder: read-only, full, or a file of that
    name.

    `variable` names the environment variable that moves the folder.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"\0" * 65_536)
            file.flush()
    except OSError as error:
        problem = f"cannot write to {folder} ({error.strerror or error})"
        raise KatayoriError(
            f"{problem}; make room or name another folder with {variable}"
        ) from None


def output_file(name: str, suffixes: Iterable[str]) -> Path:
    """The path of a file to write: its folder must be there and writable, and no file may lie there
    yet.
    """
    path = Path(name)
    known = " or ".join(suffixes)
    if path.suffix not in suffixes:
        raise KatayoriError(f"export to {path.name}: the file name must end in {known}")
    if not path.parent.is_dir():
        raise KatayoriError(f"{path.parent} is no folder; make it first, nothing was written")
    if path.exists():
        raise KatayoriError(f"{path} exists, and may hold answers; name another file or remove it")
    if not os.access(path.parent, os.W_OK):
        raise KatayoriError(f"cannot write to {path.parent} (read-only); name another folder")
    return path


# -- items of the user's ---------------------------------------------------------------------------


def own_items(own: Mapping[str, str], papers: Iterable[str] = ()) -> OwnItems:
    """The user's own items as the command was given them, by name, each path checked.

    KatayoriError for a path that is wrong, and for items that none of the papers takes.
    """
    papers = list(papers)
    given = {name: value for name, value in own.items() if value}
    own_of_papers = OwnItems(**given)
    for name, value in own_of_papers.items():
        owners, file = own_files()[name]
        if papers and not set(owners) & set(papers):
            wanted = " and ".join(owners)
            raise KatayoriError(f"--{name} is for {wanted}, which is not asked (PAPERS=)")
        if file.is_a != "setting":
            check_path(name, value)
    return own_of_papers


def parameters_of(paper: str, values: dict[str, Any], papers: list[str]) -> dict[str, Any]:
    """The parameters of one notebook of a run of several: own items of the other papers left
    out.
    """
    owners = {name: set(papers_of) for name, (papers_of, _) in own_files().items()}
    others = {name: of - {paper} for name, of in owners.items() if paper not in of}
    elsewhere = [name for name, of in others.items() if of & set(papers)]
    return {name: value for name, value in values.items() if name not in elsewhere}


# -- a run of notebooks ----------------------------------------------------------------------------


def check_run(paper: str, profile: dict[str, Any], parameters: dict[str, Any]) -> None:
    """Read everything a notebook will read of the user's, in this process: limit, answers, items.

    KatayoriError for whatever is wrong with it, before a kernel starts.
    """
    if paper not in paper_ids():
        return
    if "limit" in parameters:
        check_limit(parameters["limit"])
    own = {name: parameters[name] for name in own_files() if parameters.get(name)}
    for name, value in own.items():
        if own_files()[name][1].is_a != "setting":
            check_path(name, value)
    answers_file = parameters.get("answers_file") or ""
    imported = profile["answers"] == "imported"
    if answers_file and not imported:
        kind = f"{profile['name']} ({profile['answers']} answers)"
        raise KatayoriError(f"answers_file is read with PROFILE=imported, not {kind}")
    notes = _check_imported(paper, parameters) if imported else []
    if own or answers_file:
        limit = parameters.get("limit") or profile["size"]
        read_items(
            paper, profile["items"], limit=limit, own=OwnItems(**own), answers_file=answers_file
        )
    for line in notes:
        print(f"{paper:<16} {line}", file=sys.stderr)


def _check_imported(paper: str, parameters: dict[str, Any]) -> list[str]:
    """Check the models and answers of an imported run; what to say of each model's answers."""
    from katayori.prompting.models import get_model
    from katayori.prompting.prompts import load_prompts

    file = parameters.get("answers_file")
    if not parameters.get("models"):
        raise KatayoriError("imported answers need a model: MODELS=my-model@custom, as in the file")
    if not file:
        raise KatayoriError('name the file of answers: ARGS="-p answers_file=/path/to/answers.csv"')
    name = Path(file).name
    answers = read_answers(file)
    models = {key[2] for key in answers}
    prompt_ids = load_prompts(paper, parameters.get("prompts") or "").keys()
    notes = []
    for model_id in (get_model(asked)[0].id for asked in parameters["models"]):
        if model_id not in models:
            known = ", ".join(sorted(models)) or "none"
            raise KatayoriError(f"{name} holds no answer of {model_id!r}; its models: {known}")
        own = [a for key, a in answers.items() if key[2] == model_id and key[1] in prompt_ids]
        if not own:
            raise KatayoriError(f"{name} holds no answer of {model_id!r} to a prompt of {paper}")
        notes.append(f"{name}: {_probabilities(paper, model_id, own)}")
    return notes


def _probabilities(paper: str, model_id: str, answers: list[Response]) -> str:
    """How many answers carry log probabilities, and what lacks them where a method needs them."""
    carried = sum(bool(answer.top) for answer in answers)
    counts = f"{len(answers)} answers of {model_id}, {carried} with log probabilities"
    lacking = len(answers) - carried
    if not get_paper(paper).needs_probabilities or not lacking:
        return counts
    remedy = "a .csv file carries none, in a .jsonl file `top` of a row gives them"
    return f"{counts}; the proposed method needs them, {lacking} answers lack them ({remedy})"


def papers_of_answers(file: str, papers: Iterable[str]) -> list[str]:
    """The papers whose prompts an answers file has rows of. KatayoriError where there is none."""
    from katayori.prompting.prompts import load_prompts

    prompt_ids = {key[1] for key in read_answers(file)}
    held = [paper for paper in papers if prompt_ids & load_prompts(paper).keys()]
    if not held:
        known = ", ".join(sorted(prompt_ids)[:5]) or "none"
        raise KatayoriError(f"{Path(file).name} answers no prompt of ours; its prompts: {known}")
    return held
