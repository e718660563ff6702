"""A real HTTP server on loopback that speaks the OpenAI protocol, well or badly."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

Reply = tuple[int, bytes]

LABEL = re.compile(r"^\[(\w{5})\] ", re.MULTILINE)


def completion(content: str, model: str = "tiny-1") -> Reply:
    """A chat completion with this content."""
    message = {"role": "assistant", "content": content}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    body = {"id": "c", "object": "chat.completion", "created": 0, "model": model}
    return 200, json.dumps({**body, "choices": [choice]}).encode()


def keep(*places: int) -> Callable[[dict[str, Any]], Reply]:
    """Keep the results at these places of the page."""

    def reply(body: dict[str, Any]) -> Reply:
        *labels, none = LABEL.findall(body["messages"][0]["content"])
        return completion(json.dumps({"keep": [labels[place] for place in places] or [none]}))

    return reply


def embeddings(body: dict[str, Any]) -> Reply:
    """Vectors of two dimensions, by the length of the text."""
    texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
    rows = [{"index": n, "embedding": [1.0, float(len(text))]} for n, text in enumerate(texts)]
    return 200, json.dumps({"object": "list", "model": body["model"], "data": rows}).encode()


class OpenAIServer(ThreadingHTTPServer):
    """Answers every POST with `reply`, and records the requests.

    Attributes:
        reply: Body -> answer.
        bodies: The posted bodies.
        headers: The headers of each request, lower-case.
        paths: The path of each request.
        patience: Set when nobody needs a slow answer any more.
    """

    daemon_threads = True

    def __init__(self, reply: Callable[[dict[str, Any]], Reply]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.reply = reply
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.patience = Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def slowly(self, body: dict[str, Any]) -> Reply:
        """A good answer that comes too late."""
        self.patience.wait(10)
        return keep(0)(body)

    def handle_error(self, request: object, client_address: object) -> None:
        """The client has hung up."""


class _Handler(BaseHTTPRequestHandler):
    server: OpenAIServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.bodies.append(body)
        self.server.headers.append({k.lower(): v for k, v in self.headers.items()})
        self.server.paths.append(self.path)
        status, answer = self.server.reply(body)
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Nothing on the terminal."""


@contextmanager
def serving(reply: Callable[[dict[str, Any]], Reply] | None = None) -> Iterator[OpenAIServer]:
    """A server while it is needed; by default it keeps the first result."""
    server = OpenAIServer(reply or keep(0))
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.patience.set()
        server.shutdown()
        thread.join()
        server.server_close()
