"""Teaching: playground, and the notebooks in JupyterLab as a person uses them (issue 9)."""

import base64
import json
import re
import secrets
import socket
import sys
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import nbformat
import pandas as pd
import pytest
from matplotlib.figure import Figure

from katayori import paths
from katayori.errors import KatayoriError
from katayori.report.explorers import playground
from katayori.report.tables import show
from katayori_tools import site
from katayori_tools.reproduce import kernel_settings

pytest_plugins = ["browser"]

# -- playground --------------------------------------------------------------------------------------------------------


def drawn(bias, noise_level):
    fig = Figure(figsize=(2, 1))
    fig.subplots().plot([0, bias], [0, noise_level])
    fig.suptitle(f"bias {bias:g} <b>")
    return [fig, show(pd.DataFrame({"n": [noise_level]}))]


def test_a_playground_redraws_by_setting_the_value_of_one_widget():
    """Sliders of the right kind, a picture and a table that follow them, and the picture without a kernel."""
    box = playground({"bias": (0.0, 2.0, 0.5, 1.0), "noise_level": (1, 9, 2, 3)}, drawn)
    bias, noise, view = box.children
    assert [type(w).__name__ for w in box.children] == ["FloatSlider", "IntSlider", "HTML"]
    assert (bias.min, bias.max, bias.step, bias.value, noise.step) == (0, 2, 0.5, 1, 2)
    assert noise.description == "noise level"
    before = view.value
    picture = re.search(
        r'<img alt="bias 1 &lt;b&gt;" width="\d+" src="data:image/png;base64,([^"]+)">', before
    )
    assert base64.b64decode(picture[1]).startswith(b"\x89PNG") and ">3</td>" in before
    bias.value = 2.0
    assert (
        "bias 2 &lt;b&gt;" in view.value
        and ">3</td>" in view.value
        and picture[1] not in view.value
    )
    noise.value = 5
    assert ">5</td>" in view.value and box.children[-1] is view
    bias.value, noise.value = 1.0, 3
    assert view.value == before  # nothing but the sliders moves it
    static = box._repr_mimebundle_()["text/html"]
    assert static.startswith(before) and "bias = 1.0, noise level = 3" in static


def test_a_playground_tells_its_errors():
    box = playground({"x": (0, 4, 1, 2)}, lambda x: f"{1 / x}" if x < 3 else {}["<b>"])
    assert box.children[-1].value == "0.5"
    box.children[0].value = 3
    assert box.children[-1].value == "<pre>KeyError: &#x27;&lt;b&gt;&#x27;</pre>"
    for bad in [(1, 0, 1, 1), (0, 1, 0, 0), (0, 1, 0.1, 2)]:
        with pytest.raises(KatayoriError, match="slider 'x'"):
            playground({"x": bad}, str)


# -- in a browser ------------------------------------------------------------------------------------------------------


@contextmanager
def jupyterlab(folder: Path, private: Path):
    """The address of a JupyterLab on a folder, without settings or extensions of the user's."""
    from browser import GUARD, running, until

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    token = secrets.token_hex(8)
    options = {
        "ip": "127.0.0.1",
        "port": port,
        "ServerApp.port_retries": 0,
        "ServerApp.root_dir": folder,
    }
    options |= {"IdentityProvider.token": token, "LabApp.news_url": None}
    options |= {"LabApp.check_for_updates_class": "jupyterlab.NeverCheckForUpdate"}
    command = [
        sys.executable,
        "-m",
        "jupyterlab",
        "--no-browser",
        "--allow-root",
        "--expose-app-in-browser",
    ]
    command += [f"--{name}={value}" for name, value in options.items()]
    own = kernel_settings(private) | {
        "KATAYORI_ROOT": str(paths.root()),
        "PYTHONPATH": str(paths.root() / "lib"),
    }
    log = folder.parent / "jupyterlab.log"
    at = f"http://127.0.0.1:{port}"

    def started():
        """The server counts as started when its status can be read."""
        with urllib.request.urlopen(f"{at}/api/status?token={token}", timeout=GUARD) as answer:
            assert "started" in json.load(answer)

    with running(*command, log=log, env=own, cwd=folder) as process:
        until(started, process, log)
        yield lambda file: f"{at}/lab/tree/{file}?token={token}&reset"


def whole(book):
    return json.loads(book.read_text(encoding="utf-8"))


def shortened(book):
    """A notebook's opening, its first section, and its playground with what this needs."""
    made = whole(book)
    heads = [n for n, one in enumerate(made["cells"]) if "".join(one["source"])[:3] == "## "]
    made["cells"] = made["cells"][: heads[1]]
    made["cells"].append(nbformat.v4.new_code_cell(site.program(book)))
    return made


def without_outputs(made):
    """A notebook as a reader opens it who has run nothing, on the small profile."""
    for cell in made["cells"]:
        if cell["cell_type"] == "code":
            cell |= {"outputs": [], "execution_count": None}
            if "parameters" in cell["metadata"].get("tags", []):
                cell["source"] = "".join(cell["source"]).replace(
                    'profile: str = "recorded"', 'profile: str = "smoke"'
                )
    assert "smoke" in json.dumps(made)
    return json.dumps(made)


KERNEL = "window.jupyterapp?.shell?.currentWidget?.context?.sessionContext?.session?.kernel?.status === 'idle'"
START = """
window.book = jupyterapp.shell.currentWidget.content;
window.cells = Array.from(book.model.cells);
jupyterapp.commands.execute('notebook:run-all-cells').then(
  done => { window.ran = String(done); }, error => { window.ran = 'failed: ' + error; }); true
"""
FAILED = """
cells.filter(c => c.type === 'code' && Array.from({length: c.outputs.length}, (_, i) => c.outputs.get(i)).some(
  o => o.type === 'error')).map(c => c.sharedModel.source)
"""
SHOW = """
window.at = cells.findIndex(c => ('\\n' + c.sharedModel.source).includes('\\nplayground('));
book.activeCellIndex = at; book.scrollToItem(at, 'start').then(() => true)
"""
NODE = "book.widgets[at].node"
PICTURE = f"{NODE}.querySelector('.widget-html img')"


@pytest.mark.browser
@pytest.mark.parametrize(
    ("name", "opened"),
    [
        ("01_discrim_eval", shortened),
        pytest.param("02_persona_jbbq", whole, marks=pytest.mark.slow_all),
    ],
)
@pytest.mark.slow
def test_in_jupyterlab_a_notebook_runs_and_a_slider_moves_the_picture(name, opened, tab, tmp_path):
    """Opened in JupyterLab, run to the end without an error, a slider moved by a key; the console stays clean.

    Of all cells of all notebooks nbval sees that they run; here it is the widgets.
    """
    folder = tmp_path / "notebooks"
    folder.mkdir()
    book = paths.root() / "notebooks" / f"{name}.ipynb"
    (folder / book.name).write_text(without_outputs(opened(book)), encoding="utf-8")
    tab.call("Network.disable")  # it would pass on all that the kernel says
    with jupyterlab(folder, tmp_path / "private") as address:
        tab.open(address(book.name))
        tab.wait(KERNEL)
        tab.js(START)
        ran = tab.wait("window.ran")
        assert (ran, tab.js(FAILED)) == ("true", [])
        assert tab.js("cells.filter(c => c.type === 'code').every(c => c.executionCount)")
        tab.js(SHOW)
        before = tab.wait(f"{PICTURE}?.complete && {PICTURE}.naturalWidth > 300 && {PICTURE}.src")
        readout = tab.js(f"{NODE}.querySelector('.widget-readout').textContent")
        tab.js(f"{NODE}.querySelector('.noUi-handle').focus()")
        tab.press("ArrowRight", 39)
        tab.wait(f"{PICTURE} && {PICTURE}.src !== {json.dumps(before)} && {PICTURE}.complete")
        moved = tab.js(f"{NODE}.querySelector('.widget-readout').textContent")
        assert float(moved) > float(readout) and f" {float(moved):g}," in tab.js(f"{PICTURE}.alt")
        assert tab.errors == []
