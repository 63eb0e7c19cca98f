"""Settings of Sphinx for `make site`. What is shown is gathered by katayori_tools/site.py."""

from pathlib import Path

import katayori
from katayori import paths
from katayori.language import told

project = "Katayori 偏り"
author = "the authors of Katayori"
version = release = katayori.__version__
language = paths.language()
locale_dirs = [str(Path(__file__).parents[1] / "locale")]
gettext_compact = False  # a catalogue a page
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "katayori_tools.site_sphinx",
]
exclude_patterns = ["_static", "_templates"]
templates_path = ["_templates"]
default_role = "literal"  # docstrings write `names` so
autodoc_member_order = "bysource"
napoleon_use_ivar = True
autodoc_typehints = "none"  # the signature is kept short; docstrings say shapes and units
myst_heading_anchors = 4
nb_execution_mode = "off"  # the run has executed them
nb_code_prompt_show = nb_code_prompt_hide = told("code", "site")
nb_render_markdown_format = "commonmark"
nb_mime_priority_overrides = [
    ("html", "application/vnd.jupyter.widget-view+json", None),
    ("html", "application/javascript", None),
]
# Docstrings are plain text: what looks like markup in them is none.
suppress_warnings = ["mystnb.unknown_mime_type", "myst.header", "docutils"]
pygments_style = "friendly"

html_title = "Katayori 偏り"
html_theme = "pydata_sphinx_theme"
html_search_language = "words"
html_show_search_summary = False  # pages that are opened as files may not read other files
html_static_path = ["_static"]
html_css_files = ["katayori.css"]
html_copy_source = False
html_show_sourcelink = False
html_last_updated_fmt = None
html_theme_options = {
    "logo": {"text": "Katayori 偏り"},
    "navbar_align": "left",
    "search_bar_text": told("Search the docs ..."),
    "header_links_before_dropdown": 8,
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button-field", "language"],
    "secondary_sidebar_items": ["page-toc"],
    "show_toc_level": 2,
    "navigation_depth": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "article_header_start": ["breadcrumbs"],
    "show_version_warning_banner": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_context = {"default_mode": "auto"}
copyright = told("the authors of Katayori; MIT licence", "site")
