"""What is wrong with a setting, in words."""

from __future__ import annotations

from pydantic import ValidationError

from recall_signal import ConfigurationError

__all__ = ["in_words", "wrong"]


def wrong(message: str) -> ConfigurationError:
    """The error for a setting of the retriever."""
    return ConfigurationError(f"RecallRetriever: {message}")


def in_words(error: ValidationError) -> str:
    """Each wrong setting by name; of the values only numbers, since others may hold a secret."""
    said = []
    for item in error.errors(include_url=False):
        own, name, given = item.get("ctx", {}).get("error"), item["loc"][0], item["input"]
        if own:
            said.append(str(own))
        elif item["type"] == "extra_forbidden":
            said.append(f"{name}: there is no such setting")
        elif item["type"] == "missing":
            said.append(f"{name} is required")
        else:
            shown = given if isinstance(given, int | float) else type(given).__name__
            said.append(f"{name}: {item['msg'][0].lower()}{item['msg'][1:]}, got {shown}")
    return "; ".join(dict.fromkeys(said))
