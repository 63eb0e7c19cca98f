"""The words of our texts: one Japanese name for each concept, whole sentences, plain English.

Looked at are the notebooks (text, what they print, slides) and their solutions, the pages, the
README, the teaching plan, the texts of `data/*.yaml` and `data/papers`, and the catalogues of
`data/locale`. Prompts, items and recorded data are frozen and not ours to reword.
"""

import ast
import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import yaml
from babel.messages.pofile import read_po

from katayori import paths

ROOT = paths.root()
BOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
PAGES = [
    *(ROOT / name for name in ("README.md", "notebooks/teaching-plan.md", "data/papers/README.md")),
    *sorted((ROOT / "lib" / "pages").glob("*.md")),
]
SOLUTIONS = sorted((ROOT / "notebooks" / "solutions").glob("*.py"))
DATA = [
    *(ROOT / "data").glob("*.yaml"),
    *(ROOT / "data" / "papers").glob("*.yaml"),
    *(ROOT / "lib" / "pages").glob("*.yaml"),
]
CODE = [
    *(ROOT / "lib" / "katayori").rglob("*.py"),
    *(ROOT / "lib" / "katayori_tools").rglob("*.py"),
]

#: The Japanese name of the glossary -> other names of the same thing, which no text uses.
REJECTED: dict[str, list[str]] = {
    "入れ替え検定": ["並べ替え検定", "交換検定", "置換検定"],
    "曖昧": ["あいまい"],
    "明確": ["文脈あり"],
    "空試験": ["ブランク"],
    "対照": ["(?<!言い換えの)統制"],
    "言い換えの統制": ["対照の文面"],
    "ホルム法": ["ホルム補正", "ホルムの方法", "ホルム法(?:により|による|で)?補正"],
    "模擬回答者": ["植え付けた回答者", "(?<!を)仕込んだ回答者", "シミュレーション回答者"],
    "評価役（ジャッジ）": ["模擬評価者", "模擬審査"],
    "仕込んだ真値": ["仕込んだ真実", "植え付けた", "植え込んだ"],
    "位置依存": ["拘束"],
    "カウンターバランス": ["釣り合わせ"],
    "プロンプトのバリエーション": ["変種"],
    "サンプリングされた回答": ["標本回答"],
    "サンプリングのノイズを除いた一致度係数": ["標本誤差", "除いたアルファ"],
    "クリッペンドルフの一致度係数": ["アルファ係数", "クリッペンドルフのアルファ"],
    "偽陽性": ["誤検出", "誤警報", "誤報"],
    "クラスター": ["クラスタ(?!ー)"],
    "対数オッズ": ["ロジット"],
    "p 値": ["p値", "補正[前後]の p"],
    "「はい」の確率": [r"[Pp]\(はい\)"],
    "基準法 1・2": ["基準法 ?[12](?!・)"],
    "テンプレート": ["雛形", "ひな形"],
    "無効回答": ["欠測"],
    "ペルソナ": ["偏りのあるペルソナ"],
}
#: The same of words that are no terms, such as headings.
REJECTED_HEADINGS = {
    "自分で調べる": ["探索"],
    "評価者": ["評定", "アノテータ"],
    "評価観点": ["評価基準"],
    "スコア": ["得点"],
    "要求": ["リクエスト"],
    "提供元": ["提供企業"],
    "ふるまい": ["振る舞い"],
    "意味を読まないルール": ["意味を読まない規則", "表面だけの規則"],
    "トピックファイル": ["話題のファイル"],
    "内容に関する注意": ["内容についてのお知らせ"],
    "条件が成り立つ": ["条件が成立"],
    "対": [r"(?:水準|属性|要因|回答|行の中)の組(?!み)"],
    "わかる": [r"(?<![「\d}])分か(?:ら(?!ない\")|[りるっ]|れば)"],
}

NUMBER = (
    r"(?:[0-9](?:[0-9,]*[0-9])?|once|twice|an?|one|two|three|four|five|six|seven|eight|nine|ten)"
)
EACH = (
    "age|answer|attribute|case|category|cell|comparison|item|label|level|method|model|notebook|"
    "order|page|pair|paper|position|prompt|question|row|run|section|template|topic"
)
#: What a reader stumbles over -> what to write.
ENGLISH = {
    r"(?<!\ba )\blots?\b(?! of\b)": "a random choice, at random",
    r"\btold\b": "said, named, shown, separated",
    r"\bmere\b": "neutral words, alone",
    r"\bone dice\b": "a die",
    r"\bin an own\b|\bthe own\b": "of its own",
    r"\bdeal(?:t|ing)(?: the answers)? anew\b": "given at random",
    r"\bfor who\b": "for a model that",
    r"\b[Tt]he print does not\b": "the paper does not print",
    rf"\b{NUMBER} (?:(?!of\b|to\b|in\b|is\b|for\b|that\b)[a-z]+ )?an? (?:{EACH})\b": "per",
    r"\bin both places\b|\bchange places\b|\b(?:first|same|whose|their) places?\b": "position",
    r"\b(?:prefers?|likes?|to|by) (?:a|its|the) places?\b|\bA place can\b": "position",
    r"(?<!in )\bthe places? of\b|\b(?:one|two|many) places?\b": "position, decimal place",
    r"(?<!takes )(?<!take )(?<!in )\bits place\b": "position",
}

JAPANESE = re.compile("[ぁ-ヿ一-鿿々]")
GAP = re.compile(r"(?<=[ぁ-ヿ一-鿿、。）」])[ \n](?=[ぁ-ヿ一-鿿（「])")
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
BEGINS = re.compile(r"\s*(?:[-*+>|#]|\d+\.|<|\$\$)")


class Text(NamedTuple):
    """A text and where it stands; `marked` is Markdown, whose line breaks are blanks."""

    where: str
    text: str
    marked: bool = False


def leaves(value: Any, skip: str = "") -> Iterator[str]:
    """All strings in lists and mappings but those under the key `skip`."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key != skip:
                yield from leaves(inner, skip)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner, skip)


def of_book(nb: dict, name: str) -> Iterator[Text]:
    """The texts of a notebook: Markdown, strings in code, and what the slides add."""
    for cell in nb["cells"]:
        where, source = f"{name}#{cell['id']}", "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            yield Text(where, source, marked=True)
        else:
            for node in ast.walk(ast.parse(source)):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield Text(where, node.value)
        for text in leaves(cell["metadata"].get("talk", [])):
            yield Text(where, text, marked=True)


@cache
def texts() -> list[Text]:
    """Everything that readers read, but what the library itself says."""
    found: list[Text] = []
    for book in BOOKS:
        found += of_book(json.loads(book.read_text("utf-8")), book.name)
    for page in PAGES:
        found.append(Text(page.name, FENCED.sub("", page.read_text("utf-8")), marked=True))
    for solved in SOLUTIONS:
        comments = re.findall("^ *# (.*)", solved.read_text("utf-8"), re.MULTILINE)
        found.append(Text(solved.name, "\n".join(comments)))
    for file in DATA:
        # other names of a term stand in the glossary so that a search finds it by them
        held = leaves(yaml.safe_load(file.read_text("utf-8")), skip="also")
        found += [Text(file.name, text) for text in held]
    for file in (ROOT / "data" / "locale").rglob("*.po"):
        with file.open(encoding="utf-8") as opened:
            held = [
                line for one in read_po(opened) if one.id for line in str(one.string).split("\n")
            ]
        found += [Text(file.name, line) for line in held]
    return found


def rejected_names(text: str) -> list[str]:
    every = [name for names in (REJECTED | REJECTED_HEADINGS).values() for name in names]
    return re.findall("|".join(every), text)


def paragraphs(text: str) -> list[str]:
    """Paragraphs, headings and list items of Markdown, with the line breaks inside them."""
    found: list[str] = []
    for line in text.splitlines():
        goes_on = bool(found) and bool(found[-1].strip()) and bool(line.strip())
        if goes_on and not BEGINS.match(line):
            found[-1] += "\n" + line
        else:
            found.append(line)
    return found


def broken_japanese(one: Text) -> list[str]:
    """Sentences, mostly Japanese, that go over several lines or hold a gap."""
    found = []
    for part in paragraphs(one.text) if one.marked else [one.text]:
        letters = len(re.findall("[A-Za-z]", re.sub(r"\(\S+\)|`[^`]+`", "", part)))
        sentence = "。" in part and len(JAPANESE.findall(part)) > letters
        if sentence and (GAP.search(part) or (one.marked and "\n" in part.strip())):
            found.append(part)
    return found


def odd_english(text: str) -> list[str]:
    """Words of `ENGLISH` in a text of three words or more: fewer are names of columns and keys."""
    prose = re.sub(r"`[^`]*`", "``", text)
    if len(prose.split()) < 3:
        return []
    hits = [(hit[0], bad) for bad in ENGLISH for hit in re.finditer(bad, prose)]
    return [f"{hit!r}: {ENGLISH[bad]}" for hit, bad in hits]


# -- the texts that are committed ------------------------------------------------------------------


def test_a_concept_has_one_japanese_name():
    found = [(one.where, rejected_names(one.text)) for one in texts()]
    found += [(file.name, rejected_names(file.read_text("utf-8"))) for file in CODE]
    assert [(where, names) for where, names in found if names] == []


def test_the_one_name_is_that_of_the_glossary():
    terms = yaml.safe_load((ROOT / "data" / "glossary.yaml").read_text("utf-8"))
    assert set(REJECTED) <= {term["ja"] for term in terms}
    assert not [term["ja"] for term in terms if rejected_names(term["ja"])]


def test_a_japanese_sentence_stands_in_one_line():
    """A line break in it becomes a blank on the page."""
    assert [(one.where, part) for one in texts() for part in broken_japanese(one)] == []


def test_english_is_plain():
    assert [(one.where, odd) for one in texts() for odd in odd_english(one.text)] == []
