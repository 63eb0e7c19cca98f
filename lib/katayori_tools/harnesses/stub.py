"""A model for checks: a server on loopback that answers known requests, each always alike.

    with Stub(requests) as url:
        ...

The answer depends on the text of the messages alone, whoever asks. Every option is named, some
answers say more than an option, and some cannot be read.
"""

import hashlib
import json
import math
import threading
from collections.abc import Iterable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from katayori.papers import get_paper
from katayori.prompting.requests import Request

NAME = "my-model"
UNREADABLE = "お答えできません。"
#: Of so many answers one is unreadable.
ONE_OF = 6
SURE = 0.7  # the probability of the option that is named


def asked_of(messages: Iterable[Mapping[str, Any]]) -> str:
    """The messages as one text, whatever else a client puts beside role and content."""
    turns = [[turn["role"], _content(turn["content"])] for turn in messages]
    return json.dumps(turns, ensure_ascii=False)


def _content(content: Any) -> str:
    parts = content if isinstance(content, list) else [{"text": content}]
    return "".join(str(part["text"]) for part in parts)


def answer_of(request: Request) -> str:
    """The text with which a request is answered."""
    room = get_paper(request.paper)
    drawn = int.from_bytes(hashlib.sha256(asked_of(request.body["messages"]).encode()).digest()[:4])
    if drawn % ONE_OF == 0:
        return UNREADABLE
    return room.shortest.format(room.options[drawn // ONE_OF % len(room.options)])


def tokens_of(text: str, options: Iterable[str]) -> list[dict[str, Any]]:
    """The tokens of an answer; the last word has the options as alternatives."""
    chosen = text.split()[-1]
    others = [option for option in options if option != chosen]
    shares = [(chosen, SURE), *((other, (1 - SURE) / len(others)) for other in others)]
    top = [_token(token, share) for token, share in shares]
    last = {**top[0], "top_logprobs": top}
    before = text.removesuffix(chosen)
    return [{**_token(before, 0.9), "top_logprobs": []}, last] if before else [last]


def _token(token: str, share: float) -> dict[str, Any]:
    return {"token": token, "logprob": math.log(share), "bytes": list(token.encode())}


class Stub:
    """The server, in a thread of its own while the block lasts; `with` gives its address."""

    def __init__(self, requests: Iterable[Request]) -> None:
        self.known = {asked_of(request.body["messages"]): request for request in requests}

    def __enter__(self) -> str:
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()
        return f"http://127.0.0.1:{self.server.server_port}/v1"

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:  # the name that http.server calls
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status, made = stub.reply(body)
                content = json.dumps(made, ensure_ascii=False).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: Any) -> None:
                """Nothing: what was asked stands in the logs of those who asked."""

        return Handler

    def reply(self, body: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
        """Status and completion; 422 for what is none of the known requests."""
        request = self.known.get(asked_of(body["messages"]))
        if request is None:
            return 422, {"error": {"message": "not one of the requests to be checked"}}
        text = answer_of(request)
        message = {"role": "assistant", "content": text}
        choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": "stop"}
        if body.get("logprobs"):
            choice["logprobs"] = {"content": tokens_of(text, get_paper(request.paper).options)}
        usage = {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12}
        made = {"id": "stub", "object": "chat.completion", "created": 0, "model": NAME}
        return 200, {**made, "choices": [choice], "usage": usage}
