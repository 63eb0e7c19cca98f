"""The explorer as a page: a prompt, its answers, a table and the tests, for a sample of items.

Everything is computed here, by the functions of the notebooks' explorers; the page's script
(`explorer.js`) only shows the view that a reader chooses. The items are ours and the answers are
recorded ones, whatever run the other pages show.
"""

import re
from pathlib import Path
from typing import Any

from katayori.data import paper_facts
from katayori.errors import UnavailableError
from katayori.report.tables import escape
from katayori_tools import exploring, papers
from katayori_tools.site_notebooks import html_cell
from katayori_tools.site_papers import NOT_HERE, made_page, text
from katayori_tools.site_vega import write_script

#: Below the folder of styles and scripts: the views of each paper, and what shows them.
DATA, SCRIPT = "explorer", "explorer.js"
_PLACE = re.compile(r'<div\b[^>]*\bid="explorer-([a-z][a-z0-9_]*)"')
OPENING = """# Explorer 質問と回答を見る

> **Content notice.** Items name age, gender, race and other attributes of persons, and stereotypes
> of groups, in order to measure models. All situations and persons are invented. Answers are shown
> as models gave them.

Choose a model, a question and a factor, and see the prompt, the answers, a table and the tests.
This page holds a sample of our own study items with **recorded** answers of small local models,
whatever run the other pages show; the explorer of each notebook has all of them. Tests that are
adjusted for several questions (Holm) take all questions of the study into account, not only the
sample.
"""


def views() -> dict[str, dict[str, Any] | str]:
    """By paper its views (`exploring.as_data`), or why there are none here.

    It takes about as long as opening the notebooks of all papers.
    """
    made: dict[str, dict[str, Any] | str] = {}
    for paper, module in papers.modules("explorer").items():
        try:
            made[paper] = exploring.as_data(module.explored())
        except UnavailableError as error:
            made[paper] = str(error)
    return made


def explorer_page(shown: dict[str, dict[str, Any] | str], source: Path) -> Any:
    """The page as a source of Sphinx; the views are kept as scripts below `source`.

    Args:
        shown: of `views`; empty where the page is made without them. source: the folder of the
            sources of the pages.
    """
    cells = [text(OPENING)]
    if not shown:
        told = "Left out here: make the pages without --no-explorer."
        cells.append(html_cell(f'<p class="missing">{told}</p>'))
    for about in paper_facts.every() if shown else []:
        number = about["notebook"][:2]
        own = shown.get(about["id"], NOT_HERE.format(what="explorer", number=number))
        cells.append(text(f"## {number} · {about['page']['title']}"))
        cells.append(html_cell(_section(about, own, source)))
    return made_page(cells)


def _section(about: dict[str, Any], data: dict[str, Any] | str, source: Path) -> str:
    """The place of one paper's views, or why there are none."""
    if isinstance(data, str):
        return f'<p class="missing">{escape(data)}</p>'
    paper = about["id"]
    write_script(source, paper, DATA, data)
    notebook = f"The explorer of notebook {about['notebook'][:2]} shows the same"
    return (
        f"<p>{escape(data['sample'])}.</p>"
        f'<div class="explorer" id="explorer-{paper}"><p>{notebook}; here a script shows it.</p>'
        "</div>"
    )


def scripts_of(body: str) -> list[str]:
    """The scripts that the body of a page needs, below `_static`, in their order.

    Example:
        >>> scripts_of('<div class="explorer" id="explorer-a_paper"></div>')
        ['explorer/a_paper.js', 'explorer.js']
        >>> scripts_of("<p>No explorer.</p>")
        []
    """
    names = _PLACE.findall(body)
    return [*(f"{DATA}/{name}.js" for name in names), SCRIPT] if names else []
