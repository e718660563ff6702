"""A reader in another language, with the published schemas alone, takes the same way as we do."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from recall_signal.reranking import RerankerOptions
from recall_signal.selection import SelectionOptions
from tests.frameworks import QUERY, STRONG, WEAK, Framework, Keeping
from tests.mcp.clients import serving

pytestmark = pytest.mark.xdist_group("tests/schema_reader")

READER = Path(__file__).with_name("reader.mjs")
VALIDATOR = "ajv@8.20.0"
ROUTES = {"read": "answer", "fallback": "web", "undecided": "judge"}

Read = Callable[[list[dict[str, Any]]], list[dict[str, Any]]]


@pytest.fixture(scope="session")
def read(tmp_path_factory: pytest.TempPathFactory) -> Read:
    """The reader; its validator is installed by name into a folder that is thrown away."""
    folder = tmp_path_factory.mktemp("reader")
    scripts = Path(sys.executable).parent  # where the group `reader` puts node and npm
    path = os.pathsep.join([str(scripts), os.environ["PATH"]])
    node, npm = (str(which(name, path=path)) for name in ("node", "npm"))
    run_there: dict[str, Any] = {
        "env": {**os.environ, "PATH": path},
        "cwd": folder,
        "capture_output": True,
    }
    install = [npm, "install", "--no-save", "--no-package-lock", "--no-audit", "--no-fund"]
    subprocess.run([*install, VALIDATOR], check=True, timeout=120, **run_there)
    schemas = str(files("recall_signal") / "schema")

    def run(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
        ran = subprocess.run(
            [node, READER, schemas, folder / "node_modules"],
            input="\n".join(json.dumps(line, allow_nan=False) for line in lines),
            text=True,
            check=False,
            **run_there,
        )
        assert ran.stderr == ""
        return [json.loads(line) for line in ran.stdout.splitlines()]

    return run


def lengths(query: str, texts: list[str]) -> list[float]:
    return [float(len(text)) for text in texts]


def fail() -> list[str]:
    raise OSError


PAGES: dict[str, Callable[[Framework], Any]] = {
    "strong": lambda framework: framework.over(STRONG),
    "weak": lambda framework: framework.over(WEAK),
    "selected": lambda framework: framework.over(STRONG, selector=Keeping(0, 2)),
    "selected none": lambda framework: framework.over(STRONG, selector=Keeping()),
    "emptied": lambda framework: framework.over(
        STRONG, selector=Keeping(), selector_options=SelectionOptions(on_empty="drop")
    ),
    "reranked": lambda framework: framework.over(
        STRONG, reranker=RerankerOptions(lengths, scale="logit"), use_rerank=True
    ),
    "not calibrated yet": lambda framework: framework.over(STRONG, calibration="auto"),
    "unmeasured": lambda framework: framework.around(lambda: ["a", "b"]),
    "empty": lambda framework: framework.around(list),
    "failed": lambda framework: framework.around(fail),
}


async def test_it_takes_every_page_the_way_that_the_advice_says(
    framework: Framework, read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECALL_SIGNAL_AUTO", "off")
    lines: list[dict[str, Any]] = []
    expected: list[dict[str, Any]] = []
    for make in PAGES.values():
        retriever = make(framework)
        tool = framework.package.create_recall_tool(retriever, "memory", "x")
        _, artifact = await framework.call_tool(tool, "async")
        async with serving(retriever) as session:
            answer = (await session.call(query=QUERY)).page
        report = answer["recall"]
        lines += [{"format": "artifact", "value": artifact}, {"format": "mcp", "value": answer}]
        went = {"route": ROUTES[report["advice"]], "level": report["confidence"]["level"]}
        expected += [{**went, "results": 1}] * 2
        if entries := [document["metadata"]["recall"] for document in artifact["documents"]]:
            lines.append({"format": "entry", "value": entries})
            expected.append({**went, "results": len(entries)})
    assert read(lines) == expected
    assert {went["route"] for went in expected} == {"answer", "web", "judge"}


def test_it_refuses_what_is_no_entry(framework: Framework, read: Read) -> None:
    page = [item.entry for item in framework.page(framework.over(STRONG).recall(QUERY))]
    good = page[0]
    bad: list[dict[str, Any]] = [{"advice": "go"}, {"v": 2}, {"rank": -1}, {"selection": {}}]
    lines = [{"format": "entry", "value": [good, {**good, **change}]} for change in bad]
    found = read([{"format": "entry", "value": [{**good, "of a later release": 1}]}, *lines])
    assert found[0]["route"] == "answer"
    places = [refused["refused"][0].split()[0] for refused in found[1:]]
    assert places == ["/advice", "/v", "/rank", "/selection"]
