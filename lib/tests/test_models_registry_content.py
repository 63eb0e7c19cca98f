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


def test_discrim_eval_matches_its_table_2():
    """DE-9 to DE-11: dates, sizes and access as printed; thinking and seed exceptions; Q4_K_M
    through Ollama.
    """
    ours = by_name("discrim_eval")
    table = paper_facts.printed("discrim_eval", "models")
    assert len(table) == len(ours) == 9
    for row in table.itertuples():
        m = ours[row.model]
        assert (m["developer"], m["release_date"]) == (row.developer, row.release_date)
        assert m["size_b"] == row.size_b_params or (
            m["size_b"] is None and row.size_b_params != row.size_b_params
        )
        assert m["access"] == row.access.split("_")[0]
        if m["access"] == "open":
            assert (m["endpoint"], m["quantisation"]) == ("ollama", "Q4_K_M")
            assert m["tag"].endswith("q4_K_M") and m["tag"].startswith(m["vendor_id"])
        off = "thinking disabled" in str(row.setting_note)
        assert (m["thinking"] == "off") == off, row.model
    claude, gemini = ours["ClaudeSonnet4"], ours["Gemini2.5Flash"]
    assert claude["supports"]["seed"] is False and claude["vendor_id"].endswith("20250514")
    assert gemini["extra_body"] == {"reasoning_effort": "none"}
    assert ours["DeepSeek-R1"]["vendor_id"] == "deepseek-r1:70b"
    assert ours["DeepSeek-R1"]["thinking"] == ours["Qwen3"]["thinking"] == "on"


def test_other_papers_models():
    groups = paper_facts.printed("persona_jbbq", "models").set_index("model").group
    assert groups.to_dict() == {
        name: m["group"] for name, m in by_name("persona_jbbq").items()
    }  # PJ-13
    assert MODELS["gemini-2.5-pro"]["thinking"] == "always"
    judge = by_name("logprob_judge")["gpt-4o-2024-11-20"]  # LJ-4
    assert judge["vendor_id"] == "gpt-4o-2024-11-20" and judge["endpoint"] == "openai"
    assert ENDPOINTS["openai"]["supports"]["top_logprobs_max"] == 20
    for row in paper_facts.printed("jubaku_v2", "models").itertuples():  # JU-10
        assert by_name("jubaku_v2")[row.model]["vendor_id"] == row.full_name
    assert "generator" in MODELS["gpt-5.1-2025-11-13"]["roles"]["jubaku_v2"]  # JU-4
    swallow = {n: m for n, m in by_name("inter_jbbq").items() if n.startswith("Sw")}  # IJ-13
    assert {
        n: (re.search(r"-(\d+B)-", m["vendor_id"])[1], m["base_model"]) for n, m in swallow.items()
    } == {
        "Sw8B": ("8B", True),
        "Sw8B+inst": ("8B", False),
        "Sw70B": ("70B", True),
        "Sw70B+inst": ("70B", False),
    }
    assert all(m["base_model"] == ("Instruct" not in m["vendor_id"]) for m in swallow.values())


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
