"""How likely a model finds given continuations: `python -u scorer_worker.py MODEL_FOLDER`.

Runs in the recording environment (torch, transformers), so it imports nothing of katayori. It says
`{"ready": true}`, then for every line it reads, `{"requests": [{"messages", "continuations"},
...]}`,
it writes one, `{"scores": [...]}`, in the same order: of each request `[[sum_logp, n_tokens],
...]`,
one pair a continuation, or `{"error": cause}`.

The tokens of many requests are laid out as one tree: a token that follows the same tokens in two
requests stands there once, and sees only those it follows. So a system text, a passage or a whole
prompt that requests share is computed once, and nothing is padded. The head is computed at the
places only where a token of a continuation is predicted. All is float32: on processors without
bfloat16 units (AVX2) that is five times faster than bfloat16, and rounding adds nothing.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

BUDGET = 1024  # tokens of a pass: enough for full matrices, few enough to see each other cheaply
PLACES = 256  # predictions of one matrix product of the head


@dataclass
class Tree:
    """Tokens by the tokens they follow. `parents[i]` is the place before place i; -1 at the start.

    `targets` are the predictions wanted: (request, continuation, place that predicts, token).
    """

    tokens: list[int] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    depths: list[int] = field(default_factory=list)
    targets: list[tuple[int, int, int, int]] = field(default_factory=list)
    children: dict[tuple[int, int], int] = field(default_factory=dict)

    def place(self, parent: int, token: int) -> int:
        """The place of a token after another; a new one where it is not there yet."""
        known = self.children.get((parent, token))
        if known is not None:
            return known
        number = len(self.tokens)
        self.children[parent, token] = number
        self.tokens.append(token)
        self.parents.append(parent)
        self.depths.append(self.depths[parent] + 1 if parent >= 0 else 0)
        return number

    def add(
        self, request: int, prompt: Sequence[int], continuations: Iterable[Sequence[int]]
    ) -> None:
        """Lays out one request and notes what is to be predicted."""
        last = -1
        for token in prompt:
            last = self.place(last, token)
        for number, tokens in enumerate(continuations):
            at = last
            for position, token in enumerate(tokens):
                self.targets.append((request, number, at, token))
                if position + 1 < len(tokens):  # the last token predicts nothing that is wanted
                    at = self.place(at, token)

    def sees(self) -> np.ndarray:
        """Which place sees which, (places, places) of bool: itself and all that it follows."""
        seen = np.zeros((len(self.tokens), len(self.tokens)), dtype=bool)
        for place, parent in enumerate(self.parents):
            if parent >= 0:
                seen[place] = seen[parent]
            seen[place, place] = True
        return seen


@dataclass
class Asked:
    """A request as tokens, with its number in the line it came in."""

    number: int
    prompt: list[int]
    continuations: list[list[int]]


def trees(asked: Iterable[Asked], budget: int = BUDGET) -> Iterator[Tree]:
    """The requests in trees of about `budget` places, neighbours in the alphabet in the same one.

    Example: two requests with the same prompt of 200 tokens and two continuations of 3 tokens each
    make one tree of 200 + 4 * 2 places.
    """
    tree = Tree()
    for one in sorted(asked, key=lambda each: each.prompt):
        new = _new_places(tree, one)
        if tree.tokens and len(tree.tokens) + new > budget:
            yield tree
            tree = Tree()
        tree.add(one.number, one.prompt, one.continuations)
    if tree.tokens:
        yield tree


def _new_places(tree: Tree, one: Asked) -> int:
    """About how many places a request would add to a tree."""
    at, shared = -1, 0
    for token in one.prompt:
        at = tree.children.get((at, token), -2)
        if at == -2:
            break
        shared += 1
    return len(one.prompt) - shared + sum(map(len, one.continuations))


def sums(tree: Tree, logps: Sequence[float]) -> dict[int, list[list[float]]]:
    """By request, `[sum_logp, n_tokens]` of each continuation, from the log p of each target."""
    found: dict[int, list[list[float]]] = {}
    for (request, continuation, _, _), logp in zip(tree.targets, logps, strict=True):
        scores = found.setdefault(request, [])
        while len(scores) <= continuation:
            scores.append([0.0, 0])
        scores[continuation][0] += float(logp)
        scores[continuation][1] += 1
    return found


class Scorer:
    """A model in memory."""

    def __init__(self, folder: str):
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        self.torch = torch
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        model = AutoModelForCausalLM.from_pretrained(
            folder, dtype=torch.float32, attn_implementation="sdpa"
        )
        model.train(False)  # no dropout
        self.body = model.model
        self.longest = model.config.max_position_embeddings
        self.head = model.lm_head.weight.detach()

    def tokens_of(self, number: int, request: dict[str, Any]) -> Asked:
        """A request as tokens. Raises ValueError where it cannot be scored."""
        text = self.tokenizer.apply_chat_template(
            request["messages"], tokenize=False, add_generation_prompt=True
        )
        prompt = self._encode(text)
        continuations = [self._encode(each) for each in request["continuations"]]
        if not (prompt and continuations and all(continuations)):
            raise ValueError("the prompt or a continuation has no token")
        if len(prompt) + max(map(len, continuations)) > self.longest:
            raise ValueError(f"longer than the {self.longest} tokens that the model can read")
        return Asked(number, prompt, continuations)

    def _encode(self, text: str) -> list[int]:
        return self.tokenizer(text, add_special_tokens=False)["input_ids"]

    def logps(self, tree: Tree) -> list[float]:
        """Log p of each target of a tree, in their order."""
        torch = self.torch
        with torch.inference_mode():
            hidden = self.body(
                input_ids=torch.tensor([tree.tokens]),
                position_ids=torch.tensor([tree.depths]),
                attention_mask=torch.from_numpy(tree.sees())[None, None],
                use_cache=False,
            ).last_hidden_state[0]
            wanted = sorted({place for _, _, place, _ in tree.targets})
            row_of = {place: row for row, place in enumerate(wanted)}
            rows = torch.tensor([row_of[place] for _, _, place, _ in tree.targets])
            tokens = torch.tensor([token for *_, token in tree.targets])
            return self._read(hidden[wanted], rows, tokens)

    def _read(self, hidden: Any, rows: Any, tokens: Any) -> list[float]:
        """Log p of `tokens` by the states in `rows`, some rows of the head at a time."""
        torch = self.torch
        logps = torch.empty(len(tokens))
        for start in range(0, len(hidden), PLACES):
            logits = hidden[start : start + PLACES] @ self.head.T
            mine = ((rows >= start) & (rows < start + PLACES)).nonzero()[:, 0]
            local = rows[mine] - start
            logps[mine] = logits[local, tokens[mine]] - logits.logsumexp(-1)[local]
        return logps.tolist()

    def score(self, requests: list[dict[str, Any]]) -> list[Any]:
        """What is written for a line."""
        scores: list[Any] = [None] * len(requests)
        asked = []
        for number, request in enumerate(requests):
            try:
                asked.append(self.tokens_of(number, request))
            except Exception as error:  # a template may raise anything
                scores[number] = {"error": f"{type(error).__name__}: {error}"[:300]}
        for tree in trees(asked):
            for number, pairs in sums(tree, self.logps(tree)).items():
                scores[number] = pairs
        return scores


def main(folder: str) -> None:
    """Reads lines until there are no more."""
    scorer = Scorer(folder)
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        scores = scorer.score(json.loads(line)["requests"])
        print(json.dumps({"scores": scores}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
