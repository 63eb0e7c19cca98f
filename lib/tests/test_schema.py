"""What stands in YAML files: every file of ours is read as its schema, and whatever is wrong in one
is said in one plain line that names the place.
"""

import copy
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import Field

from katayori import paths
from katayori.data import (
    discrim_eval_schema as discrim_eval,
    inter_jbbq_schema as inter_jbbq,
    logprob_judge_schema as logprob_judge,
)
from katayori.data.files import read_as, read_checked
from katayori.data.jubaku_v2_schema import CaseFile
from katayori.data.schema import Count, Schema, Text, block_of, checked
from katayori.errors import KatayoriError
from katayori.profiles import Profile
from katayori.prompting.models import Endpoint, Model
from katayori.prompting.prompts import Prompt
from katayori_tools import forms, paper_files


class ListedEndpoint(block_of(Endpoint)):
    """An endpoint of ours, named by its block."""

    name: str = ""


class ListedModel(block_of(Model)):
    """A model of ours: some have none to ask, some are asked at several endpoints."""

    vendor_id: str | None
    endpoint: str | list[str]


class ModelsFile(Schema):
    """The registry, whose entries are read one by one."""

    endpoints: dict[str, ListedEndpoint]
    models: list[ListedModel]


#: Files below the checkout -> what each is read as.
KINDS: dict[str, Any] = {
    "data/models.yaml": ModelsFile,
    "data/profiles.yaml": dict[str, block_of(Profile)],
    "data/prompts/*/*.yaml": Prompt,
    "data/forms.yaml": dict[str, Text | dict[str, Text]],
    "data/study/jubaku_v2/seeds.yaml": forms.SeedFile,
    "data/papers/*.yaml": paper_files.PaperFile,
    "data/study/discrim_eval/questions.yaml": discrim_eval.QuestionFile,
    "data/study/logprob_judge/[!e]*.yaml": logprob_judge.TaskFile,
    "data/study/jubaku_v2*/cases.yaml": CaseFile,
    "data/study/inter_jbbq/lexicons.yaml": inter_jbbq.LexiconFile,
    "data/study/inter_jbbq/[!l]*.yaml": inter_jbbq.TopicFile,
    "data/study/inter_jbbq/lessons.yaml": inter_jbbq.TopicFile,
    "data/wordings/*/*/*.yaml": Prompt,
}
#: Words of pydantic and of Python that a user of a YAML file need not know.
JARGON = r"Input should|pydantic|https?:|type=|Value error|\bvalidat|\bNone\b|\bdict\b|\bmodel_type"


def files_of(pattern: str) -> list[Path]:
    return sorted(paths.root().glob(pattern))


def nodes(content: Any, path: tuple = ()) -> Iterator[tuple]:
    """The path of everything in a document."""
    yield path
    steps: list = []
    if isinstance(content, dict):
        steps = list(content)
    elif isinstance(content, list):
        steps = list(range(len(content)))
    for step in steps:
        yield from nodes(content[step], (*path, step))


def changed(content: Any, path: tuple, value: Any) -> Any:
    """The document with another value at a path."""
    if not path:
        return value
    content = copy.deepcopy(content)
    block = content
    for step in path[:-1]:
        block = block[step]
    block[path[-1]] = value
    return content


def lacking(content: Any, path: tuple) -> Any:
    """The document without what stands at a path."""
    content = copy.deepcopy(content)
    block = content
    for step in path[:-1]:
        block = block[step]
    del block[path[-1]]
    return content


def problem(kind: Any, content: Any) -> str:
    """The message of a document, empty where nothing is wrong."""
    try:
        checked(kind, content, "file x.yaml")
    except KatayoriError as error:
        return str(error)
    return ""


# -- all files of ours -----------------------------------------------------------------------------


@pytest.mark.parametrize("pattern", KINDS)
def test_every_file_is_read_and_stays_as_it_is(pattern):
    files = files_of(pattern)
    assert files
    for file in files:
        raw = yaml.safe_load(file.read_text(encoding="utf-8"))
        assert read_checked(KINDS[pattern], file) == raw
        found = read_as(KINDS[pattern], file)
        if isinstance(found, Schema):
            assert repr(sorted_blocks(found.model_dump(by_alias=True, exclude_unset=True))) == repr(
                sorted_blocks(raw)
            ), file


def sorted_blocks(content: Any) -> Any:
    """The same content with the names of each block in order, to compare types as well."""
    if isinstance(content, dict):
        return {name: sorted_blocks(content[name]) for name in sorted(content, key=str)}
    if isinstance(content, list):
        return [sorted_blocks(one) for one in content]
    return content


@pytest.mark.parametrize("pattern", KINDS)
def test_whatever_is_wrong_is_one_plain_line(pattern):
    """Values of another kind, fields left out and fields too many, at places drawn by a seed."""
    seen = 0
    draw = random.Random(1)
    for file in draw.sample(files_of(pattern), min(3, len(files_of(pattern)))):
        raw = yaml.safe_load(file.read_text(encoding="utf-8"))
        places = list(nodes(raw))
        for path in draw.sample(places, min(60, len(places))):
            wrong = [changed(raw, path, value) for value in (None, 7.5, [], {}, "", [{}], True)]
            wrong.append(changed(raw, path, {"no_such_field": 1}))
            if path:
                wrong.append(lacking(raw, path))
            for content in wrong:
                message = problem(KINDS[pattern], content)
                if message:
                    seen += 1
                    assert "\n" not in message and message.startswith("file x.yaml: "), message
                    given = message.partition("known: ")[0]
                    assert not re.search(JARGON, given), message
    assert seen > 20, "no change was noticed: the schema checks nothing"


# -- one line --------------------------------------------------------------------------------------


class Weights(Schema):
    file: Text
    bytes: Count
    asked_at: str | list[str] = ""
    names: dict[str, str] = Field(default_factory=dict)


class Registry(Schema):
    weights: list[Weights]


GOOD = {"file": "a.gguf", "bytes": 12}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"bytes": "12"}, "weights[0].bytes must be a whole number, not '12'"),
        ({"bytes": True}, "weights[0].bytes must be a whole number, not true"),
        ({"bytes": 0}, "weights[0].bytes must be at least 1, not 0"),
        ({"file": " "}, "weights[0].file must not be empty"),
        ({"file": None}, "weights[0].file must be a text, not null"),
        ({"file": False}, "weights[0].file must be a text, not false (put it in quotes)"),
        ({"file": "x" * 99, "bytes": []}, "weights[0].bytes must be a whole number, not []"),
        ({"asked_at": 3}, "weights[0].asked_at must be a text or a list, not 3 (put it in quotes)"),
        ({"asked_at": ["a", 3]}, "weights[0].asked_at[1] must be a text, not 3 (put it in quotes)"),
        ({"names": {1: "a"}}, "weights[0].names: the name 1 must be a text, not 1"),
        ({"names": {"a": None}}, "weights[0].names.a must be a text, not null"),
        ({"size": 1}, "weights[0]: unknown field 'size'; known: file, bytes, asked_at, names"),
        ({1: 1}, "weights[0]: unknown field 1; known: file, "),
    ],
)
def test_a_wrong_value_is_named_with_its_place(change, says):
    assert f"file x.yaml: {says}" in problem(Registry, {"weights": [GOOD | change]})


def test_what_is_missing_and_what_is_no_block():
    assert problem(Registry, {"weights": [GOOD, {}]}) == "file x.yaml: weights[1] lacks file, bytes"
    assert problem(Registry, {}) == "file x.yaml: lacks weights"
    assert problem(Registry, None) == "file x.yaml: it must be a block of named fields, not null"
    assert problem(list[Weights], [3]) == "file x.yaml: [0] must be a block of named fields, not 3"
    assert problem(dict[str, Weights], {"a": {"file": "b"}}) == "file x.yaml: a lacks bytes"


def test_a_file_is_named_and_read_again_when_it_changes(tmp_path):
    file = tmp_path / "w.yaml"
    file.write_text("{file: a, bytes: 1}")
    assert read_as(Weights, file, "list of weights").bytes == 1
    file.write_text("{file: a, bytes: none}")
    with pytest.raises(KatayoriError, match=r"^list of weights w\.yaml: bytes must be a whole num"):
        read_as(Weights, file, "list of weights")
    file.write_text("{file: a, bytes: 2}")
    assert read_as(Weights, file, "list of weights").bytes == 2


def test_commands_that_read_nothing_do_not_wait_for_pydantic():
    code = (
        "import sys, katayori_tools.cli, katayori_tools.collect, katayori_tools.reproduce\n"
        "print('pydantic' in sys.modules)"
    )
    seen = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert seen.stdout.strip() == "False"
