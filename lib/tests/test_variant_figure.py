"""Answers to variants of a case: every answer is drawn once, and the parts add up to the whole."""

import doctest

import pandas as pd
import pytest

from katayori.report import variant_figure
from katayori.report.interval_figure import Axis, interval_dots
from katayori.report.looks import looks
from katayori.report.variant_figure import shares_stack, variant_grid

CHOSEN = pd.DataFrame(
    [
        ("mine", "c1", "A first", "neutral reason"),
        ("mine", "c2", "A first", "biased reason"),
        ("mine", "c1", "B first", "no valid answer"),
        ("mine", "c2", "B first", "biased reason"),
        ("theirs", "c1", "A first", "biased reason"),
    ],
    columns=["model", "case_id", "prompt", "choice"],
)
RATES = pd.DataFrame(
    [
        {"model": "mine", "n": 10, "order": 4, "both": 1, "value": 0.5, "ci_low": 0.2},
        {"model": "few", "n": 2, "order": 0, "both": 0, "value": 0.0, "ci_low": float("nan")},
    ]
).assign(ci_high=[0.8, float("nan")])
PARTS = {"order": "with the order", "both": "with both"}


def marks(axes):
    """The places of all marks of a panel, by the name of their series."""
    return {
        line.get_label(): sorted(zip(line.get_xdata(), line.get_ydata(), strict=True))
        for line in axes.lines
    }


def test_every_answer_is_drawn_once_where_its_case_and_prompt_cross():
    first, second = variant_grid(CHOSEN, columns="case").axes
    assert marks(first) == {
        "neutral reason": [(0, 0)],
        "biased reason": [(1, 0), (1, 1)],
        "no valid answer": [(0, 1)],
    }
    assert marks(second) == {"biased reason": [(0, 0)]}
    assert [text.get_text() for text in second.get_xticklabels()] == ["c1", "c2"]


def test_the_legend_names_what_only_a_later_panel_shows():
    swapped = pd.concat([CHOSEN[CHOSEN["model"] == "theirs"], CHOSEN[CHOSEN["model"] == "mine"]])
    (legend,) = variant_grid(swapped, columns="case").legends
    named = {text.get_text() for text in legend.get_texts()}
    assert named == set(CHOSEN["choice"])


def test_a_choice_has_one_look_and_no_model_has_it():
    alone = looks(["biased reason"], "choice")
    both = looks(["neutral reason", "biased reason"], "choice")
    assert alone["biased reason"] == both["biased reason"]
    models = looks(["qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b"])
    assert not set(both.values()) & set(models.values())


def test_the_parts_of_a_bar_add_up_to_all_cases():
    axes = shares_stack(RATES, PARTS, label="% of cases").axes[0]
    of_first = [bar for bar in axes.patches if bar.get_y() + bar.get_height() / 2 < 0.5]
    assert [bar.get_width() for bar in of_first] == pytest.approx([40, 10, 50])
    assert [bar.get_x() for bar in of_first] == pytest.approx([0, 40, 50])


def test_an_interval_is_drawn_only_where_there_is_one():
    axes = shares_stack(RATES, PARTS, label="% of cases").axes[0]
    (whole,) = axes.containers[-1:]
    assert whole.lines[0].get_xdata().tolist() == pytest.approx([50])
    bars = [one for one in axes.containers if hasattr(one, "has_xerr") and one.has_xerr]
    assert len(bars) == 1


def test_a_mark_alone_in_its_row_stands_in_the_middle():
    alone = {"who": ["rule", "model"], "kind": ["rule", "model"], "value": [0.9, 0.5]}
    frame = pd.DataFrame(alone).assign(ci_low=0.1, ci_high=0.95)
    axes = interval_dots(frame, Axis("share"), row="who", series="kind").axes[0]
    heights = [one.lines[0].get_ydata().tolist() for one in axes.containers]
    assert heights == [[0], [1]]


def test_the_examples_run():
    assert doctest.testmod(variant_figure).failed == 0
