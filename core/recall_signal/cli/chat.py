"""A selector behind ``--selector``: any server that speaks the OpenAI protocol, over httpx."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Generator
from dataclasses import dataclass
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Any, Self

from recall_signal.cli.terminal import Terminal, plain
from recall_signal.driver import drive, drive_async
from recall_signal.errors import ConfigurationError, MissingDependencyError
from recall_signal.selection import (
    ANSWER_SCHEMA,
    Answer,
    SelectionOptions,
    SelectionRequest,
    SelectorError,
)
from recall_signal.selection.options import DEFAULT_TIMEOUT

if TYPE_CHECKING:
    import httpx

__all__ = ["SELECTOR_TIMEOUT", "ChatSelector", "Server", "ServerSelection"]

Server = tuple[str, str]
"""Address and name of a model: the two values of ``--selector``."""

SELECTOR_TIMEOUT = DEFAULT_TIMEOUT

KEY_VARIABLE = "OPENAI_API_KEY"
EXAMPLE = "http://localhost:11434/v1"
ENDPOINT = "/chat/completions"

SCHEMA_REFUSED = (400, 422)
"""How servers say that they do not know a field of the request."""

LONGEST_NAME = 100
"""Characters of a model's name that are believed."""

_HINTS = {
    401: f"; is {KEY_VARIABLE} set, and right?",
    403: f"; is {KEY_VARIABLE} set, and right?",
    404: "; does it know the model, and does the address end as it should (mostly in /v1)?",
    429: "; it is asked too often, or the account is used up",
}

Exchange = Generator[bytes, Any, Answer]


class ChatSelector:
    """Posts a request to ``URL/chat/completions`` and hands the answer's text back.

    The first call asks for the JSON schema of an answer (``response_format``). A server that
    refuses such a field is asked again without it, and from then on always without: the prompt
    asks for the same JSON in words, and what comes back is judged just as strictly. Servers
    that pass over a field they do not know never notice.

    Args:
        url: Address of the API, as OpenAI clients take it: mostly ends in ``/v1``.
        model: Name of the model.
        api_key: Sent as a bearer token, None for none. It is never shown.
        timeout: Seconds for each step of a call.
        failed: Told in a sentence why a call failed, if that is known in time.

    Raises:
        ConfigurationError: The address, the name or the key cannot be right.
        MissingDependencyError: httpx is not installed.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        api_key: str | None = None,
        timeout: float,
        failed: Callable[[str], None],
    ) -> None:
        try:
            import httpx
        except ImportError:
            raise MissingDependencyError("--selector", "demo") from None
        if not model.strip():
            raise ConfigurationError("--selector URL MODEL needs the name of a model, got none")
        self.host, self._address = _checked(url)
        self.model = model
        self._headers = {"Content-Type": "application/json"}
        if api_key is not None:
            self._headers["Authorization"] = f"Bearer {api_key}"
        self._timeout = timeout
        self._failed = failed
        self._with_schema = True
        self._httpx = httpx

    def select(self, request: SelectionRequest) -> Answer:
        """Ask the server.

        Raises:
            SelectorError: It cannot be reached, or answers with no chat completion.
            TimeoutError: It is too slow.
        """
        with self._httpx.Client(headers=self._headers, timeout=self._timeout) as client:
            return drive(
                self._exchange(request), lambda body: client.post(self._address, content=body)
            )

    async def aselect(self, request: SelectionRequest) -> Answer:
        """:meth:`select`, asynchronously."""
        async with self._httpx.AsyncClient(headers=self._headers, timeout=self._timeout) as client:
            return await drive_async(
                self._exchange(request), lambda body: client.post(self._address, content=body)
            )

    def _exchange(self, request: SelectionRequest) -> Exchange:
        """The steps of one call; a body to post is answered with the response."""
        start = monotonic()
        try:
            response = yield self._body(request)
            if self._with_schema and response.status_code in SCHEMA_REFUSED:
                self._with_schema = False
                response = yield self._body(request)
            return self._read(response)
        except self._httpx.TimeoutException:
            raise TimeoutError from None
        except (self._httpx.HTTPError, ValueError) as error:  # some hosts only fail here
            failure = f"cannot be reached ({type(error).__name__})"
        except SelectorError as error:
            failure = str(error)
        if monotonic() - start < self._timeout:  # later, nobody waits for it any more
            self._failed(f"{self.host} {failure}")
        raise SelectorError(failure)

    def _body(self, request: SelectionRequest) -> bytes:
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": "user", "content": request.prompt}],
        }
        if self._with_schema:
            schema = {"name": ANSWER_SCHEMA["title"], "schema": ANSWER_SCHEMA, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        return json.dumps(body).encode()

    def _read(self, response: httpx.Response) -> Answer:
        status = response.status_code
        if status != self._httpx.codes.OK:
            raise SelectorError(f"answered with HTTP status {status}{_HINTS.get(status, '')}")
        try:
            reply = response.json()
            content = reply["choices"][0]["message"]["content"]
            name = reply.get("model")
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            raise SelectorError("answered with something that is no chat completion") from None
        named = name if isinstance(name, str) and name.strip() else self.model
        return Answer(content, named[:LONGEST_NAME])


@dataclass(frozen=True, slots=True)
class ServerSelection:
    """A server as a selector, and how it is asked."""

    selector: ChatSelector
    options: SelectionOptions

    @classmethod
    def open(cls, server: Server | None, timeout: float | None, terminal: Terminal) -> Self | None:
        """From the command line and the environment, None without a server; failures become notes.

        Raises:
            ConfigurationError: A value cannot be right.
            MissingDependencyError: httpx is not installed.
        """
        if server is None:
            if timeout is not None:
                raise ConfigurationError("--selector-timeout needs --selector URL MODEL")
            return None
        seconds = SELECTOR_TIMEOUT if timeout is None else timeout
        if not 0.0 < seconds < inf:
            raise ConfigurationError(f"--selector-timeout must be seconds above 0, got {seconds}")
        selector = ChatSelector(
            *server,
            api_key=_key_from_environment(),
            timeout=seconds,
            failed=lambda why: terminal.note(f"Selector: {why}"),
        )
        return cls(selector, SelectionOptions(timeout=seconds))

    @property
    def introduction(self) -> str:
        """Who is asked."""
        return f"{plain(self.selector.model)} at {self.selector.host} is asked."


def _key_from_environment() -> str | None:
    """The API key, None where there is none; never shown."""
    key = os.environ.get(KEY_VARIABLE, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise ConfigurationError(
            f"{KEY_VARIABLE} holds characters that cannot be sent; set it to the key alone"
        )
    return key or None


def _checked(url: str) -> tuple[str, str]:
    """Host and port to speak of, and the address to post to."""
    import httpx

    try:
        parts = httpx.URL(url.strip())
        known = bool(parts.scheme in ("http", "https") and parts.host)  # a host may fail here
    except (httpx.InvalidURL, ValueError):
        known = False
    if not known or not (parts.port is None or 0 < parts.port < 65536):
        given = "" if set(url) & set("@?") else f", got {url!r}"  # these may come with a secret
        raise ConfigurationError(f"--selector URL must be an address such as {EXAMPLE}{given}")
    if parts.userinfo or parts.query or parts.fragment:
        raise ConfigurationError(
            "--selector URL must hold no user, password, query or fragment; a key belongs into "
            f"the environment variable {KEY_VARIABLE}"
        )
    path = parts.path.rstrip("/").removesuffix(ENDPOINT)
    return parts.netloc.decode("ascii"), str(parts.copy_with(path=path + ENDPOINT))
