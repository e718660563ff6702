"""The licences of everything that the extras install, as the table of docs/security.md.

With `--write` the table is written anew, without it a difference fails.
"""

import re
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PAGE = Path(__file__).parents[1] / "docs" / "security.md"
START, END = "<!-- licences: made by .ci/licences.py -->\n", "<!-- end of licences -->\n"
EXTRAS = ["langchain", "llama-index", "demo", "eval", "notebook", "explore", "mcp", "logs", "files"]

LONGEST = 40
"""Characters: what is longer is the text of a licence, not its name."""

BY_HAND = {"tiktoken": "MIT"}
"""Package -> licence, where its metadata names none; read in its own files."""


def main() -> int:
    """Write or check the table, and return the exit code."""
    page = PAGE.read_text("utf-8")
    before, rest = page.split(START)
    table, after = rest.split(END)
    made = "\n" + "\n".join(_rows()) + "\n\n"
    if "--write" in sys.argv:
        PAGE.write_text(before + START + made + END + after, "utf-8")
    elif made != table:
        sys.stderr.write(
            f"{PAGE.name}: what the extras install, or its licences, changed; see what is new, and "
            f"run {Path(__file__).name} --write\n"
        )
        return 1
    return 0


def _rows() -> Iterator[str]:
    yield "| package | licence | brought by |"
    yield "|---|---|---|"
    brought: dict[str, list[str]] = {}
    for extra in ["", *EXTRAS]:
        for name in _closure("recall-signal", {extra} if extra else set()):
            brought.setdefault(name, []).append(extra or "always")
    for name in sorted(brought):
        by = ["always"] if "always" in brought[name] else brought[name]
        yield f"| {name} | {_licence(distribution(name))} | {', '.join(by)} |"


def _closure(name: str, extras: set[str]) -> set[str]:
    """Return what a package with these extras needs, itself left out."""
    seen: set[tuple[str, frozenset[str]]] = set()
    waiting = [(name, frozenset(extras))]
    while waiting:
        asked = waiting.pop()
        if asked in seen:
            continue
        seen.add(asked)
        try:
            found = distribution(asked[0])
        except PackageNotFoundError:  # for another platform or Python
            continue
        for line in found.requires or ():
            need = Requirement(line)
            if any(
                need.marker is None or need.marker.evaluate({"extra": extra})
                for extra in (asked[1] or {""})
            ):
                waiting.append((canonicalize_name(need.name), frozenset(need.extras)))
    return {found for found, _ in seen if found != name and _is_there(found)}


def _is_there(name: str) -> bool:
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True


def _licence(found: Distribution) -> str:
    """Return the licence that a package's metadata names, in the newest of its three ways."""
    known = found.metadata
    expression = known.get("License-Expression")
    if expression:
        return expression
    named = [
        line.rpartition(" :: ")[2]
        for line in known.get_all("Classifier") or ()
        if line.startswith("License :: ") and not line.endswith("OSI Approved")
    ]
    if named:
        return ", ".join(sorted(set(named)))
    text = (known.get("License") or "").strip()
    name = canonicalize_name(known["Name"])
    if text and len(text) <= LONGEST and "\n" not in text:
        return re.sub(r"\s+", " ", text)
    if name in BY_HAND:
        return BY_HAND[name]
    raise SystemExit(f"{name} names no licence in its metadata; read its files, and see BY_HAND")


if __name__ == "__main__":
    sys.exit(main())
