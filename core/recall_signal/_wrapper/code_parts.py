"""What code leads to: the objects that a function, a method or the methods of a class name.

Nothing is run. Of installed packages' functions only what they were handed counts (a decorator's
function, a default argument): what else they name is their own.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache, partial
from inspect import unwrap
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType

__all__ = ["parts_of_code"]

_STANDARD = str(Path(os.__file__).parent)
_INSTALLED = ("site-packages", "dist-packages", "<frozen ")
"""Parts of the paths of code that is not the user's, beside the standard library's."""


def parts_of_code(item: object) -> list[object]:
    """Return what the code of an object names or was handed, modules aside."""
    if isinstance(item, MethodType):
        return [item.__self__, item.__func__]
    if isinstance(item, partial):
        return [item.func, *item.args, *item.keywords.values()]
    if isinstance(item, FunctionType):
        return [*_handed(item), *_named(item)]
    return [*_of_class(item if isinstance(item, type) else type(item))]


def _handed(function: FunctionType) -> Iterator[object]:
    for cell in function.__closure__ or ():
        with suppress(ValueError):  # an empty one
            yield cell.cell_contents
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()


def _named(function: FunctionType) -> Iterator[object]:
    """Yield the values that a user's function names, in its own module or in one that it names."""
    if not _is_own(function):
        return
    names = set(_names(function.__code__))
    imported = [sys.modules[name] for name in names & sys.modules.keys()]
    scopes: list[Mapping[str, object]] = [function.__globals__, *map(vars, imported)]
    seen = {id(scope) for scope in scopes}
    for scope in scopes:
        for value in [scope[name] for name in names & scope.keys()]:
            if type(value) is not ModuleType:
                yield value
            elif id(vars(value)) not in seen:
                seen.add(id(vars(value)))
                scopes.append(vars(value))


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)


@cache
def _of_class(item_class: type) -> tuple[object, ...]:
    """Return the functions and the attributes of a user's class, and of its bases that are."""
    parts: list[object] = []
    for line in item_class.__mro__:
        functions = [*filter(None, map(_function_of, vars(line).values()))]
        if any(map(_is_own, functions)):
            others = [part for name, part in vars(line).items() if not name.startswith("__")]
            parts += [*functions, *others]
    return tuple(parts)


def _function_of(member: object) -> FunctionType | None:
    """Return the function under the decorators of a class's member, None where it is none."""
    with suppress(Exception):  # what has every attribute wraps itself, and a proxy may have none
        for name in ("fget", "func"):  # of a property, and of one that is cached
            member = getattr(member, name, member)
        member = unwrap(member)  # type: ignore[arg-type]
    return member if type(member) is FunctionType else None


def _is_own(function: FunctionType) -> bool:
    """Return True for a function of the user's: neither its code nor its module is installed."""
    files = (function.__code__.co_filename, str(function.__globals__.get("__file__")))
    return not any(
        file.startswith(_STANDARD) or any(part in file for part in _INSTALLED) for file in files
    )
