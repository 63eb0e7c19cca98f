"""What stands around the code: version, changelog, citation, links, and the files GitHub reads.

The workflows cannot run here. A checker with GitHub's schemas reads them, and each check is shown
to see a spoilt file.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import check_jsonschema
import pytest
import yaml
from click.testing import CliRunner, Result

import katayori
from katayori import paths

ROOT = paths.root()
GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
FORMS = sorted(
    set((GITHUB / "ISSUE_TEMPLATE").glob("*.yml")) - {GITHUB / "ISSUE_TEMPLATE/config.yml"}
)
CHANGELOG = ROOT / "lib" / "CHANGELOG.md"
#: What apt may install in a workflow; every other step is a target of make.
BROWSER = "apt-get update && apt-get install -y --no-install-recommends chromium"


def tracked() -> list[str]:
    done = subprocess.run(["git", "-C", ROOT, "ls-files"], capture_output=True, text=True)
    if done.returncode or not done.stdout:
        pytest.skip("not a git checkout")
    return done.stdout.splitlines()


# -- version and changelog -----------------------------------------------------------------------


def test_the_version_stands_in_one_file():
    """The changelog has a test of its own; the lock names versions of others."""
    number = re.compile(rf"(?<![\d.]){re.escape(katayori.__version__)}(?![\d.])")
    others = {"lib/CHANGELOG.md", "lib/requirements.lock", "environment.yml"}
    kinds = (".py", ".toml", ".cff", ".md", ".yml", ".yaml", "Makefile")
    names = [name for name in tracked() if name.endswith(kinds) and name not in others]
    names = [name for name in names if not name.startswith(("lib/tests/", "data/"))]
    texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in names}
    assert [name for name in names if number.search(texts[name])] == ["lib/katayori/__init__.py"]


NEXT = "Unreleased"  # what has no version yet may stand first, without a date


def versions(text: str) -> dict[str, str]:
    """Number and text of each version of a changelog, in its order."""
    parts = re.split(rf"^## \[({NEXT}|\S+(?=\] - \d{{4}}-\d{{2}}-\d{{2}}$))\].*$", text, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def changelog_breaches(text: str, version: str) -> list[str]:
    """What is wrong with a changelog, in words."""
    entries = versions(text)
    if len(entries) != len(re.findall(r"^## ", text, re.M)):
        return ["a heading is not `## [version] - date`"]
    released = [name for name in entries if name != NEXT]
    breaches = []
    if released[:1] != [version]:
        breaches.append("the newest entry is not the version")
    numbers = [tuple(map(int, name.split("."))) for name in released]
    if numbers != sorted(numbers, reverse=True) or NEXT in list(entries)[1:]:
        breaches.append("the newest is not first")
    for name, entry in entries.items():
        for heading in ("What changed", "Which numbers changed, and why"):
            if not re.search(rf"^### {heading}\n\n[-\w]", entry, re.M):
                breaches.append(f"{name} does not say: {heading}")
    return breaches


def test_the_changelog_begins_with_the_version():
    text = CHANGELOG.read_text(encoding="utf-8")
    assert changelog_breaches(text, katayori.__version__) == []
    assert list(versions(text))[-1] == "0.1.0"


# -- files that GitHub reads ---------------------------------------------------------------------

SCHEMAS = {
    **dict.fromkeys(WORKFLOWS, "github-workflows"),
    **dict.fromkeys(FORMS, "github-issue-forms"),
    GITHUB / "ISSUE_TEMPLATE" / "config.yml": "github-issue-config",
    ROOT / "CITATION.cff": "citation-file-format",
}


def checked(schema: str, *files: Path) -> Result:
    """What the checker says; it carries the schemas and asks nobody."""
    words = ["--builtin-schema", f"vendor.{schema}", *map(str, files)]
    return CliRunner().invoke(check_jsonschema.main, words)


@pytest.mark.parametrize("schema", sorted(set(SCHEMAS.values())))
def test_files_follow_their_schema(schema):
    done = checked(schema, *[path for path, name in SCHEMAS.items() if name == schema])
    assert done.exit_code == 0, done.output


def targets() -> set[str]:
    """The targets of the Makefile."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(r"^([a-z][a-z-]*):", text, re.M))


def workflow_breaches(workflow: dict) -> list[str]:
    """What a workflow does beside calling make, in words."""
    breaches = []
    if workflow.get("permissions") != {"contents": "read"}:
        breaches.append("it may write")
    for job in workflow["jobs"].values():
        if "timeout-minutes" not in job:
            breaches.append("a job without a time limit")
        for step in job["steps"]:
            line = step.get("run", "").strip()
            known = line.startswith("make ") and line.removeprefix("make ") in targets()
            if line and line != BROWSER and not known:
                breaches.append(f"it runs: {line}")
            if not line and not step["uses"].startswith("actions/"):
                breaches.append(f"it uses: {step['uses']}")
    return breaches


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_only_call_make(path):
    assert workflow_breaches(yaml.safe_load(path.read_text(encoding="utf-8"))) == []


def test_workflows_hooks_and_containers_make_what_is_tested():
    check, nightly = (yaml.safe_load(path.read_text(encoding="utf-8")) for path in WORKFLOWS)
    # YAML 1.1, which PyYAML reads, takes the key `on` for a truth value.
    assert set(check[True]) == {"push", "pull_request"} and "schedule" in nightly[True]
    [job] = nightly["jobs"].values()
    assert job["strategy"]["matrix"]["python"] == ["3.11", "3.12", "3.13"]
    assert {"run": "make test-all"} in job["steps"]
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    assert [one["repo"] for one in hooks] == ["local"]
    for hook in hooks[0]["hooks"]:
        program, word = hook["entry"].split()[:2]
        known = program == ".venv/bin/ruff" or (program == "make" and word in targets())
        assert known and hook["language"] == "system"
    lines = (ROOT / ".binder" / "requirements.txt").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line.startswith("-r ")] == ["-r ../lib/requirements.lock"]
    assert os.access(ROOT / ".binder" / "postBuild", os.X_OK)
    container = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text("utf-8"))
    assert container["postCreateCommand"].removeprefix("make ") in targets()
    image = (ROOT / ".devcontainer" / container["build"]["dockerfile"]).read_text("utf-8")
    assert "FROM python:3.11" in image and " make" in image


# -- a browser elsewhere -------------------------------------------------------------------------


def test_after_binder_has_built_the_library_is_found(tmp_path):
    """The script itself; its Python keeps path files in another place and imports from there."""
    python = tmp_path / "python"
    imports = f"{sys.executable} -I -S -c \"import site; site.addsitedir('{tmp_path}'); $2\""
    answers = f'#!/bin/sh\ncase "$2" in *sysconfig*) echo {tmp_path};; *) {imports};; esac\n'
    python.write_text(answers)
    python.chmod(0o755)
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    script = [ROOT / ".binder" / "postBuild"]
    done = subprocess.run(script, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "katayori.pth").read_text() == f"{ROOT / 'lib'}\n"


# -- links ---------------------------------------------------------------------------------------


def dead_links(folder: Path, text: str) -> list[str]:
    """The relative links of a Markdown text that lead to nothing."""
    links = re.findall(r"\]\(([^)#\s]+)", text)
    return [link for link in links if "://" not in link and not (folder / link).exists()]


def test_every_link_between_our_texts_leads_somewhere():
    names = [name for name in tracked() if name.endswith(".md")]
    assert ".github/CONTRIBUTING.md" in names
    dead = {
        name: dead_links((ROOT / name).parent, (ROOT / name).read_text("utf-8")) for name in names
    }
    assert not {name: links for name, links in dead.items() if links}
    assert dead_links(GITHUB, "[a](../README.md) [b](CITATION.cff)") == ["CITATION.cff"]


def test_the_readme_is_short_and_leads_to_every_guide():
    """One screen of English and one of Japanese; what there is to know stands on pages."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    english, japanese = text.split("## 日本語")
    assert len(english.split()) < 400 and len(japanese) < 2500
    for needed in ("make reproduce", "make test", "Content notice", "MIT licence", "WSL", "Colab"):
        assert needed in english
    contents = {"papers.md", "notebooks.md", "guide.md", "results.md", "interface.md", "about.md"}
    pages = {path.name for path in (ROOT / "lib" / "pages").glob("*.md")} - contents
    assert pages == set(re.findall(r"\(lib/pages/([\w-]+\.md)\)", english))
    assert "KATAYORI_LANG=ja" in english and "proof-read" in english and "校閲" in japanese
    links = [set(re.findall(r"\]\(([^)]+)(?<!\.png)\)", half)) for half in (english, japanese)]
    assert links[0] == links[1]


#: Where pages for developers and heads of data files look for a file they name.
NAMED_FROM = ("", "data", "lib", "lib/katayori", "lib/tests")
A_FILE = re.compile(r"(?<![\w./-])(?:[\w-]+/)*[\w-]+\.(?:py|yaml|csv|md|ipynb)(?![\w/])")
TOLD_IN = [
    *(GITHUB / name for name in ("CONTRIBUTING.md", "pull_request_template.md")),
    *sorted((ROOT / "data" / "study").rglob("*.yaml")),
    *sorted((ROOT / "data" / "papers").glob("*")),
]


@pytest.mark.parametrize("path", TOLD_IN, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_file_that_is_named_exists(path):
    """A pointer to a file that has moved sends its reader nowhere."""
    told = path.read_text(encoding="utf-8")
    if path.suffix == ".yaml":  # its comments are for people
        told = "\n".join(line.partition("#")[2] for line in told.splitlines())
    near = (*(ROOT / folder for folder in NAMED_FROM), path.parent)
    lost = {name for name in A_FILE.findall(told) if not any((at / name).exists() for at in near)}
    assert not lost
