"""The settings of a recall tool: its name, its description, and the arguments a model may give."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    WithJsonSchema,
    create_model,
)

from recall_signal._given import kind_of
from recall_signal._numbers import as_whole
from recall_signal._pydantic import format_validation_error
from recall_signal.errors import ConfigurationError

__all__ = [
    "MAX_K",
    "ToolArgument",
    "ToolArguments",
    "ToolSettings",
    "require_parts",
    "tool_settings",
]

ToolArgument = Literal["k", "use_rerank", "select"]
"""Options of a call that the owner of a tool may leave to the model."""

ToolArguments: TypeAlias = Sequence[ToolArgument] | Set[ToolArgument]

MAX_K = 20
"""Results that a model may ask for, unless the owner says otherwise: some ten pages of text."""

TOOL_NAME = re.compile("[a-zA-Z0-9_-]{1,64}")
"""Names that function-calling APIs accept."""

MAX_DESCRIPTION = 1024
"""Characters of a description that function-calling APIs accept."""

LEVELS_EXPLAINED = (
    "The first line of a result says how well the topic was matched: high or moderate, read it; "
    "low or none, prefer another source; unknown, judge by reading. The exact fact is never "
    "verified."
)


@dataclass(frozen=True, slots=True)
class ToolSettings:
    """Name, description and arguments of a tool, as a model sees them.

    Attributes:
        name: Its name.
        description: What is stored there, and what the levels mean.
        arguments: The model of its arguments: `query`, and those that are allowed.
    """

    name: str
    description: str
    arguments: type[BaseModel]

    def parse(self, given: Mapping[str, object]) -> dict[str, object]:
        """Return the checked arguments of a call, `query` among them, without unset ones.

        Raises:
            ConfigurationError: An argument is wrong, missing, or not allowed.
        """
        try:
            parsed = self.arguments.model_validate(given)
        except ValidationError as error:
            raise ConfigurationError(
                f"{self.name}: {format_validation_error(error)}; its arguments are "
                f"{', '.join(self.arguments.model_fields)}"
            ) from None
        return {name: value for name, value in parsed if value is not None}


def tool_settings(
    name: str,
    description: str,
    allow: ToolArguments = (),
    max_k: int = MAX_K,
) -> ToolSettings:
    """Check and complete the settings of a tool.

    Args:
        name: 1 to 64 letters, digits, `_` and `-`.
        description: What is stored there, not empty. What the levels mean is added where there is
            room.
        allow: Options of a call that become arguments.
        max_k: Largest `k` that a model may ask for.

    Raises:
        ConfigurationError: One of them is wrong.
    """
    if not isinstance(name, str) or not TOOL_NAME.fullmatch(name):
        raise ConfigurationError(
            "a tool's name must be 1 to 64 of the characters a-z, A-Z, 0-9, _ and -, which is "
            f"what function-calling APIs take; got {name!r}"
        )
    if not isinstance(description, str) or not description.strip():
        raise ConfigurationError(
            "description must say what is stored, for the model that calls the tool; got "
            f"{'an empty text' if isinstance(description, str) else kind_of(description)}"
        )
    max_k = as_whole(max_k)
    if type(max_k) is not int or max_k < 1:
        raise ConfigurationError(f"max_k must be a whole number of at least 1, got {max_k!r}")
    described = f"{description.strip()} {LEVELS_EXPLAINED}"
    if len(described) > MAX_DESCRIPTION:
        described = description
    return ToolSettings(name, described, _arguments(allow, max_k))


def require_parts(settings: ToolSettings, *, reranker: object, selector: object) -> None:
    """Refuse to offer what the retriever has no part for.

    Args:
        settings: The tool's.
        reranker: The retriever's, without which `use_rerank` cannot be allowed.
        selector: The retriever's, without which `select` cannot be allowed.

    Raises:
        ConfigurationError: An allowed argument needs a part that is None.
    """
    allowed = settings.arguments.model_fields.keys()
    _require("use_rerank", allowed, "reranker", reranker)
    _require("select", allowed, "selector", selector)


def _require(argument: ToolArgument, allow: Collection[str], part: str, given: object) -> None:
    """Refuse to offer an argument with which every call would fail."""
    if argument in allow and given is None:
        raise ConfigurationError(
            f"allow={argument!r} needs a retriever with a {part}, got one without; pass {part}= "
            f"to the RecallRetriever, or leave {argument!r} out of allow"
        )


def _arguments(allow: ToolArguments, max_k: int) -> type[BaseModel]:
    offered: dict[str, Any] = {
        "k": (_whole_number(max_k), Field(None, description="number of results")),
        "use_rerank": (_FLAG, Field(None, description="reorder the results by a second model")),
        "select": (_FLAG, Field(None, description="remove results that a model finds irrelevant")),
    }
    several = isinstance(allow, Collection) and not isinstance(allow, str)
    if not several or any(name not in list(offered) for name in allow):
        raise ConfigurationError(
            f"allow must be a collection of {', '.join(get_args(ToolArgument))}, got {allow!r}"
        )
    return create_model(
        "RecallInput",
        __config__=ConfigDict(extra="forbid", hide_input_in_errors=True),
        __doc__="The arguments of the tool.",
        query=(str, Field(description="what to look up")),
        **{name: field for name, field in offered.items() if name in allow},
    )


def _whole_number(most: int) -> Any:
    checked = Annotated[int, Field(strict=True, ge=1, le=most)]
    schema = {"type": "integer", "minimum": 1, "maximum": most}
    return Annotated[checked | None, BeforeValidator(_whole), WithJsonSchema(schema)]


def _whole(value: object) -> object:
    """Take 3.0 as well, which JSON Schema counts among the whole numbers."""
    return int(value) if type(value) is float and value.is_integer() else as_whole(value)


_FLAG = Annotated[Annotated[bool, Field(strict=True)] | None, WithJsonSchema({"type": "boolean"})]
"""Not given, and None, leave the retriever's own setting; a schema need not offer null."""
