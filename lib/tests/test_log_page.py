"""The Python on the page "from your log to a figure" runs and prints what stands there."""

import contextlib
import io
import re

import page_inputs
import pytest

from katayori import paths

PAGE = paths.root() / "lib" / "pages" / "your-log-to-a-figure.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)


def blocks():
    return BLOCK.findall(PAGE.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """Each block of Python with what it printed and what the page says, and the folder."""
    folder = tmp_path_factory.mktemp("page")
    page_inputs.write(folder)
    names: dict = {}
    said = []
    with contextlib.chdir(folder):
        for (kind, text), (following, shown) in zip(
            blocks(), [*blocks()[1:], ("", "")], strict=True
        ):
            if kind != "python":
                continue
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(text, PAGE.name, "exec"), names)
            said.append((text, printed.getvalue(), shown if following == "text" else ""))
    return folder, said


def test_the_page_shows_what_its_blocks_print(ran):
    _, said = ran
    assert len(said) >= 10
    for text, printed, shown in said:
        assert printed == shown, text


def test_every_figure_of_the_page_is_drawn(ran):
    folder, said = ran
    named = re.findall(r'savefig\("(.*?)"\)', "".join(text for text, _, _ in said))
    assert len(named) == len(set(named)) == 6
    for name in named:
        assert "</svg>" in (folder / name).read_text(encoding="utf-8"), name


def test_the_page_says_that_its_answers_are_made_up():
    assert "The answers on this page are made up." in PAGE.read_text(encoding="utf-8")
