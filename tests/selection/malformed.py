"""Answers that are not answers: more than 400 of them, each made for the labels of a request.

An entry is a name and a function from the labels (at least two) to what the model says.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

__all__ = ["OBJECTS", "TEXTS", "Make"]

Make = Callable[[Sequence[str]], Any]

_PROSE = (
    *("", " ", "\n", "\x00", "\ufeff", "None", "yes", "no", "True", "1, 2"),
    "none of them",
    "No relevant results found.",
    "all of them",
    "ALL",
    "Keep everything.",
    "1. 2. 3.",
    "Doc: 1, Relevance: 10\nDoc: 2, Relevance: 3",
    "Answer.1",
    "I would keep the first result and the third one.",
    "The question is about a port, so the first result helps.",
    "Sure! Here is the JSON you asked for:",
    "Let me think step by step. First, the question asks about a port.",
    "<think>The first one looks right.</think>",
    "I'm sorry, but I can't assist with that request.",
    "I cannot help with that.",
    "As an AI language model, I am unable to judge search results.",
    "I refuse.",
    "This content was filtered.",
    "[content filtered]",
    "Error: rate limit exceeded, try again in 20 s",
    "Internal Server Error",
    "Behalte das erste und das dritte Ergebnis.",
    "Keines der Ergebnisse hilft bei der Frage.",
    "Je garde le premier résultat.",
    "Lo siento, no puedo ayudar con eso.",
    "Mantengo il primo risultato.",
    "Оставить первый и третий.",
    "Ни один из результатов не подходит.",
    "最初の結果を残します。",
    "该页中没有相关结果。",
    "첫 번째 결과를 유지합니다.",
    "أحتفظ بالنتيجة الأولى.",
    "אני משאיר את התוצאה הראשונה.",
    "पहला परिणाम रखें।",
    "ผลลัพธ์แรก",
    "Κρατώ το πρώτο.",
    "👍",
    "🙅 none",
    "?" * 500,
)

_ROOTS = (
    "null", "true", "false", "0", "1", "-1", "1.5", "1e999", "NaN", "Infinity", "-Infinity",
    '""', '"keep"', "[]", "[[]]", "{}", "[null]", "[0]", "[1, 2]", "9" * 5_000,
)  # fmt: skip

_NOT_A_LIST: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 1.5, 1e300, "", "all", "1", "1,2", {}, {"0": True}, {"keep": []},
)  # fmt: skip

_NOT_A_LABEL: tuple[Any, ...] = (
    0, 1, -1, 2, 3, 6, 99, 10**30, 0.0, 1.0, 1.5, -0.5, 1e300, True, False, None,
    "", " ", "0", "1", "-1", "2", "6", "1.5", "#1", "№ 1", "one", "first", "all", "none", "null",
    "true", "*", "keep", "id0", "Result 1", "[1]", "AAAAA", "label", "\u0000", "\ud800",
    [], {}, ["x"], [[]], {"id": 1}, {"label": "x"},
)  # fmt: skip
"""0, negative numbers and n + 1 among them: positions are not labels."""

_NEAR_LABEL: dict[str, Callable[[str], Any]] = {
    "lower case": lambda label: f"{label}x" if label.isdigit() else label.lower(),
    "title case": lambda label: label[0] + label[1:].lower() + "x",
    "in brackets": lambda label: f"[{label}]",
    "in quotes": lambda label: f'"{label}"',
    "space before": lambda label: f" {label}",
    "space behind": lambda label: f"{label} ",
    "line break behind": lambda label: f"{label}\n",
    "full stop": lambda label: f"{label}.",
    "cut": lambda label: label[:-1],
    "one more": lambda label: f"{label}A",
    "twice": lambda label: label * 2,
    "backwards": lambda label: label[::-1] + "_",
    "spaced out": " ".join,
    "zero width": "\u200b".join,
    "soft hyphen": "\u00ad".join,
    "right to left": lambda label: f"\u202e{label}",
    "full width": lambda label: "".join(chr(ord(c) + 0xFEE0) for c in label),
    "with its text": lambda label: f"{label}: the build server",
    "numbered": lambda label: f"1. {label}",
    "markdown": lambda label: f"**{label}**",
    "a list": lambda label: [label],
    "an object": lambda label: {"label": label},
    "a map to true": lambda label: {label: True},
}

_WRONG_KEYS: dict[str, str] = {
    "capital": '{"Keep": ["A0"]}',
    "upper case": '{"KEEP": ["A0"]}',
    "space": '{"keep ": ["A0"]}',
    "plural": '{"keeps": ["A0"]}',
    "past": '{"kept": ["A0"]}',
    "labels": '{"labels": ["A0"]}',
    "results": '{"results": ["A0"]}',
    "drop": '{"drop": ["A0"]}',
    "other language": '{"behalten": ["A0"]}',
    "homoglyph": '{"k\u0435ep": ["A0"]}',
    "zero width": '{"keep\u200b": ["A0"]}',
    "empty": '{"": ["A0"]}',
    "one more": '{"keep": ["A0"], "reason": "it has the port"}',
    "one more, empty": '{"keep": ["A0"], "drop": []}',
    "one before": '{"thought": "...", "keep": ["A0"]}',
    "repeated": '{"keep": ["A0"], "keep": ["A0"]}',
    "repeated, other": '{"keep": ["A0"], "keep": ["A1"]}',
    "repeated, empty": '{"keep": ["A0", "A1"], "keep": []}',
    "repeated, escaped": '{"keep": ["A0"], "ke\\u0065p": ["A1"]}',
    "nested": '{"answer": {"keep": ["A0"]}}',
    "nested in itself": '{"keep": {"keep": ["A0"]}}',
    "in a list": '[{"keep": ["A0"]}]',
    "a bare list": '["A0"]',
    "a bare label": '"A0"',
    "tool call": '{"name": "kept_results", "arguments": {"keep": ["A0"]}}',
    "tool call, text": '{"name": "kept_results", "arguments": "{\\"keep\\": [\\"A0\\"]}"}',
    "function": '{"function": {"keep": ["A0"]}}',
    "schema": '{"type": "object", "properties": {"keep": ["A0"]}}',
    "map": '{"A0": true, "A1": false}',
    "scores": '{"A0": 0.9, "A1": 0.1}',
    "deep": '{"keep": [["A0"], ["A1"]]}',
    "deeper": '{"keep": [[["A0"]]]}',
}

_SYNTAX: dict[str, str] = {
    "fence": '```\n{"keep": ["A0"]}\n```',
    "fence json": '```json\n{"keep": ["A0"]}\n```',
    "fence JSON": '```JSON\n{"keep": ["A0"]}```',
    "fence open": '```json\n{"keep": ["A0"]}',
    "fence behind": '{"keep": ["A0"]}\n```',
    "tildes": '~~~\n{"keep": ["A0"]}\n~~~',
    "inline code": '`{"keep": ["A0"]}`',
    "fence of ours": '===== ABCDE =====\n{"keep": ["A0"]}\n===== ABCDE =====',
    "prose before": 'Here you are: {"keep": ["A0"]}',
    "prose behind": '{"keep": ["A0"]} I hope this helps!',
    "prose on the next line": '{"keep": ["A0"]}\n\nThe first result has the port.',
    "thought before": '<think>A0 has it.</think>{"keep": ["A0"]}',
    "comma behind": '{"keep": ["A0"]},',
    "full stop behind": '{"keep": ["A0"]}.',
    "two objects": '{"keep": ["A0"]}\n{"keep": ["A1"]}',
    "two the same": '{"keep": ["A0"]}{"keep": ["A0"]}',
    "nothing behind": '{"keep": ["A0"]} null',
    "trailing comma": '{"keep": ["A0",]}',
    "trailing comma outside": '{"keep": ["A0"],}',
    "missing comma": '{"keep": ["A0" "A1"]}',
    "missing colon": '{"keep" ["A0"]}',
    "semicolon": '{"keep": ["A0"; "A1"]}',
    "equals": '{"keep" = ["A0"]}',
    "single quotes": "{'keep': ['A0']}",
    "typographic quotes": "{“keep”: [“A0”]}",
    "no quotes": "{keep: [A0]}",
    "no quotes inside": '{"keep": [A0]}',
    "no quotes outside": '{keep: ["A0"]}',
    "a tuple": '{"keep": ("A0",)}',
    "a set": '{"keep": {"A0"}}',
    "comment": '{"keep": ["A0"]} // the port',
    "comment inside": '{"keep": ["A0" /* the port */]}',
    "hash comment": '{"keep": ["A0"]} # the port',
    "mark of order": '\ufeff{"keep": ["A0"]}',
    "nul behind": '{"keep": ["A0"]}\x00',
    "no-break space": '\u00a0{"keep": ["A0"]}',
    "form feed": '\x0c{"keep": ["A0"]}',
    "as a text": '"{\\"keep\\": [\\"A0\\"]}"',
    "escaped": '{\\"keep\\": [\\"A0\\"]}',
    "percent": "%7B%22keep%22%3A%5B%22A0%22%5D%7D",
    "entities": "{&quot;keep&quot;: [&quot;A0&quot;]}",
    "yaml": "keep:\n  - A0\n  - A1",
    "yaml inline": "keep: [A0, A1]",
    "toml": 'keep = ["A0"]',
    "xml": "<keep><label>A0</label></keep>",
    "tool xml": '<tool_call>{"keep": ["A0"]}</tool_call>',
    "csv": "keep\nA0\nA1",
    "markdown": "- **A0**\n- A1",
    "brackets": "[A0] [A1]",
    "bare": "A0",
    "bare, both": "A0, A1",
    "a sentence": "I keep A0 because it has the port.",
    "python": 'dict(keep=["A0"])',
    "javascript": 'return {"keep": ["A0"]};',
    "assignment": 'answer = {"keep": ["A0"]}',
    "double braces": '{{"keep": ["A0"]}}',
    "control in a text": '{"keep": ["A0\n"]}',
    "wrong escape": '{"keep": ["\\A0"]}',
    "hex escape": '{"keep": ["\\x41"]}',
    "whole width": '\uff5b"keep": ["A0"]\uff5d',
}

_HUGE: dict[str, Make] = {
    "spaces": lambda labels: " " * 200_000 + json.dumps({"keep": [labels[0]]}),
    "labels": lambda labels: json.dumps({"keep": [labels[0]] * 50_000}),
    "strangers": lambda labels: json.dumps({"keep": [f"L{n}" for n in range(8_000)]}),
    "one label": lambda labels: json.dumps({"keep": [labels[0] * 15_000]}),
    "lists": lambda labels: "[" * 90_000,
    "closed lists": lambda labels: "[" * 45_000 + "]" * 45_000,
    "objects": lambda labels: '{"keep":' * 10_000,
    "prose": lambda labels: "I keep the first one. " * 50_000,
    "a number": lambda labels: '{"keep": [' + "1" * 90_000 + "]}",
    "keys": lambda labels: json.dumps({f"k{n}": n for n in range(5_000)}),
}


class _Odd:
    """Nothing that an answer can be."""


def _said(text: str) -> Make:
    return lambda labels: text


def _filled(text: str) -> Make:
    return lambda labels: text.replace("A0", labels[0]).replace("A1", labels[1])


def _keep(*values: Any) -> Make:
    return lambda labels: json.dumps({"keep": list(values)})


def _first_and(value: Any) -> Make:
    return lambda labels: json.dumps({"keep": [labels[0], value]})


def _changed(change: Callable[[str], Any]) -> Make:
    return lambda labels: json.dumps({"keep": [change(labels[0])]})


def _second_and_changed(change: Callable[[str], Any]) -> Make:
    return lambda labels: json.dumps({"keep": [labels[1], change(labels[0])]})


def _halves() -> Iterator[tuple[str, Make]]:
    """A good answer cut off at every place."""

    def cut(end: int) -> Make:
        return lambda labels: json.dumps({"keep": list(labels[:2])})[:end]

    for end in range(1, len(json.dumps({"keep": ["A" * 5] * 2}))):
        yield f"cut off at {end}", cut(end)


_NOT_NEW = ("a bare list", "nested in itself", "deeper", "repeated, empty")
"""Nothing in these is an answer that stands among the others already."""


def _empty() -> Iterator[tuple[str, Make]]:
    """Answers that keep nothing without saying "none of these"."""
    for name, text in {**_WRONG_KEYS, **_SYNTAX}.items():
        nothing = text.replace('["A0"]', "[]").replace('["A0", "A1"]', "[]")
        if nothing != text and "A0" not in nothing and name not in _NOT_NEW:
            yield f"nothing {name}", _said(nothing)
    for empty in ('{"keep": []}', ' {"keep" : [ ] } ', '{"keep": [ ]}\n', '{"keep":[]}'):
        yield f"empty {empty!r}", _said(empty)


def _texts() -> Iterator[tuple[str, Make]]:
    for text in _PROSE:
        yield f"prose {text[:20]!r}", _said(text)
    for text in _ROOTS:
        yield f"root {text[:12]}", _said(text)
    for value in _NOT_A_LIST:
        yield f"keep is {value!r}", _said(json.dumps({"keep": value}))
    for value in _NOT_A_LABEL:
        yield f"keep has {value!r}", _keep(value)
        yield f"keep has a label and {value!r}", _first_and(value)
    for name, change in _NEAR_LABEL.items():
        yield f"label {name}", _changed(change)
        yield f"label and label {name}", _second_and_changed(change)
    for name, text in {**_WRONG_KEYS, **_SYNTAX}.items():
        yield f"text {name}: {text[:16]!r}", _filled(text)
    yield from _empty()
    yield "same label twice", _filled('{"keep": ["A0", "A0"]}')
    yield "same label twice, apart", _filled('{"keep": ["A0", "A1", "A0"]}')
    yield "all labels and one again", lambda labels: json.dumps({"keep": [*labels, labels[0]]})
    yield "all labels and a stranger", lambda labels: json.dumps({"keep": [*labels, "ZZZZZ"]})
    for name, make in _HUGE.items():
        yield f"huge {name}", make
    yield from _halves()


def _objects() -> Iterator[tuple[str, Make]]:
    yield "nothing", lambda labels: None
    yield "true", lambda labels: True
    yield "a number", lambda labels: 1
    yield "a float", lambda labels: float("nan")
    yield "a list", lambda labels: [labels[0]]
    yield "bytes", lambda labels: json.dumps({"keep": [labels[0]]}).encode()
    yield "a bytearray", lambda labels: bytearray(json.dumps({"keep": [labels[0]]}).encode())
    yield "an object", lambda labels: _Odd()
    yield "a class", lambda labels: dict
    yield "pairs", lambda labels: [("keep", [labels[0]])]
    yield "a set of keys", lambda labels: {"keep"}
    yield "a map with a set", lambda labels: {"keep": {labels[0]}}
    yield "a map with a generator", lambda labels: {"keep": (label for label in labels)}
    yield "a map with a text", lambda labels: {"keep": labels[0]}
    yield "a map with bytes", lambda labels: {"keep": [labels[0].encode()]}
    yield "a map with an object", lambda labels: {"keep": [_Odd()]}
    yield "a map with a map", lambda labels: {"keep": dict.fromkeys(labels, True)}
    yield "an odd key", lambda labels: {b"keep": [labels[0]]}
    yield "a number as key", lambda labels: {0: [labels[0]]}
    yield "one key more", lambda labels: {"keep": [labels[0]], None: 1}
    yield "a label twice", lambda labels: {"keep": [labels[0], labels[0]]}
    yield "a tuple with a label twice", lambda labels: {"keep": (labels[0], labels[0])}
    yield "an empty list", lambda labels: {"keep": []}
    yield "an empty tuple", lambda labels: {"keep": ()}
    yield "a stranger", lambda labels: {"keep": ["ZZZZZ"]}
    yield "positions", lambda labels: {"keep": [0, 1]}
    yield "booleans", lambda labels: {"keep": [True for _ in labels]}


TEXTS: dict[str, Make] = dict(_texts())
OBJECTS: dict[str, Make] = dict(_objects())
