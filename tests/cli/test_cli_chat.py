"""The selector that asks a server: what it sends, what it believes, how it tells of failures."""

import asyncio
import sys
from typing import Any

import pytest
from chat_server import ChatServer, Reply, closed_port, completion, keep, serving
from cli_fakes import printed, recording_terminal

from recall_signal import ConfigurationError, MissingDependencyError
from recall_signal.cli.chat import ChatSelector, ServerSelection
from recall_signal.selection import (
    ANSWER_SCHEMA,
    Answer,
    SelectionOptions,
    Selector,
    SelectorError,
    apply_answer,
    build_request,
)

REQUEST = build_request("kiln?", ["about kilns", "about cats"], SelectionOptions())


def selector(url: str, failures: list[str], timeout: float = 5.0, **given: Any) -> ChatSelector:
    return ChatSelector(url, "tiny", timeout=timeout, failed=failures.append, **given)


def ask(how: str, server: ChatSelector) -> Answer:
    return asyncio.run(server.aselect(REQUEST)) if how == "async" else server.select(REQUEST)


both_ways = pytest.mark.parametrize("how", ["sync", "async"])


@both_ways
def test_asks_for_the_schema_and_hands_the_text_back(how: str) -> None:
    failures: list[str] = []
    with serving(keep(1)) as server:
        answer = ask(how, selector(server.url, failures))
    assert answer.model == "tiny-1"
    assert apply_answer(REQUEST, answer.content, SelectionOptions()).kept == (1,)
    (body,) = server.bodies
    assert body["model"] == "tiny"
    assert body["messages"] == [{"role": "user", "content": REQUEST.prompt}]
    assert body["response_format"]["json_schema"]["schema"] == ANSWER_SCHEMA
    assert server.paths == ["/v1/chat/completions"]
    assert "authorization" not in server.headers[0]
    assert failures == []


def test_is_a_selector() -> None:
    assert isinstance(selector("http://h/v1", []), Selector)


@both_ways
@pytest.mark.parametrize("status", [400, 422])
def test_a_server_without_schemas_is_asked_in_words(how: str, status: int) -> None:
    def reply(body: dict[str, Any]) -> Reply:
        return (status, b"{}") if "response_format" in body else keep(0)(body)

    failures: list[str] = []
    with serving(reply) as server:
        asked = selector(server.url, failures)
        for _ in range(2):
            assert apply_answer(REQUEST, ask(how, asked).content, SelectionOptions()).kept == (0,)
    assert ["response_format" in body for body in server.bodies] == [True, False, False]
    assert failures == []


@both_ways
@pytest.mark.parametrize(
    ("status", "hint"),
    [
        (400, "status 400"),
        (401, "is OPENAI_API_KEY set, and right?"),
        (403, "is OPENAI_API_KEY set, and right?"),
        (404, "does it know the model"),
        (429, "asked too often"),
        (500, "status 500"),
        (302, "status 302"),
        (204, "status 204"),
    ],
)
def test_an_error_of_the_server(how: str, status: int, hint: str) -> None:
    failures: list[str] = []
    with serving(lambda body: (status, b"" if status == 204 else b"secret text")) as server:
        with pytest.raises(SelectorError):
            ask(how, selector(server.url, failures))
        host = server.url.removeprefix("http://").removesuffix("/v1")
    (failure,) = failures
    assert failure.startswith(f"{host} answered with HTTP status {status}")
    assert hint in failure
    assert "secret" not in failure


@pytest.mark.parametrize(
    "garbage",
    [
        b"",
        b"<html>",
        b"\xff\xfe\x00",
        b"[]",
        b"null",
        b'"text"',
        b"{}",
        b'{"choices": []}',
        b'{"choices": {}}',
        b'{"choices": [null]}',
        b'{"choices": [{"message": null}]}',
        b'{"choices": [{"message": {}}]}',
        b"[" * 100_000,
    ],
)
def test_garbage_is_no_answer(garbage: bytes) -> None:
    failures: list[str] = []
    with serving(lambda body: (200, garbage)) as server, pytest.raises(SelectorError):
        selector(server.url, failures).select(REQUEST)
    assert failures[0].endswith("answered with something that is no chat completion")


@pytest.mark.parametrize("content", [None, [], {"keep": []}, 3, "prose", "", '{"keep": [1]}'])
def test_what_the_model_says_is_judged_elsewhere(content: object) -> None:
    with serving(lambda body: completion(content)) as server:
        answer = selector(server.url, []).select(REQUEST)
    assert answer.content == content


@pytest.mark.parametrize(
    ("given", "name"),
    [("m", "m"), (None, "tiny"), ("", "tiny"), (" ", "tiny"), (7, "tiny"), ("x" * 999, "x" * 100)],
)
def test_the_model_names_itself(given: object, name: str) -> None:
    with serving(lambda body: completion("x", given)) as server:
        assert selector(server.url, []).select(REQUEST).model == name


@both_ways
def test_a_server_that_is_down(how: str) -> None:
    failures: list[str] = []
    with pytest.raises(SelectorError):
        ask(how, selector(closed_port(), failures))
    assert "cannot be reached (ConnectError)" in failures[0]


def test_a_host_that_only_fails_when_it_is_looked_up() -> None:
    failures: list[str] = []
    with pytest.raises(SelectorError):
        selector("http://a..b/v1", failures).select(REQUEST)
    assert failures == ["a..b cannot be reached (UnicodeError)"]


@both_ways
def test_a_slow_server(how: str) -> None:
    failures: list[str] = []
    with serving() as server:
        server.reply = server.slowly
        with pytest.raises(TimeoutError):
            ask(how, selector(server.url, failures, timeout=0.2))
    assert failures == []


def test_a_failure_that_nobody_waits_for_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    failures: list[str] = []
    clock = iter([0.0, 9.0])
    monkeypatch.setattr("recall_signal.cli.chat.monotonic", lambda: next(clock))
    with pytest.raises(SelectorError):
        selector(closed_port(), failures).select(REQUEST)
    assert failures == []


@pytest.mark.parametrize(
    ("url", "host", "address"),
    [
        ("http://h/v1", "h", "http://h/v1/chat/completions"),
        (" https://h:8000/v1/ ", "h:8000", "https://h:8000/v1/chat/completions"),
        ("http://h", "h", "http://h/chat/completions"),
        ("http://[::1]:80/v1", "[::1]", "http://[::1]/v1/chat/completions"),
        ("HTTP://H/v1/chat/completions", "h", "http://h/v1/chat/completions"),
        (
            "http://é.example/a b",
            "xn--9ca.example",
            "http://xn--9ca.example/a%20b/chat/completions",
        ),
    ],
)
def test_addresses(url: str, host: str, address: str) -> None:
    asked = selector(url, [])
    assert (asked.host, str(asked._address)) == (host, address)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "tiny",
        "localhost:8000/v1",
        "//localhost/v1",
        "ftp://h/v1",
        "http://",
        "http:///v1",
        "http://h:0/v1",
        "http://h:70000/v1",
        "http://h:-1/v1",
        "http://h:port/v1",
        "http://[::1",
        "http://xn--/",
        "http://a\nb/",
        "http://\udce9/",
    ],
)
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(ConfigurationError, match="must be an address such as http://") as caught:
        selector(url, [])
    assert repr(url) in str(caught.value)


@pytest.mark.parametrize(
    "url", ["http://me:sesame@h/v1", "http://h/v1?key=sesame", "http://h/v1#sesame", "me:sesame@h"]
)
def test_an_address_with_a_secret_is_not_repeated(url: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        selector(url, [])
    assert "sesame" not in str(caught.value)


@pytest.mark.parametrize("timeout", [0.0, -1.0, float("nan"), float("inf")])
def test_a_wrong_timeout(timeout: float) -> None:
    with pytest.raises(ConfigurationError, match="--selector-timeout must be seconds above 0"):
        ServerSelection.open(("http://h/v1", "m"), timeout, recording_terminal())


@pytest.mark.parametrize("model", ["", " "])
def test_a_model_without_a_name(model: str) -> None:
    with pytest.raises(ConfigurationError, match="needs the name of a model"):
        ServerSelection.open(("http://h/v1", model), 1.0, recording_terminal())


@pytest.mark.parametrize(
    ("key", "sent"), [("sesame", "Bearer sesame"), (" sesame\n", "Bearer sesame")]
)
def test_the_key_is_sent_and_never_shown(
    monkeypatch: pytest.MonkeyPatch, key: str, sent: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    terminal = recording_terminal()
    with serving() as server:
        opened = ServerSelection.open((server.url, "tiny"), 5.0, terminal)
        opened.selector.select(REQUEST)
        server.reply = lambda body: (401, b"sesame")
        with pytest.raises(SelectorError):
            opened.selector.select(REQUEST)
    assert [headers["authorization"] for headers in server.headers] == [sent, sent]
    said = printed(terminal.err)
    assert said.startswith("Selector: 127.0.0.1:")
    assert "sesame" not in said
    assert opened.options.timeout == 5.0
    assert opened.introduction.startswith("tiny at 127.0.0.1:")


@pytest.mark.parametrize("key", ["", "  "])
def test_an_empty_key_is_none(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with serving() as server:
        opened = ServerSelection.open((server.url, "tiny"), 5.0, recording_terminal())
        opened.selector.select(REQUEST)
    assert "authorization" not in server.headers[0]


@pytest.mark.parametrize("key", ["ses\name", "sesämé", "ses\x7fame"])
def test_a_key_that_cannot_be_sent(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY holds characters") as caught:
        ServerSelection.open(("http://h/v1", "m"), 1.0, recording_terminal())
    assert key not in str(caught.value)


def test_without_httpx(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(MissingDependencyError, match=r"--selector needs .*recall-signal\[demo\]"):
        selector("http://h/v1", [])


def test_the_server_hangs_up(monkeypatch: pytest.MonkeyPatch) -> None:
    failures: list[str] = []

    def reply(body: dict[str, Any]) -> Reply:
        raise ConnectionAbortedError

    with serving(reply) as server, pytest.raises(SelectorError):
        selector(server.url, failures).select(REQUEST)
    assert "cannot be reached (RemoteProtocolError)" in failures[0]
    assert isinstance(server, ChatServer)
