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


def completion(content: object, model: object = "tiny-1") -> Reply:
    """A chat completion that says this."""
    message = {"role": "assistant", "content": content}
    body = {"object": "chat.completion", "model": model, "choices": [{"message": message}]}
    return 200, json.dumps(body).encode()


def keep(*places: int) -> Callable[[dict[str, Any]], Reply]:
    """Keeps the results at these places of the page."""

    def reply(body: dict[str, Any]) -> Reply:
        labels = LABEL.findall(body["messages"][0]["content"])
        return completion(json.dumps({"keep": [labels[place] for place in places]}))

    return reply


class ChatServer(ThreadingHTTPServer):
    """Answers every POST as it is told to, and notes what it was sent.

    Attributes:
        reply: What to answer to a body.
        bodies: What was posted.
        headers: The headers of each request.
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
        """Whoever asked has hung up."""


class _Handler(BaseHTTPRequestHandler):
    server: ChatServer

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
def serving(reply: Callable[[dict[str, Any]], Reply] | None = None) -> Iterator[ChatServer]:
    """A server while it is needed; keeps the first result unless told otherwise."""
    server = ChatServer(reply or keep(0))
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.patience.set()
        server.shutdown()
        thread.join()
        server.server_close()


def closed_port() -> str:
    """The address of a server that is down."""
    with serving() as server:
        return server.url
