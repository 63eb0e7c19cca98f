"""The content of data/models.yaml: every model of the five papers, with what the requirements ask
of each.
"""

import re

import pytest
import yaml
from api_double import endpoint_for

from katayori import paths
from katayori.data import paper_facts
from katayori.errors import KatayoriError
from katayori.papers import paper_ids
from katayori.prompting.models import registry
from katayori_tools.collect import limits_of

RAW = yaml.safe_load((paths.data_dir() / "models.yaml").read_text(encoding="utf-8"))
ENDPOINTS = RAW["endpoints"]
MODELS = {m["id"]: m for m in RAW["models"]}


def by_name(paper):
    return {m["name_in_paper"][paper]: m for m in MODELS.values() if paper in m["name_in_paper"]}


@pytest.mark.parametrize("paper", paper_ids())
def test_every_published_model_is_registered(paper):
    assert set(paper_facts.printed(paper, "models").model) <= set(by_name(paper))


def test_endpoints_are_complete_and_local_ones_on_loopback():
    supports = {
        "seed",
        "logprobs",
        "top_logprobs_max",
        "prefill",
        "system_role",
        "max_tokens_field",
    }
    for name, e in ENDPOINTS.items():
        kinds = ("openai_compatible", "completions", "azure", "local", "simulated")
        assert e["kind"] in kinds, name
        assert supports <= e["supports"].keys(), name
        assert e["supports"]["max_tokens_field"] in ("max_tokens", "max_completion_tokens")
        assert {"concurrency", "rpm", "tpm"} <= e["limits"].keys(), name
        url = e["base_url"]
        if url is None:
            assert e["kind"] in ("local", "simulated") or e["base_url_env"]
        elif e["key_env"] is None:
            assert url.startswith("http://127.0.0.1:"), name
        else:
            assert url.startswith("https://"), name
            assert re.fullmatch(r"[A-Z_]+_API_KEY", e["key_env"])


@pytest.mark.parametrize(
    ("block", "name", "change", "says"),
    [
        (
            "models",
            0,
            {"sise_b": 7},
            r", model gpt-4o-2024-11-20: unknown field 'sise_b'; known: id",
        ),
        ("models", 0, {"access": "ajar"}, r"gpt-4o-2024-11-20: access must be closed or open"),
        ("models", 0, {"id": None}, r"model None: id must be a text, not null"),
        ("models", 0, {"supports": {"seed": "no"}}, r"supports\.seed must be true or false or"),
        ("models", 0, {"supports": {"sede": True}}, r"supports\.sede must be seed, .*, not 'sede'"),
        ("endpoints", "openai", {"kind": "open"}, r", endpoint openai: kind must be openai_comp"),
        ("endpoints", "openai", {"limits": {"rpm": "3"}}, r"openai: limits\.rpm must be a whole"),
    ],
)
def test_a_wrong_entry_is_one_line_that_names_it(tmp_path, monkeypatch, block, name, change, says):
    raw = yaml.safe_load((paths.data_dir() / "models.yaml").read_text(encoding="utf-8"))
    raw[block][name] |= change
    file = tmp_path / "models.yaml"
    file.write_text(yaml.safe_dump(raw), encoding="utf-8")
    monkeypatch.setattr(paths, "registry", lambda _: file)
    with pytest.raises(KatayoriError, match=says) as caught:
        registry.__wrapped__()
    assert str(caught.value).startswith("data file models.yaml, ") and "\n" not in str(caught.value)


def test_a_limit_below_one_is_refused():
    with pytest.raises(KatayoriError, match="rpm of endpoint double must be above 0, not 0"):
        limits_of(endpoint_for(limits={"rpm": 0}))
