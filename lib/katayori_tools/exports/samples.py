"""Single answers for Every Eval Ever, only where one option is right: ids, letters and scores.

They are read again from the recorded answers, as the notebook reads them. Texts are added only on
demand, and only for texts of ours (`licences`).
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from katayori.papers import answers, get_paper
from katayori.papers.paper import Paper
from katayori.prompting import recordings
from katayori.prompting.models import get_model
from katayori.prompting.prompts import Prompt, load_prompts
from katayori.prompting.requests import build
from katayori_tools.exports.eee import VERSION

if TYPE_CHECKING:
    import pandas as pd

#: What a sample's result is called; no row of a run, which counts over many samples, is meant.
NAME = "right option of one item"


def lines(
    paper_id: str, model: str, content: Mapping[str, Any], run: Mapping[str, Any], with_text: bool
) -> Iterator[dict[str, Any]]:
    """The samples of one file of results.

    Args:
        paper_id: of a paper whose items have a right option; others give nothing. model: as rows
            name it. content: what the file of results holds. run: provenance.json. with_text: adds
            what was asked and answered.
    """
    paper = get_paper(paper_id)
    for prompt in _prompts(paper, model, run):
        rows = paper.as_asked(paper.read("study", {})[0])
        variant = paper.variant_of("study", prompt.id)
        held = recordings.item_ids(paper_id, prompt.id, variant, [model])
        frame = answers.get(rows[rows["item_id"].isin(held)], prompt, [model], variant=variant)
        questions = _questions(rows, prompt, model) if with_text else {}
        records: list[Any] = frame.to_dict("records")
        for answer in records:
            yield _sample(paper, content, answer, questions)


def _prompts(paper: Paper, model: str, run: Mapping[str, Any]) -> list[Prompt]:
    """The prompts of a run that this model's recorded answers to the study items were asked with.

    None where the paper has no right option, or the run was made with items or wordings of the
    user's.
    """
    parameters = run["parameters"]
    if not paper.gold_column or parameters.get("prompts"):
        return []
    files = [name for name, file in paper.own_files.items() if file.is_a != "setting"]
    if any(parameters.get(name) for name in files):
        return []
    listed = load_prompts(paper.id)
    asked = [listed[name] for name in run["prompts"] if name in listed]
    return [prompt for prompt in asked if _is_held(paper, model, prompt)]


def _is_held(paper: Paper, model: str, prompt: Prompt) -> bool:
    variant = paper.variant_of("study", prompt.id)
    entry = recordings.entry(paper.id, model, prompt.id, variant)
    study = recordings.layers(variant)[-1] if paper.recorded_as else "study"
    return prompt.kind == "chat" and entry is not None and entry["dataset"] == study


def _questions(rows: "pd.DataFrame", prompt: Prompt, model: str) -> dict[str, str]:
    """What was asked about each item: the texts of all messages, a blank line between two."""
    records: list[Any] = rows.to_dict("records")
    requests = build(records, prompt, *get_model(model))
    asked = {request.item_id: request.body["messages"] for request in requests}
    return {
        item_id: "\n\n".join(message["content"] for message in messages)
        for item_id, messages in asked.items()
    }


def _sample(
    paper: Paper,
    content: Mapping[str, Any],
    answer: Mapping[str, Any],
    questions: Mapping[str, str],
) -> dict[str, Any]:
    right = str(answer[paper.gold_column])
    named = str(answer["answer"]) if answer["outcome"] == "ok" else ""
    item_id = answer["item_id"]
    is_right = named == right
    return {
        "schema_version": VERSION,
        "evaluation_id": content["evaluation_id"],
        "model_id": content["model_info"]["id"],
        "evaluation_name": f"{NAME}, prompt {answer['prompt_id']}",
        "sample_id": item_id,
        "interaction_type": "single_turn",
        "input": {
            "raw": questions.get(item_id, item_id),
            "reference": [right],
            "choices": list(paper.options),
        },
        "output": {"raw": [answer["text"] if questions else named]},
        "answer_attribution": [
            {
                "turn_idx": 0,
                "source": "output.raw",
                "extracted_value": named,
                "extraction_method": "custom",
                "is_terminal": True,
            }
        ],
        "evaluation": {"score": float(is_right), "is_correct": is_right},
        "error": None if answer["outcome"] == "ok" else answer["outcome"],
        "metadata": {
            "prompt_id": answer["prompt_id"],
            "repetition": str(answer["repetition"]),
            "cluster": str(answer[paper.cluster_column]),
            "answers": answer["source"],
        },
    }
