"""What the benchmarks of models share: a chat model's server on loopback, and an estimate of tokens."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[[dict[str, Any]], dict[str, Any]]


def tokens(text: str) -> int:
    """An estimate: one for each CJK character, one for each four others."""
    wide = sum(char > "\u2e7f" for char in text)
    return wide + -(-(len(text) - wide) // 4)


@contextmanager
def serving(answer: Answer) -> Iterator[str]:
    """The address of a server that answers chat requests at once, with the message `answer` makes of each."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, *args: Any) -> None:
            pass

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            choice = {"index": 0, "message": answer(request), "finish_reason": "stop"}
            body = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
            data = json.dumps(body).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=http.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{http.server_address[1]}/v1"
    finally:
        http.shutdown()
        http.server_close()
