"""`--encoder` and `--selector`: a provider's model by name, or an object from a module.

`provider:model` goes to LangChain (`init_embeddings`, `init_chat_model`), `module:name`
is imported. A name of `PROVIDERS` before the colon is a provider, any other one a module:
many providers share their name with the package of their client, so what happens to be installed
must not decide.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from math import inf
from pathlib import Path
from typing import Protocol, TypeGuard

from recall_signal._names import plain_name
from recall_signal.cli._terminal import Terminal
from recall_signal.encoders import DemoEncoder, Encoder
from recall_signal.errors import ConfigurationError
from recall_signal.selection import Answer, SelectionOptions, SelectionRequest, Selector
from recall_signal.selection._options import DEFAULT_TIMEOUT

__all__ = ["DEFAULT_TIMEOUT", "DEMO", "NamedEncoder", "Selection", "load_encoder", "load_reranker"]

DEMO = "demo"

_NAMES = """
anthropic anthropic_bedrock azure_ai azure_openai baseten bedrock bedrock_converse cohere deepseek
fireworks google_anthropic_vertex google_genai google_vertexai groq huggingface ibm litellm meta
mistralai nvidia ollama openai openrouter perplexity together upstage xai
"""
PROVIDERS = frozenset(_NAMES.split())
"""Providers of LangChain 1.x, for chat models, embeddings or both."""

BASE_URLS = ("OPENAI_BASE_URL", "OPENAI_API_BASE")
"""Environment variables in which LangChain's OpenAI client looks for another server."""

LONGEST_NAME = 100
"""Characters of a model's name that are kept."""


class _Embedder(Protocol):
    def embed_query(self, text: str) -> list[float]: ...

    def embed_documents(self, texts: list[str]) -> list[list[float]]: ...


class NamedEncoder:
    """An embedder with a name: its own, else the option's value.

    Attributes:
        identity: All of the name, by which vectors and calibrations are kept.
        name: What may be shown of it.
    """

    def __init__(self, embedder: _Embedder, name: str) -> None:
        own = getattr(embedder, "name", None)
        self.identity = own if isinstance(own, str) and own else name
        self.name = plain_name(self.identity)
        self.embed_query = embedder.embed_query
        self.embed_documents = embedder.embed_documents
        if hasattr(embedder, "embed_queries"):
            self.embed_queries = embedder.embed_queries


def load_encoder(spec: str) -> Encoder:
    """Return the encoder of this name.

    Args:
        spec: `demo`; `provider:model`; or `module:name` of an object with `embed_query`
            and `embed_documents`, or of something that returns one when called without
            arguments. The module may lie in the current folder.

    Raises:
        ConfigurationError: There is no such model or object, its package is not installed, or
            it is no encoder.
    """
    if spec == DEMO:
        return DemoEncoder()
    provider, model = _split("--encoder", spec)
    made = _embeddings(provider, model) if provider in PROVIDERS else _object("--encoder", spec)
    if not _is_embedder(made):
        raise ConfigurationError(
            f"--encoder {spec!r} is no encoder: expected an object with embed_query and "
            f"embed_documents, got {type(made).__name__}"
        )
    return NamedEncoder(made, spec)


def load_reranker(spec: str) -> object:
    """Return the reranker `module:name`; a class is called without arguments.

    Raises:
        ConfigurationError: There is no such object, or its package is not installed.
    """
    return _object("--reranker", spec, lambda made: isinstance(made, type))


@dataclass(frozen=True, slots=True)
class Selection:
    """A selector, its options, and the option's value."""

    selector: object
    options: SelectionOptions
    name: str

    @classmethod
    def load(cls, spec: str | None, timeout: float | None, terminal: Terminal) -> Selection | None:
        """Return the selector of this name, None without one.

        Args:
            spec: `provider:model`, or `module:name` of a chat model, a
                `Selector`, or something that returns one.
            timeout: Seconds for each page; None for the default.
            terminal: For a note when the model fails.

        Raises:
            ConfigurationError: There is no such model or object, its package is not installed,
                or a value is out of range.
        """
        if spec is None:
            if timeout is not None:
                raise ConfigurationError("--selector-timeout needs --selector")
            return None
        seconds = DEFAULT_TIMEOUT if timeout is None else timeout
        if not 0.0 < seconds < inf:
            raise ConfigurationError(f"--selector-timeout must be seconds above 0, got {seconds}")
        provider, model = _split("--selector", spec)
        known = provider in PROVIDERS
        made = _chat_model(provider, model) if known else _object("--selector", spec)
        selector = _ChatSelector(made, plain_name(spec), terminal) if _is_chat_model(made) else made
        return cls(selector, SelectionOptions(timeout=seconds), plain_name(spec))


class _Message(Protocol):
    @property
    def text(self) -> str: ...

    @property
    def response_metadata(self) -> Mapping[str, object]: ...


class _ChatModel(Protocol):
    def invoke(self, prompt: str, /) -> _Message: ...


class _ChatSelector:
    """A LangChain chat model as a selector that any framework takes."""

    def __init__(self, model: _ChatModel, name: str, terminal: Terminal) -> None:
        self._model = model
        self._name = name
        self._terminal = terminal

    def select(self, request: SelectionRequest) -> Answer:
        """Ask the model; its errors pass through, after a note with their kind."""
        try:
            message = self._model.invoke(request.prompt)
        except Exception as error:
            self._terminal.note(f"Selector {self._name} failed: {type(error).__name__}")
            raise
        name = message.response_metadata.get("model_name")
        return Answer(str(message.text), str(name or self._name)[:LONGEST_NAME])

    async def aselect(self, request: SelectionRequest) -> Answer:
        """Ask the model; the command line itself is synchronous."""
        return self.select(request)


def _split(option: str, spec: str) -> tuple[str, str]:
    """Return the parts before and behind the first colon."""
    before, colon, behind = spec.partition(":")
    if not (before.strip() and colon and behind.strip()):
        raise ConfigurationError(f"{option} must be {_forms(option)}, got {spec!r}")
    return before.strip(), behind.strip()


def _forms(option: str) -> str:
    if option == "--reranker":
        return "module:name of an importable object, or of a class made without arguments"
    demo = f"'{DEMO}', " if option == "--encoder" else ""
    return (
        f"{demo}provider:model (such as openai:NAME) or module:name (an importable object, or "
        "something that returns one without arguments)"
    )


def _embeddings(provider: str, model: str) -> object:
    try:
        from langchain.embeddings import init_embeddings
    except ImportError:
        raise _missing("--encoder", "langchain") from None
    # OpenAI's own server takes tokens, and the client cuts long texts by them; others take texts.
    elsewhere = provider == "openai" and any(map(os.environ.get, BASE_URLS))
    more = {"check_embedding_ctx_length": False} if elsewhere else {}
    try:
        return init_embeddings(model, provider=provider, **more)
    except Exception as error:
        raise _refused("--encoder", provider, error) from None


def _chat_model(provider: str, model: str) -> object:
    try:
        from langchain.chat_models import init_chat_model
    except ImportError:
        raise _missing("--selector", "langchain") from None
    try:
        return init_chat_model(model, model_provider=provider)
    except Exception as error:
        raise _refused("--selector", provider, error) from None


def _missing(option: str, package: str) -> ConfigurationError:
    return ConfigurationError(
        f"{option} provider:model needs the package {package}; pip install {package}"
    )


def _refused(option: str, provider: str, error: Exception) -> ConfigurationError:
    """Say why a client cannot be made, without its message, which may quote the environment."""
    if isinstance(error, ImportError):
        named = re.search(r"pip install (?:-U )?([\w-]+)", str(error))
        return _missing(option, named[1] if named else f"langchain-{provider}".replace("_", "-"))
    return ConfigurationError(
        f"{option}: the client of {provider!r} cannot be made ({type(error).__name__}); is the "
        "model's name right, and its key in the environment?"
    )


def _object(option: str, spec: str, is_factory: Callable[[object], bool] | None = None) -> object:
    """Import `module:name`, and call it where it is a class or a factory."""
    module, name = _split(option, spec)
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)
    try:
        made: object = import_module(module)
        for part in name.split("."):
            made = getattr(made, part)
        return made() if callable(made) and (is_factory or _is_factory)(made) else made
    except ModuleNotFoundError as error:
        if error.name not in _packages(module):  # one that the module needs
            raise _unloaded(option, spec, error, f"{module} needs {error.name}") from None
        providers = f"the providers are {', '.join(sorted(PROVIDERS))}"
        raise _unloaded(option, spec, error, f"expected {_forms(option)}; {providers}") from None
    except AttributeError as error:
        raise _unloaded(option, spec, error, f"is there a {name} in {module}?") from None
    except Exception as error:
        remedy = "name a function that makes it without any argument"
        raise _unloaded(option, spec, error, remedy) from None


def _unloaded(option: str, spec: str, error: Exception, remedy: str) -> ConfigurationError:
    return ConfigurationError(
        f"{option} {plain_name(spec)!r} cannot be loaded ({type(error).__name__}); {remedy}"
    )


def _packages(module: str) -> set[str]:
    """Return a module's name and those of the packages that it is in."""
    parts = module.split(".")
    return {".".join(parts[:count]) for count in range(1, len(parts) + 1)}


def _is_factory(made: object) -> TypeGuard[Callable[[], object]]:
    is_ready = _is_embedder(made) or _is_chat_model(made) or isinstance(made, Selector)
    return isinstance(made, type) or (callable(made) and not is_ready)


def _is_embedder(made: object) -> TypeGuard[_Embedder]:
    return hasattr(made, "embed_query") and hasattr(made, "embed_documents")


def _is_chat_model(made: object) -> TypeGuard[_ChatModel]:
    return hasattr(made, "invoke") and not isinstance(made, Selector)
