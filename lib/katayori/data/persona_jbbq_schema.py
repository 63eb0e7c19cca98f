"""What stands in the files of scenes of notebook 02, of each edition."""

from typing import Annotated, ClassVar

from pydantic import Field

from katayori.data import bbq
from katayori.data.schema import Head, Schema, Text

Pair = Annotated[list[Text], Field(min_length=2, max_length=2)]


class TemplateFile(bbq.TemplateFile):
    """A file of templates of the first edition."""

    example: ClassVar[str] = "data/study/persona_jbbq/age.yaml"


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
