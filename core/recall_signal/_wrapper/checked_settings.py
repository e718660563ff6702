"""Settings that are checked where they are made, and named in what refuses them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from recall_signal._pydantic import format_validation_error
from recall_signal.errors import ConfigurationError

__all__ = ["RESERVED_KEYS", "UNSET", "CheckedSettings", "Unset"]


class Unset(Enum):
    """The default of a setting for which it matters whether it was given."""

    UNSET = "unset"

    def __repr__(self) -> str:
        return self.name


UNSET = Unset.UNSET

RESERVED_KEYS = frozenset({"page_content", "score", "relevance_score", "similarity"})
"""Metadata keys to which prompts, tracers and rerankers give another meaning."""


_READ_KEYS = ("id_key", "score_key")
"""Settings that name a metadata key under which items carry something of their own."""


class CheckedSettings(BaseModel):
    """Settings whose mistakes are reported as `ConfigurationError` under the setting's name.

    Raises:
        ConfigurationError: A setting is wrong; the message names it.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    reserved_keys: ClassVar[frozenset[str]] = RESERVED_KEYS

    metadata_key: str = Field(default="recall", min_length=1)
    """Metadata key under which a document or node carries the reports. An entry that somebody else
    stored there is left out of the returned copies."""

    id_key: str | None = None
    """Metadata key of an item's id; None takes the framework's own id."""

    def __init__(self, **settings: object) -> None:
        settings = {name: value for name, value in settings.items() if value is not UNSET}
        try:
            super().__init__(**settings)
        except ValidationError as error:
            message = format_validation_error(error, type(self).model_fields)
            raise self.configuration_error(message) from None
        self._check_keys()

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy with other settings, which are checked as those of a new one."""
        changed = dict(update or {})
        if changed:
            checked = object.__new__(type(self))
            CheckedSettings.__init__(checked, **{**vars(self), **changed})  # settings, and no more
            changed = {name: getattr(checked, name) for name in changed}
        return super().model_copy(update=changed, deep=deep)

    def _check_keys(self) -> None:
        if self.metadata_key in self.reserved_keys:
            raise self.configuration_error(
                f"metadata_key {self.metadata_key!r} has a meaning of its own to other software; "
                "choose another key"
            )
        for name in _READ_KEYS:
            if getattr(self, name, None) == self.metadata_key:
                raise self.configuration_error(
                    f"{name} and metadata_key are both {self.metadata_key!r}; the reports would "
                    "take the place of what is read there, so choose another metadata_key"
                )

    @classmethod
    def configuration_error(cls, message: str) -> ConfigurationError:
        return ConfigurationError(f"{cls.model_config.get('title') or cls.__name__}: {message}")
