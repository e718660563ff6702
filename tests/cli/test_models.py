"""`--encoder` and `--selector`: which form a name has, what is made of it, and the errors."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.language_models.fake_chat_models import FakeListChatModel

from recall_signal import ConfigurationError
from recall_signal.cli._models import PROVIDERS, Selection, load_encoder
from recall_signal.encoders import DemoEncoder
from recall_signal.selection import Answer, SelectionOptions, build_request
from recall_signal.testing import SettableEncoder
from tests.cli.fakes import recording_terminal
from tests.openai_server import OpenAIServer, embeddings

REQUEST = build_request("q?", ["one", "two"], SelectionOptions())


class Named(SettableEncoder):
    """Made without arguments."""

    name = "own name"


class Unnamed:
    """An encoder without a name, for many queries at once."""

    def embed_query(self, text: str) -> list[float]:
        return [1.0]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[1.0] for _ in texts]

    def embed_queries(self, texts: list[str]) -> list[list[float]]:
        return self.embed_documents(texts)


class Own:
    """A selector."""

    def select(self, request: Any) -> Answer:
        return Answer('{"keep": []}', "own")

    async def aselect(self, request: Any) -> Answer:
        return self.select(request)


ready = Unnamed()
inside = SimpleNamespace(encoder=ready)
selector = Own()
chat = FakeListChatModel(responses=["an answer"])


def factory() -> Unnamed:
    return ready


def fails() -> None:
    raise ValueError("no reason")


def load_selector(spec: str | None, timeout: float | None = None) -> Selection | None:
    return Selection.load(spec, timeout, recording_terminal())


def test_demo() -> None:
    assert isinstance(load_encoder("demo"), DemoEncoder)


@pytest.mark.parametrize("name", ["Unnamed", "ready", "factory", "inside.encoder"])
def test_an_object_a_class_or_a_factory(name: str) -> None:
    encoder: Any = load_encoder(f"{__name__}:{name}")
    assert encoder.name == f"{__name__}:{name}"
    assert encoder.embed_query("x") == [1.0]
    assert encoder.embed_documents(["x", "y"]) == encoder.embed_queries(["x", "y"])


def test_its_own_name_goes_first() -> None:
    assert load_encoder(f"{__name__}:Named").name == "own name"


ADDRESS = "https://user:S3CRET@host/embed?api_key=S3CRET"


def test_a_name_with_a_key_is_shown_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Named, "name", ADDRESS)
    encoder: Any = load_encoder(f"{__name__}:Named")
    assert (encoder.name, encoder.identity) == ("https://host/embed", ADDRESS)
    for load in (load_encoder, load_selector):
        with pytest.raises(ConfigurationError, match="tei:https://host/embed") as refused:
            load(f"tei:{ADDRESS}")
        assert "S3CRET" not in str(refused.value)


def test_a_module_in_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = "class Own:\n name = 'own'\n embed_query = embed_documents = None\n"
    (tmp_path / "own_encoder_here.py").write_text(lines)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert load_encoder("own_encoder_here:Own").name == "own"
    assert load_encoder("own_encoder_here:Own").name == "own"
    del sys.modules["own_encoder_here"]


def test_providers_are_those_of_langchain() -> None:
    """A name that is missing here would be looked for as a module."""
    from langchain.chat_models import base as chat_models
    from langchain.embeddings import base as embeddings_module

    known = {*chat_models._BUILTIN_PROVIDERS, *embeddings_module._BUILTIN_PROVIDERS}
    assert known >= PROVIDERS - {"huggingface"}
    assert {"openai", "anthropic", "ollama", "cohere", "mistralai"} <= PROVIDERS


def test_an_encoder_behind_an_openai_server(server: OpenAIServer) -> None:
    server.reply = embeddings
    encoder = load_encoder("openai:any-model")
    assert encoder.name == "openai:any-model"
    assert encoder.embed_query("four") == [1.0, 4.0]
    assert encoder.embed_documents(["a", "bb"]) == [[1.0, 1.0], [1.0, 2.0]]
    assert server.paths == ["/v1/embeddings"] * 2
    assert [body["input"] for body in server.bodies] == [["four"], ["a", "bb"]]
    assert server.headers[0]["authorization"] == "Bearer k"


def test_a_chat_model_behind_an_openai_server(server: OpenAIServer) -> None:
    selection = load_selector("openai:tiny", 3)
    assert selection is not None
    assert selection.options.timeout == 3
    selector: Any = selection.selector
    answer = selector.select(REQUEST)
    assert (answer.content, answer.model) == (f'{{"keep": ["{REQUEST.labels[0]}"]}}', "tiny-1")
    assert server.paths == ["/v1/chat/completions"]
    assert server.bodies[0]["messages"] == [{"content": REQUEST.prompt, "role": "user"}]


async def test_a_chat_model_of_ones_own() -> None:
    selection = load_selector(f"{__name__}:chat")
    assert selection is not None
    selector: Any = selection.selector
    answer = await selector.aselect(REQUEST)
    assert answer == Answer("an answer", f"{__name__}:chat")


@pytest.mark.parametrize("name", ["Own", "selector"])
def test_a_selector_of_ones_own(name: str) -> None:
    selection = load_selector(f"{__name__}:{name}")
    assert selection is not None
    assert isinstance(selection.selector, Own)


def test_no_selector() -> None:
    assert load_selector(None) is None


@pytest.mark.parametrize("spec", ["nocolon", ":x", "x:", "", " : "])
def test_neither_form(spec: str) -> None:
    with pytest.raises(ConfigurationError, match=r"--encoder must be 'demo', provider:model .* or"):
        load_encoder(spec)
    with pytest.raises(ConfigurationError, match=r"--selector must be provider:model .* or"):
        load_selector(spec)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nowhere:Class", "expected 'demo', provider:model (such as openai:NAME) or module:name"),
        ("nowhere:Class", "the providers are anthropic, "),
        ("json.nowhere:Class", "the providers are anthropic, "),
        ("json:Nothing", "(AttributeError); is there a Nothing in json?"),
        (f"{__name__}:fails", "(ValueError); name a function that makes it without any argument"),
        ("needy:Encoder", "(ModuleNotFoundError); needy needs not_there"),
    ],
)
def test_what_cannot_be_loaded_says_why(
    name: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "needy.py").write_text("import not_there")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigurationError) as caught:
        load_encoder(name)
    assert str(caught.value).startswith(f"--encoder {name!r} cannot be loaded (")
    assert said in str(caught.value)
    assert "no reason" not in str(caught.value)


def test_what_is_no_encoder() -> None:
    with pytest.raises(ConfigurationError, match="with embed_query and embed_documents, got Own"):
        load_encoder(f"{__name__}:Own")


def test_a_provider_whose_package_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langchain_cohere", None)
    with pytest.raises(ConfigurationError, match=r"--encoder .*; pip install langchain-cohere$"):
        load_encoder("cohere:embed-english-v3.0")
    monkeypatch.setitem(sys.modules, "langchain_anthropic", None)
    with pytest.raises(ConfigurationError, match=r"; pip install langchain-anthropic$"):
        load_selector("anthropic:any")


@pytest.mark.parametrize("module", ["langchain.embeddings", "langchain.chat_models"])
def test_without_langchain(monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    load: Any = load_encoder if "embeddings" in module else load_selector
    with pytest.raises(ConfigurationError, match="needs the package langchain; pip install"):
        load("openai:any")


def test_a_client_that_cannot_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    for load in (load_encoder, load_selector):
        with pytest.raises(ConfigurationError, match="client of 'openai' cannot be made"):
            load("openai:any")
    with pytest.raises(ConfigurationError, match="client of 'xai' cannot be made"):
        load_encoder("xai:any")  # LangChain has chat models of it, but no embeddings


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("inf"), float("nan")])
def test_wrong_timeouts(seconds: float) -> None:
    with pytest.raises(ConfigurationError, match=r"--selector-timeout must be seconds above 0"):
        load_selector("openai:tiny", seconds)
    with pytest.raises(ConfigurationError, match=r"--selector-timeout needs --selector"):
        load_selector(None, seconds)
