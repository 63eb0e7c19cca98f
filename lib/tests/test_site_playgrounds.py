"""The page of playgrounds: in a real browser its numbers are those of the notebooks' functions."""

import doctest
import json
import random
from importlib.resources import files

import nbformat
import numpy as np
import pandas as pd
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from katayori import paths
from katayori.data import paper_facts
from katayori_tools import environment, site, site_play, site_playgrounds, site_power, site_vega
from katayori_tools.site_notebooks import read_book
from katayori_tools.site_papers import paper_page
from katayori_tools.site_play import Answer, Column, Control, Playground, Sliders

pytestmark = pytest.mark.slow_all  # the whole site is built

pytest_plugins = ["browser"]

NAMES = {"overview"}
#: Papers whose playground is in their notebook only.
LACKING = set(paper_facts.ids())
DRAWN = 200
#: Keys that move a slider up and down, with their codes.
ARROWS = [("ArrowRight", 39), ("ArrowLeft", 37)]
#: Fewest states of a playground among those that are drawn.
LEAST = 15

# -- what the notebooks compute, called as they call it --------------------------------------------


def power(place, **values):
    """What the calculator says of its test at a place."""
    rows = site_power.calculator_rows(site_power.power_curves(site_power.power()))
    tests = [own for _, own in rows.groupby(["measure", "test"], sort=False)]
    sizes = {size: tests[place][size].iloc[0] for size in ("clusters", "per_cluster")} | values
    return site_power.power_at(tests[place], **sizes), sizes["clusters"] * sizes["per_cluster"]


# -- power between and at simulated sizes ----------------------------------------------------------


def grid(rate):
    """A made-up table of one test over effects and sizes."""
    cells = [(e, c, p) for e in (0, 0.1, 0.2) for c in (10, 40) for p in (4, 16)]
    frame = pd.DataFrame(cells, columns=["effect", "clusters", "per_cluster"])
    return frame.assign(rate=[rate(*cell) for cell in cells])


def test_power_between_the_simulated_sizes():
    plain = grid(lambda e, c, p: 2 * e + 0.1 * np.log(c) + 0.05 * np.log(p))
    for e, c, p in [(0, 10, 4), (0.2, 40, 16), (0.05, 20, 8), (0.13, 33, 5)]:
        assert site_power.power_at(plain, e, c, p) == pytest.approx(
            2 * e + 0.1 * np.log(c) + 0.05 * np.log(p)
        )
    assert site_power.power_at(plain, 9, 4000, 1600) == pytest.approx(plain["rate"].max())
    one_size = plain[(plain["clusters"] == 10) & (plain["per_cluster"] == 4)]
    assert site_power.power_at(one_size, 0.1, 77, 77) == pytest.approx(one_size["rate"].iloc[1])


def test_the_stored_tables_are_summed_over_their_seeds():
    found = site_power.power()
    files = sorted((paths.data_dir() / "simulated").glob("power_*.csv"))
    drawn = pd.concat(map(pd.read_csv, files))
    assert (
        found["repetitions"].sum() == drawn["repetitions"].sum()
        and found["rate"].between(0, 1).all()
    )
    assert (found["mc_low"] <= found["rate"]).all() and (found["rate"] <= found["mc_high"]).all()
    assert not found.duplicated([*site_power.POWER_KEYS, *site_power.SIZES]).any()


def test_what_is_nothing_for_a_test_counts_as_a_false_positive():
    """No effect, and for the direction test effects that change from question to question."""
    found = site_power.power()
    assert found.loc[found["effect"] == 0, "null"].all()
    either = found[(found["planted"] == "by question")]
    direction = either["test"].str.startswith("common direction")
    assert either.loc[direction, "null"].all() and not either.loc[~direction, "null"].any()


def test_curves_start_where_nothing_is_planted():
    curves = site_power.power_curves(site_power.power())
    factor = curves[curves["measure"] == "factor"]
    assert set(factor["planted"]) == {"common", "by question"}
    assert (factor.groupby("planted")["effect"].min() == 0).all()
    assert site_power.calculator_rows(curves)["measure"].iloc[0] == "factor"
    named = site_power.calculator_rows(curves).groupby(["measure", "test"])
    assert not named.apply(lambda one: one.duplicated(["effect", *site_power.SIZES]).any()).any()


# -- without a browser -----------------------------------------------------------------------------


@pytest.mark.parametrize("module", [site_play, site_playgrounds, site_vega])
def test_examples_of_docstrings(module):
    environment.setup_site()
    assert doctest.testmod(module).failed == 0


def test_every_notebook_with_sliders_has_its_playground():
    made = site_playgrounds.playgrounds()
    assert set(made) == site_playgrounds.names() == NAMES
    of_papers = {about["id"] for about in paper_facts.every()}
    assert of_papers == NAMES - {"overview"} | LACKING
    for name, playground in made.items():
        states = [len(site_play.states(one.controls)) for one in playground.choices.values()]
        assert 80 <= sum(states) <= 600, name
        for one in playground.choices.values():
            assert all(len(control.values) > 1 for control in one.controls), name
            assert all(control.start in control.values for control in one.controls), name


def small(answer):
    """A playground of one slider and one choice, whose answers a test gives."""
    control = Control("a", "the first", (0.0, 0.5, 1.0), 0.5, 1)
    return Playground(
        title="Small",
        about="Move it.",
        choices={"": Sliders((control,), answer)},
        chart=lambda points: FakeChart,
        picture="Nothing",
        columns=(Column("what", "What"), Column("value", "Value", 2, "not <defined>")),
        caption="Values",
    )


class FakeChart:
    """What stands in for a chart of Vega-Altair."""

    to_dict = staticmethod(lambda: {"mark": "point"})


def doubled(a):
    """Twice a number, and the inverse of it, which 0 lacks."""
    inverse = 1 / a if a else float("nan")
    numbers = pd.DataFrame({"what": ["<b>twice</b>", "inverse"], "value": [2 * a, inverse]})
    return Answer(pd.DataFrame({"value": [a]}), numbers, f"twice is {2 * a:g}")


def test_what_is_not_defined_has_no_value_and_columns_are_kept_once():
    made = site_playgrounds.computed(small(doubled), "code")
    [choice] = made["choices"]
    assert choice["controls"][0]["shown"] == ["0.0", "0.5", "1.0"]
    assert choice["controls"][0]["start"] == 1
    values = [made["pool"][one["numbers"]["value"]] for one in choice["states"]]
    assert values == [[0.0, None], [1.0, 2.0], [2.0, 1.0]]
    assert len({one["numbers"]["what"] for one in choice["states"]}) == 1
    assert [one["told"] for one in choice["states"]] == ["twice is 0", "twice is 1", "twice is 2"]


def test_the_source_of_the_page_shows_the_state_in_which_it_starts(tmp_path, monkeypatch):
    monkeypatch.setattr(site_playgrounds, "playgrounds", lambda: {"small": small(doubled)})
    monkeypatch.setattr(site_vega, "bundle", lambda: "x" * 300_000)
    page = site_playgrounds.playgrounds_page({}, tmp_path, tmp_path / "none")
    html = "".join(o.data["text/html"] for c in page.cells for o in c.get("outputs", []))
    assert "&lt;b&gt;twice&lt;/b&gt;" in html and "<td>1.00</td>" in html and "simulated" in html
    assert 'id="playground-small"' in html and 'id="chart-play-small"' in html
    words = "".join(cell.source for cell in page.cells)
    assert "(play-small)=\n## Small" in words and "0.3 MB" in words


def test_a_playground_that_is_not_here_is_named(tmp_path, monkeypatch):
    environment.setup_site()
    monkeypatch.setattr(site_playgrounds, "playgrounds", dict)
    page = site_playgrounds.playgrounds_page({}, tmp_path, tmp_path / "none")
    told = [cell.source for cell in page.cells if "JupyterLab" in cell.source]
    assert len(told) == len(LACKING) and all(
        "The playground of notebook 0" in line for line in told
    )


def test_states_of_an_older_site_are_taken_over_while_no_code_changes(tmp_path, monkeypatch):
    calls = []

    def counted(a):
        calls.append(a)
        return doubled(a)

    environment.setup_site()
    monkeypatch.setattr(site_playgrounds, "playgrounds", lambda: {"small": small(counted)})
    monkeypatch.setattr(site_vega, "bundle", lambda: "made")
    first, second, third = (tmp_path / name for name in ("first", "second", "third"))
    site_playgrounds.playgrounds_page({}, first, tmp_path / "none")
    assert calls == [0.0, 0.5, 1.0]
    site_playgrounds.playgrounds_page({}, second, first)
    assert len(calls) == 3
    kept = [one / "_static" / "playgrounds" / "small.js" for one in (first, second)]
    assert kept[0].read_bytes() == kept[1].read_bytes()
    monkeypatch.setattr(site_playgrounds, "code_hash", lambda: "another")
    site_playgrounds.playgrounds_page({}, third, first)
    assert len(calls) == 6


def test_the_hash_tells_code_from_other_code(tmp_path, monkeypatch):
    (tmp_path / "lib" / "katayori").mkdir(parents=True)
    file = tmp_path / "lib" / "katayori" / "play.py"
    monkeypatch.setenv("KATAYORI_ROOT", str(tmp_path))
    made = []
    for text in ("x = 1", "x = 2", "x = 1"):
        file.write_text(text)
        made.append(site_playgrounds.code_hash())
    assert made[0] == made[2] != made[1]


def test_sliders_of_a_notebook_give_way_to_a_link(tmp_path):
    shown = new_output("display_data", data={"text/html": "<p>Interactive in the notebook</p>"})
    cells = [new_code_cell("draw = 1\nplayground({}, draw)", outputs=[shown])]
    cells += [new_code_cell("explorer({}, look)", outputs=[shown])]
    for cell in cells:
        cell.outputs = [nbformat.from_dict(dict(shown))]
    path = tmp_path / "01_discrim_eval.ipynb"
    nbformat.write(new_notebook(cells=cells), path)
    played, without = (
        [cell.outputs[0].data["text/html"] for cell in book.notebook.cells]
        for book in (
            read_book("discrim_eval", tmp_path, path, tmp_path, {"discrim_eval"}),
            read_book("discrim_eval", tmp_path, path, tmp_path, {"another"}),
        )
    )
    assert 'href="playgrounds.html#play-discrim-eval"' in played[0]
    assert "Interactive" not in played[0] and "Interactive" in played[1]
    assert "Interactive" in without[0] and "playgrounds.html" not in without[0]


@pytest.mark.parametrize("played", [{"discrim_eval"}, set()])
def test_the_page_of_a_paper_leads_to_its_playground(played):
    about = next(one for one in paper_facts.every() if one["id"] == "discrim_eval")
    page = paper_page(about, None, [], "not run", played)
    assert ("playgrounds.html#play-discrim-eval" in nbformat.writes(page)) == bool(played)


# -- in a real browser -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The page with all its states, made by Sphinx, with nothing beside it but a start page."""
    environment.setup_site()
    work = tmp_path_factory.mktemp("site")
    sources = site.Sources(work, work / "source")
    sources.folder.mkdir()
    sources.texts["index"] = "# Start\n\n```{toctree}\nplaygrounds\n```\n"
    made = site_playgrounds.playgrounds_page({}, sources.folder, work / "none")
    sources.made["playgrounds"] = made
    site.write_sources(sources)
    assert site.build(sources.folder, work / "html") == []
    return work / "html" / "playgrounds.html"


@pytest.fixture
def opened(page, tab):
    """The page in a browser, once every picture is drawn."""
    tab.open(page.as_uri())
    tab.js(f"Promise.all({json.dumps(sorted(NAMES))}.map(n => katayori.shown[n])).then(() => 1)")
    return tab


SET = """(async (name, choice, places) => {
  const place = document.getElementById(`playground-${name}`);
  const select = place.querySelector("select");
  if (select && select.value !== String(choice)) {
    select.value = choice;
    select.dispatchEvent(new Event("change"));
  }
  place.querySelectorAll("input").forEach((input, at) => {
    input.value = places[at];
    input.dispatchEvent(new Event("input"));
  });
  await katayori.shown[name];
  const cell = (td) => {
    const data = td.querySelector("data");
    return data ? [Number(data.value), td.innerText] : td.innerText;
  };
  const rows = [...place.querySelectorAll("tbody tr")];
  const view = await katayori.views[`play-${name}`];
  return {
    cells: rows.map((row) => [...row.cells].map(cell)),
    points: view.data("points"),
    values: [...place.querySelectorAll(".value")].map((one) => one.innerText),
    told: place.querySelector("[role=status]").innerText,
    words: place.querySelector(".chart svg").getAttribute("aria-label"),
  };
})"""


def at_state(tab, name, choice, places):
    """What the page shows once the sliders of a playground stand at some places."""
    return tab.js(f"{SET}({json.dumps(name)}, {choice}, {json.dumps(places)})")


def draw():
    """200 states at random over all playgrounds: (name, choice, places of the sliders)."""
    rng = random.Random(22)
    made = site_playgrounds.playgrounds()
    names = [name for name in made for _ in range(LEAST)]
    names += rng.choices(list(made), k=DRAWN - len(names))
    drawn = []
    for name in names:
        choice = rng.randrange(len(made[name].choices))
        controls = list(made[name].choices.values())[choice].controls
        drawn.append((name, choice, [rng.randrange(len(one.values)) for one in controls]))
    return made, drawn


def is_as_computed(cell, value):
    """Whether a cell of the page holds what Python computed, and shows it rounded."""
    if isinstance(value, str):
        return cell == value
    if pd.isna(value):
        return isinstance(cell, str) and cell.startswith("— (")
    held, shown = cell
    if shown.startswith("< "):
        return abs(held - value) < 1e-6 and 0 < value < float(shown[2:])
    rough = 0.5 * 10 ** -len(shown.partition(".")[2])
    return abs(held - value) < 1e-6 and abs(float(shown) - value) <= rough + 1e-9


@pytest.mark.browser
def test_the_page_shows_what_python_computes_in_200_states(opened):
    made, drawn = draw()
    wrong, seen = {}, set()
    for name, choice, places in drawn:
        controls = list(made[name].choices.values())[choice].controls
        values = {
            control.name: control.values[place]
            for control, place in zip(controls, places, strict=True)
        }
        shown = at_state(opened, name, choice, places)
        assert [float(one) for one in shown["values"]] == pytest.approx(list(values.values()))
        rate, n = power(choice, **values)
        row = dict(zip([c.name for c in made[name].columns], shown["cells"][0], strict=True))
        found = [] if is_as_computed(row["power"], rate) else [f"{row['power']} for {rate}"]
        found += [] if row["n"][0] == n else [f"n {row['n']} for {n}"]
        chosen = [one["rate"] for one in shown["points"] if one["kind"] == "chosen effect"]
        assert chosen == pytest.approx([rate], abs=1e-6)
        assert shown["told"].removeprefix("Simulated: ") in shown["words"]
        assert shown["told"].startswith("Simulated: ")
        seen.add(name)
        if found:
            wrong[name, choice, *places] = found[:3]
    assert wrong == {}
    assert seen == NAMES and len(drawn) == DRAWN
    assert [text for level, text in opened.said if level != "log"] == []
    assert opened.failed == []
    beside = ("file:", "data:")
    assert [url[:80] for url in opened.asked if not url.startswith(beside)] == []


@pytest.mark.browser
def test_every_control_has_an_effect_on_the_numbers(opened):
    made = site_playgrounds.playgrounds()
    for name, playground in made.items():
        for choice, sliders in enumerate(playground.choices.values()):
            start = [control.values.index(control.start) for control in sliders.controls]
            before = at_state(opened, name, choice, start)["cells"]
            for at, control in enumerate(sliders.controls):
                others = [k for k in range(len(control.values)) if k != start[at]]
                moved = ([*start[:at], k, *start[at + 1 :]] for k in others)
                shown = [at_state(opened, name, choice, places)["cells"] for places in moved]
                assert any(cells != before for cells in shown), (name, choice, control)


@pytest.mark.browser
def test_sliders_have_names_and_move_with_the_keys(opened):
    for name, playground in site_playgrounds.playgrounds().items():
        controls = next(iter(playground.choices.values())).controls
        place = f"document.getElementById('playground-{name}')"
        for at, control in enumerate(controls):
            slider = f"{place}.querySelectorAll('input')[{at}]"
            assert opened.js(f"{slider}.labels[0].innerText") == control.label
            seen = f"""[{slider}.getAttribute('aria-valuetext'),
                {place}.querySelectorAll('.value')[{at}].innerText,
                {place}.querySelector('tbody').innerHTML]"""
            before = opened.js(seen)
            assert before[0] == before[1] == f"{control.start:.{control.digits}f}"
            opened.js(f"{slider}.focus()")
            there, back = ARROWS if control.start != control.values[-1] else ARROWS[::-1]
            opened.press(*there)
            opened.wait(f"{slider}.getAttribute('aria-valuetext') !== {json.dumps(before[0])}")
            after = opened.js(seen)
            assert after[0] == after[1] and after[2] != before[2], (name, control.name)
            opened.press(*back)
            opened.wait(f"{slider}.getAttribute('aria-valuetext') === {json.dumps(before[0])}")
            assert opened.js(seen) == before


@pytest.mark.browser
def test_a_test_is_chosen_with_the_keys(opened):
    place = "document.getElementById('playground-overview')"
    before = opened.js(f"{place}.querySelector('[role=status]').innerText")
    assert opened.js(f"{place}.querySelector('select').labels[0].innerText") == "test"
    opened.js(f"{place}.querySelector('select').focus()")
    opened.press("ArrowDown", 40)
    opened.wait(f"{place}.querySelector('select').value === '1'")
    opened.wait(f"{place}.querySelector('[role=status]').innerText !== {json.dumps(before)}")


@pytest.mark.browser
@pytest.mark.parametrize("mode", ["light", "dark"])
def test_the_page_has_no_grave_barriers(opened, page, mode):
    script = files("axe_core_python").joinpath("axe.min.js").read_text("utf-8")
    media = [{"name": "prefers-color-scheme", "value": mode}]
    opened.call("Emulation.setEmulatedMedia", features=media)
    opened.open(page.as_uri())
    assert opened.js("document.documentElement.dataset.theme") == mode
    opened.js("Promise.all(Object.values(katayori.shown)).then(() => 1)")
    opened.js(f"{script}; true")
    barriers = opened.js("axe.run().then(r => r.violations.map(v => [v.impact, v.id, "
                         "v.nodes.map(n => n.html.slice(0, 150)).slice(0, 3)]))")  # fmt: skip
    opened.call("Emulation.setEmulatedMedia", features=[])
    assert [one for one in barriers if one[0] in ("critical", "serious")] == []
