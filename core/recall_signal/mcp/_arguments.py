"""The arguments of the tool over the protocol: their schema, and their check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from recall_signal._report_schema import compact_schema
from recall_signal.agents._tool_settings import ToolSettings
from recall_signal.errors import ConfigurationError

__all__ = ["Arguments"]

LONGEST_NAME = 40
"""Characters of an unknown argument's name that are quoted."""

NO_RERANKER = "leave it out: this server has no reranker"


@dataclass(frozen=True)
class Arguments:
    """The arguments that a server's tool takes.

    Attributes:
        tool: The settings of the tool.
        can_rerank: Whether the retriever has a reranker.
    """

    tool: ToolSettings
    can_rerank: bool

    @property
    def schema(self) -> dict[str, object]:
        """The JSON Schema of the arguments."""
        fields = self.tool.arguments.model_fields
        notes = {name: field.description for name, field in fields.items()}
        if not self.can_rerank:
            notes["use_rerank"] = NO_RERANKER
        schema = compact_schema(self.tool.arguments)
        properties = schema["properties"]
        schema["properties"] = {
            name: {**properties[name], "description": note} for name, note in notes.items()
        }
        return schema

    def check(self, given: Mapping[str, object]) -> tuple[str, dict[str, object]]:
        """Return the question and the options of a call; null is as good as left out.

        Raises:
            ConfigurationError: An argument is missing, unknown, of another type or out of range.
        """
        arguments = {
            name[:LONGEST_NAME]: value for name, value in given.items() if value is not None
        }
        options = self.tool.parse(arguments)
        if options.get("use_rerank") is True and not self.can_rerank:
            raise ConfigurationError("use_rerank=true needs a reranker, and this server has none")
        return str(options.pop("query")), options
