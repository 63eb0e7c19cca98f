"""How likely a model finds given continuations: `python -u scorer_worker.py MODEL_FOLDER`.

Runs in the recording environment (torch, transformers), so it imports nothing of katayori. It says
`{"ready": true}`, then for every line it reads, `{"requests": [{"messages", "continuations"},
...]}`, it writes one, `{"scores": [...]}`, in the same order: of each request
`[[sum_logp, n_tokens], ...]`, one pair a continuation, or `{"error": cause}`.

A prompt is computed once, its continuations side by side on its cache. All is float32: on
processors without bfloat16 units (AVX2) that is five times faster than bfloat16, and rounding adds
nothing.
"""

import json
import sys
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer


class Scorer:
    """A model in memory."""

    def __init__(self, folder: str):
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
        self.model.train(False)  # no dropout

    def _tokens_of(self, request: dict[str, Any]) -> list[list[int]]:
        """Tokens of the prompt and of each continuation. ValueError where none can be scored."""
        text = self.tokenizer.apply_chat_template(
            request["messages"], tokenize=False, add_generation_prompt=True
        )
        texts = [text, *request["continuations"]]
        tokens = self.tokenizer(texts, add_special_tokens=False)["input_ids"]
        if len(tokens) < 2 or not all(tokens):
            raise ValueError("the prompt or a continuation has no token")
        longest = self.model.config.max_position_embeddings
        if len(tokens[0]) + max(map(len, tokens[1:])) > longest:
            raise ValueError(f"longer than the {longest} tokens that the model can read")
        return tokens

    @torch.inference_mode()
    def score(self, request: dict[str, Any]) -> Any:
        """What is written of a request."""
        try:
            prompt, *texts = self._tokens_of(request)
        except Exception as error:  # a template may raise anything
            return {"error": f"{type(error).__name__}: {error}"[:300]}
        width = max(map(len, texts))
        tokens = torch.tensor(
            [one + [0] * (width - len(one)) for one in texts]
        )  # 0 is seen by none
        start = self.model(torch.tensor([prompt]), use_cache=True, logits_to_keep=1)
        start.past_key_values.batch_repeat_interleave(len(texts))
        rest = self.model(tokens, past_key_values=start.past_key_values).logits[:, :-1]
        logits = torch.cat([start.logits.expand(len(texts), -1, -1), rest], dim=1)
        logps = logits.log_softmax(-1).gather(-1, tokens[..., None])[..., 0]
        pairs = zip(logps.tolist(), map(len, texts), strict=True)
        return [[sum(row[:n]), n] for row, n in pairs]


def main(folder: str) -> None:
    """Reads lines until there are no more."""
    scorer = Scorer(folder)
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        scores = [scorer.score(request) for request in json.loads(line)["requests"]]
        print(json.dumps({"scores": scores}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
