"""An OpenAI-compatible chat server on loopback that plays every misbehaviour seen in the wild.

It speaks real HTTP, streaming or not, so what is tested is the request that really goes out. Replies come
from a queue or from a function of the request, and every request is recorded.
"""

from __future__ import annotations

import itertools
import json
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from stub_openai_wire import Reply, completion, events, message_of, refusal_of

__all__ = ["Reply", "Request", "StubOpenAI", "stub"]

_numbers = itertools.count(1)
_PLAIN = Reply()


@dataclass
class Request:
    """A request as it came in, header names in lower case, and how many bytes of body answered it."""

    path: str
    headers: dict[str, str]
    raw: bytes
    at: float
    sent: int = 0
    status: int = 0

    @property
    def body(self) -> dict[str, Any]:
        return json.loads(self.raw) if self.raw else {}

    @property
    def mode(self) -> str:
        """`json_schema`, `json_object`, `tools` or `text`."""
        if self.body.get("tools"):
            return "tools"
        return str((self.body.get("response_format") or {}).get("type", "text"))

    @property
    def text(self) -> str:
        """All texts of its messages."""
        return "\n".join(str(message["content"]) for message in self.body["messages"])


Script = Reply | dict[str, Any] | str
Answerer = Callable[[Request], Script]


class StubOpenAI:
    """The server.

    Attributes:
        name: The model's name, another one for each server.
        replies: Answers in order; a function in it is asked for one.
        answer: Gives the answer once `replies` is empty.
        refuse: What it answers 400 to: `json_schema`, `json_object`, `tools`, `named_tool_choice`,
            `required_tool_choice`, `temperature`, `max_tokens`, `max_completion_tokens`.
        ignore: Of these, what it takes no notice of: a `value` then goes out as text.
        wrap: What is done to a `value` sent as text.
        requests: All chat requests so far, refused ones too.
    """

    def __init__(self) -> None:
        self.name = f"stub-{next(_numbers)}"
        self.replies: deque[Script | Answerer] = deque()
        self.answer: Answerer = lambda request: Reply(status=500, error={"message": "nothing scripted"})
        self.refuse: set[str] = set()
        self.ignore: set[str] = set()
        self.wrap: Callable[[str], str] = str
        self.requests: list[Request] = []
        self.closing = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """What `base_url` has to be."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def modes(self) -> list[str]:
        return [request.mode for request in self.requests]

    def model(self, **options: Any) -> Any:
        """A `ChatOpenAI` for this server."""
        from langchain_openai import ChatOpenAI

        return ChatOpenAI(**{"model": self.name, "base_url": self.url, "api_key": "sk-stub", **options})

    def script(self, *replies: Script | Answerer) -> StubOpenAI:
        self.replies.extend(replies)
        return self

    def always(self, answer: Script | Answerer) -> StubOpenAI:
        self.answer = answer if callable(answer) else lambda request: answer
        return self

    def close(self) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def respond(self, request: Request) -> Reply:
        """The reply to a request: a refusal, or the next one of the script."""
        self.requests.append(request)
        refusal = refusal_of(request.body, self.refuse)
        if refusal:
            return Reply(status=400, error=refusal)
        found = self.replies.popleft() if self.replies else self.answer
        reply = found(request) if callable(found) else found
        if isinstance(reply, str):
            return Reply(content=reply)
        return Reply(value=reply) if isinstance(reply, dict) else reply


def _handler(stub: StubOpenAI) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, *args: Any) -> None:
            pass

        def do_GET(self) -> None:
            models = {"object": "list", "data": [{"id": stub.name, "object": "model", "owned_by": "stub"}]}
            found = self.path == "/v1/models"
            self._send(200 if found else 404, json.dumps(models if found else {"error": {"message": "?"}}))

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            request = Request(
                self.path,
                {name.lower(): value for name, value in self.headers.items()},
                raw,
                time.monotonic(),
            )
            if self.path != "/v1/chat/completions":
                self._send(404, json.dumps({"error": {"message": f"no such path: {self.path}"}}))
                return
            reply = stub.respond(request)
            request.status = reply.status
            stub.closing.wait(reply.wait_s)
            try:
                request.sent = self._answer(request, reply)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        def _answer(self, request: Request, reply: Reply) -> int:
            if reply.status != 200:
                return self._send(reply.status, json.dumps({"error": reply.error}), reply)
            if reply.body is not None:
                return self._send(200, reply.body, reply)
            tools = [] if "tools" in stub.ignore else request.body.get("tools") or []
            message = message_of(reply, tools, stub.wrap)
            if request.body.get("stream"):
                asked = (request.body.get("stream_options") or {}).get("include_usage")
                text = "".join(events(stub.name, message, reply, bool(asked)))
                return self._send(200, text, replace(reply, content_type="text/event-stream"))
            return self._send(200, json.dumps(completion(stub.name, message, reply)), reply)

        def _send(self, status: int, text: str, reply: Reply = _PLAIN) -> int:
            data = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", reply.content_type)
            self.send_header("Content-Length", str(len(data)))
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.end_headers()
            if reply.reset:
                self.wfile.write(data[: len(data) // 2])
                self.wfile.flush()
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.connection.close()
                raise ConnectionResetError
            pieces: Iterable[bytes] = (bytes([b]) for b in data) if reply.trickle_s else (data,)
            for piece in pieces:
                self.wfile.write(piece)
                stub.closing.wait(reply.trickle_s)
            return len(data)

    return Handler


@pytest.fixture
def stub() -> Iterator[StubOpenAI]:
    """A server for one test; see `StubOpenAI`."""
    server = StubOpenAI()
    yield server
    server.close()
