"""How likely a model finds given continuations: `python -u scorer_worker.py MODEL_FOLDER`.

Runs in the recording environment (torch, transformers), so it imports nothing of katayori. It says
`{"ready": true}`, then for every line it reads, `{"requests": [{"messages", "continuations"},
...]}`, it writes one, `{"scores": [...]}`, in the same order: of each request
`[[sum_logp, n_tokens], ...]`, one pair a continuation, or `{"error": cause}`.

The tokens of many requests are laid out as one tree: a token that follows the same tokens in two
requests stands there once, and sees only those it follows. So a system text, a passage or a whole
prompt that requests share is computed once, and nothing is padded. The head is computed at the
places only where a token of a continuation is predicted. All is float32: on processors without
bfloat16 units (AVX2) that is five times faster than bfloat16, and rounding adds nothing.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

BUDGET = 1024  # tokens of a pass: enough for full matrices, few enough to see each other cheaply
PLACES = 256  # predictions of one matrix product of the head
#: A request as tokens: its number in the line it came in, the prompt, the continuations.
Asked = tuple[int, list[int], list[list[int]]]


class Tree:
    """Tokens by the tokens they follow. `parents[i]` is the place before place i; -1 at the start.

    `targets` are the predictions wanted: (request, continuation, place that predicts, token).
    """

    def __init__(self) -> None:
        self.tokens: list[int] = []
        self.parents: list[int] = []
        self.depths: list[int] = []
        self.targets: list[tuple[int, int, int, int]] = []
        self._children: dict[tuple[int, int], int] = {}

    def _place(self, parent: int, token: int) -> int:
        """The place of a token after another; a new one where it is not there yet."""
        number = self._children.setdefault((parent, token), len(self.tokens))
        if number == len(self.tokens):
            self.tokens.append(token)
            self.parents.append(parent)
            self.depths.append(self.depths[parent] + 1 if parent >= 0 else 0)
        return number

    def add(self, request: int, prompt: list[int], continuations: list[list[int]]) -> None:
        """Lays out one request and notes what is to be predicted."""
        last = -1
        for token in prompt:
            last = self._place(last, token)
        for number, tokens in enumerate(continuations):
            at = last
            for token in tokens[:-1]:
                self.targets.append((request, number, at, token))
                at = self._place(at, token)
            self.targets.append((request, number, at, tokens[-1]))  # which predicts nothing wanted

    def sees(self) -> np.ndarray:
        """Which place sees which, (places, places) of bool: itself and all that it follows."""
        seen = np.eye(len(self.tokens), dtype=bool)
        for place, parent in enumerate(self.parents):
            if parent >= 0:
                seen[place] |= seen[parent]
        return seen


def trees(asked: Iterable[Asked], budget: int = BUDGET) -> Iterator[Tree]:
    """The requests in trees of about `budget` places, neighbours in the alphabet in the same one.

    Example: two requests with the same prompt of 200 tokens and two continuations of 3 tokens each
    make one tree of 200 + 4 * 2 places.
    """
    tree = Tree()
    for one in sorted(asked, key=lambda each: each[1]):
        tree.add(*one)
        if len(tree.tokens) >= budget:
            yield tree
            tree = Tree()
    if tree.tokens:
        yield tree


def sums(tree: Tree, logps: Sequence[float]) -> dict[int, list[list[float]]]:
    """By request, `[sum_logp, n_tokens]` of each continuation, from the log p of each target."""
    found: dict[int, list[list[float]]] = {}
    for (request, continuation, _, _), logp in zip(tree.targets, logps, strict=True):
        scores = found.setdefault(request, [])
        if len(scores) == continuation:  # targets come in the order of the continuations
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

    def _tokens_of(self, number: int, request: dict[str, Any]) -> Asked:
        """A request as tokens. Raises ValueError where it cannot be scored."""
        text = self.tokenizer.apply_chat_template(
            request["messages"], tokenize=False, add_generation_prompt=True
        )
        texts = [text, *request["continuations"]]
        prompt, *tokens = self.tokenizer(texts, add_special_tokens=False)["input_ids"]
        if not (prompt and tokens and all(tokens)):
            raise ValueError("the prompt or a continuation has no token")
        if len(prompt) + max(map(len, tokens)) > self.longest:
            raise ValueError(f"longer than the {self.longest} tokens that the model can read")
        return number, prompt, tokens

    def _logps(self, tree: Tree) -> list[float]:
        """Log p of each target of a tree, in their order, some places at a time."""
        torch = self.torch
        with torch.inference_mode():
            hidden = self.body(
                input_ids=torch.tensor([tree.tokens]),
                position_ids=torch.tensor([tree.depths]),
                attention_mask=torch.from_numpy(tree.sees())[None, None],
                use_cache=False,
            ).last_hidden_state[0]
            _, _, places, tokens = torch.tensor(tree.targets).T
            wanted, rows = places.unique(return_inverse=True)
            logps = torch.empty(len(tokens))
            for start in range(0, len(wanted), PLACES):
                logits = hidden[wanted[start : start + PLACES]] @ self.head.T
                mine = ((rows >= start) & (rows < start + PLACES)).nonzero()[:, 0]
                local = rows[mine] - start
                logps[mine] = logits[local, tokens[mine]] - logits.logsumexp(-1)[local]
            return logps.tolist()

    def score(self, requests: list[dict[str, Any]]) -> list[Any]:
        """What is written for a line."""
        scores: dict[int, Any] = {}
        asked = []
        for number, request in enumerate(requests):
            try:
                asked.append(self._tokens_of(number, request))
            except Exception as error:  # a template may raise anything
                scores[number] = {"error": f"{type(error).__name__}: {error}"[:300]}
        for tree in trees(asked):
            scores |= sums(tree, self._logps(tree))
        return [scores[number] for number in range(len(requests))]


def main(folder: str) -> None:
    """Reads lines until there are no more."""
    scorer = Scorer(folder)
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        scores = scorer.score(json.loads(line)["requests"])
        print(json.dumps({"scores": scores}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
