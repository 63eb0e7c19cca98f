"""Docstrings as pages show them: nothing in them is markup but names, lists and examples."""

import pytest

from katayori_tools.site_docstrings import as_rst


def shown(text):
    return "\n".join(as_rst(text.strip("\n").split("\n"))).strip()


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("One line.", "One line."),
        ("Two\nlines.", "Two lines."),
        ("acc_*, |b| and a\\b", r"acc\_\*, \|b\| and a\\b"),
        ("see `with_role` here", r"see \ ``with_role``\  here"),
        ("a\n    hangs\nb", "a hangs b"),
        ("x: one\n    more\ny: two", "- ``x``: one more\n- ``y``: two"),
        ("Two:\n    x: one\n        more\n    y: b", "Two:\n\n- ``x``: one more\n- ``y``: b"),
        ("First.\n\n    a   b\n        c", "First.\n\n::\n\n    a   b\n        c"),
        ("Args:\n    n: how\n        many", "**Args**\n\n- ``n``: how many"),
        ("Args:\n    a, b: two", "**Args**\n\n- ``a, b``: two"),
        ("Returns:\n    a frame,\n    one row", "**Returns**\n\na frame, one row"),
        ("Returns:\n    a row:\n        of x\n    b", "**Returns**\n\n- a row:\n\n  - of x\n\n- b"),
        ("Example:\n    >>> f(1)\n    2", "**Example**\n\n>>> f(1)\n2"),
        ("Args of old: none", "Args of old: none"),
        ("", ""),
    ],
)  # fmt: skip
def test_a_docstring_is_text_lists_and_examples(text, wanted):
    assert shown(text) == wanted


def test_an_example_keeps_its_lines_and_ends_where_text_begins():
    text = "Example:\n    >>> a = 1\n    >>> a\n    1\n\nSource: section 2."
    assert shown(text) == "**Example**\n\n>>> a = 1\n>>> a\n1\n\nSource: section 2."
