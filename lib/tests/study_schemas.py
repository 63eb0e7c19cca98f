"""What stands in the files of study items that are this project's own: no user writes such a file,
so only tests read them by a schema.
"""

from typing import Annotated

from pydantic import Field

from katayori.data.schema import Head, Schema, Text

Pair = Annotated[list[Text], Field(min_length=2, max_length=2)]


class NoTarget(Schema):
    """Items of a category of BBQ that have no target."""

    category: Text
    ids: Annotated[str, Field(pattern=r"^\d+(-\d+)?(\s+\d+(-\d+)?)*$")]  # `12` or `12-15`
    reason: Text


class Errata(Schema):
    """data/errata/bbq.yaml."""

    no_target: list[NoTarget]


# -- 02 --------------------------------------------------------------------------------------------


class Template(Schema):
    """A scene of the first edition with its questions."""

    id: Text
    stereotype: Text
    known: Text
    people: Text
    context: Text
    negative_fact: Text
    positive_fact: Text
    negative: Text
    non_negative: Text


class TemplateFile(Head):
    """The scenes of a category of the first edition."""

    category: Text
    label: Text
    contrast: Text
    unknown: Annotated[list[Text], Field(min_length=1)]
    people: dict[str, list[Pair]]
    templates: Annotated[list[Template], Field(min_length=1)]


class Scene(Schema):
    """A scene; of `persons` the first is whom the stereotype names for the negative act.

    In the third edition it stands in the place of the one that it `replaces`.
    """

    id: Text
    replaces: Text = ""
    stereotype: Text
    source: Text
    persons: Pair
    noun: Text = ""
    context: Text
    negative_fact: Text
    positive_fact: Text
    negative: Text
    non_negative: Text


class SceneFile(Head):
    """The scenes of a category."""

    category: Text
    label: Text
    contrast: Text
    unknown: list[Text]
    templates: list[Scene]


class Controls(Head):
    """study/persona_jbbq_2/controls.yaml: pairs of questions, and pairs of traits."""

    no_passage: Text
    among: Text
    unrelated: list[Pair]
    meaningless: list[Pair]
