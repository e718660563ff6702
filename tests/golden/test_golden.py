"""Everything that can be seen from outside is as it was, but for what `CHANGED` says."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from math import isclose
from typing import Any, Literal, NamedTuple

import pytest

from recall_signal.calibration._summary import _CLOSING

from .make import SECTIONS, build, golden
from .world import TEXTS


class Renamed(NamedTuple):
    """The key has another name now; `change` makes the new value of the old one."""

    key: str
    change: Callable[[Any], Any] | None = None


Change = Callable[[Any], Any] | Renamed | Literal["removed", "added"]

QUARTILES = {"pseudo": "pseudo_query", "hits": "self_retrieval"}


def renamed_quartiles(old: list[list[Any]]) -> list[list[Any]]:
    """The kinds of reference scores have longer names."""
    return [[QUARTILES.get(kind, kind), values] for kind, values in old]


ADVICE = (
    (". Read these; the exact fact", "; the exact fact"),
    (". Consider an external source;", ";"),
    (". Prefer an external source;", ";"),
    (" Consider an external source.", ""),
    (" Prefer an external source.", ""),
    (" Read it, with care.", ""),
    (" Read these; the exact fact is not verified", "; the exact fact is not verified"),
    (": consider an external source for it", ""),
)


def cited(old: str) -> str:
    """A second line has the ids of the results."""
    results = re.findall(r"^(\[\d+\])\n> (.*)$", old, re.MULTILINE)
    cues = "; ".join(f'{number} "{IDS[text]}"' for number, text in results)
    return old.replace("\n\n", f"\n> {cues}\n\n", 1)


IDS = {text: id_ for id_, text in TEXTS.items()}


def weak(old: str) -> str:
    """`low` has its own words in the first line of a tool."""
    head, body = old.split("]", 1)
    if head != "[recall: low":
        return nothing(cited(old))
    return f"{head}]" + cited(body).replace(
        "came back, but likely nothing relevant. Prefer an external source.",
        "came back, with a weak match only: likely not what was asked for. Prefer an external "
        "source, or read them with doubt.",
        1,
    )


def nothing(old: str) -> str:
    """A line that is also true where a compressor left nothing of what was found."""
    return old.replace(
        "Nothing stored came back: the search was empty.",
        "Nothing came back: the search found nothing, or left nothing of it.",
    )


def none_helps(old: str) -> str:
    """A selector that kept nothing leaves nothing to read, also where the page stays."""
    line, quoted = old.split(" Each result", 1)
    count = line.split("] ")[1].split(" result")[0]
    return cited(
        f"{line.split('] ')[0]}] {count} results came back, and a selector found that likely none "
        f"helps. Prefer an external source. Each result{quoted}"
    )


def learned(old: str) -> str:
    """The spelling of a calibration's rationale, which no longer says what to do."""
    for advice, fact in ADVICE:
        old = old.replace(advice, fact)
    old = old.replace("Nothing was retrieved,", "Nothing came back,")
    old = old.replace("learnt from this retriever", "learned by calibration")
    return old.replace("learnt from", "learned from").replace("nor learnt", "nor learned")


def reworded(old: str) -> str:
    """The words of two warnings."""
    old = old.replace("score like a typical hit:", "score like a typical piece of a stored text:")
    return old.replace("score like hits:", "score like stored texts:")


def in_force(cut: float) -> Callable[[str], str]:
    """A rationale and a print-out name the cut that labels and the prior lead to."""

    def change(old: str) -> str:
        said = re.sub(r"against a cut of \d\.\d\d", f"alone against a cut of {cut:.2f}", old)
        if not said.startswith("Calibration"):
            return learned(said)
        return printed(re.sub(r"  cut \d\.\d{3}", f"  cut {cut:.3f}", said))

    return change


def printed(old: str) -> str:
    """The names of quartiles and of the unit in a print-out."""
    for kind in ("probes", "pseudo", "hits", "past"):
        old = old.replace(f"  {kind:<9} quart", f"  {QUARTILES.get(kind, kind):<14} quart")
    count = 24 if "trigrams" in old else 40
    old = old.replace("unknown number of documents", f"about {count} documents")
    status: Any = old.partition("\n")[0].rpartition(" ")[2]
    return f"{reworded(learned(old)).replace(', step ', ', unit ')}\n{_CLOSING[status]}"


def alone(old: str) -> str:
    """A pool without query and texts is judged by the cosine alone, and says so."""
    return learned(old).replace(" against a cut", " alone against a cut")


def undecided(old: str) -> str:
    """A calibration without a threshold says so in every rationale."""
    return f"{learned(old)} Uncalibrated: the calibration found no threshold for this retriever."


def without_cut(old: str) -> str:
    """A calibration without a threshold has no cut in force."""
    return re.sub(r"  cut \d\.\d{3}", "  no cut in force", printed(old))


LABELLED_CUT, MANY_CUT = 0.50551, 0.51555

CHANGED: dict[str, Change] = {
    "calibrations/*/saved/v": lambda old: 2,
    "calibrations/*/saved/scale/step": Renamed("unit"),
    "calibrations/*/saved/line": Renamed("platt"),
    "calibrations/*/saved/free_form": Renamed("venn_abers"),
    "calibrations/*/saved/anchors": Renamed("quartiles", renamed_quartiles),
    "calibrations/*/saved/warnings/*": reworded,
    "calibrations/*/saved/groups": "removed",
    "calibrations/*/saved/canaries": "added",
    "calibrations/*/saved/evidence": "added",
    "calibrations/*/saved/hub": "removed",
    "calibrations/*/intervals": "removed",
    "calibrations/*/group": "removed",
    "calibrations/labelled/*rationale": in_force(LABELLED_CUT),
    "calibrations/labelled/printed": in_force(LABELLED_CUT),
    "calibrations/labelled, bounded/*rationale": in_force(LABELLED_CUT),
    "calibrations/labelled, bounded/printed": in_force(LABELLED_CUT),
    "calibrations/labelled, many/*rationale": in_force(MANY_CUT),
    "calibrations/labelled, many/printed": in_force(MANY_CUT),
    "calibrations/labelled, groups/*rationale": in_force(MANY_CUT),
    "calibrations/labelled, groups/printed": in_force(MANY_CUT),
    # Every seed asks the same probes now.
    "calibrations/null, other seed and prior": "removed",
    "calibrations/null, other prior": "added",
    "calibrations/no threshold/*rationale": undecided,
    "calibrations/*rationale": alone,
    "calibrations/*/saved/words": "added",
    "calibrations/*/saved/floor": "added",
    "calibrations/*/saved/bounds": "added",
    "calibrations/*/saved/estimated_size": "added",
    "calibrations/*/term_coverage": "added",
    "core/*/term_coverage": "added",
    "core/reasons/empty_query": "added",
    "core/reasons/rewritten_query": "added",
    "reports/*/term_coverage": "added",
    "calibrations/no threshold/printed": without_cut,
    "calibrations/*/printed": printed,
    "reports/*/selector keeps none/*/tool/content": none_helps,
    "reports/*/selector keeps none/*/route/response": lambda old: "web",
    "reports/*/selector keeps none/*/route/d*": lambda old: "web",
    "reports/*/selector keeps none/*/route/messages": lambda old: "web",
    "reports/*/tool/content": weak,
    "reports/langchain/middleware/*/messages/2": weak,
    "reports/*rationale": learned,
    "reports/langchain/channels/*/calibration": "added",
    "reports/llama_index/channels/*/calibration": "added",
    "reports/llama_index/postprocessor/*/dump/calibration": "added",
    "core/*rationale": learned,
    "reports/*/advice": "added",
    "reports/*/calibration": printed,
    # The telemetry handlers write to the caller\'s span instead of one of their own.
    "reports/*/telemetry/*/attributes/gen_ai.*": "removed",
}
"""What was changed on purpose since `golden.json` was written: a pattern of paths, and how.

A path is the keys and list indices from the section down, joined by `/`, and `*` in a pattern
stands for anything, `/` included. The paths are those of the old file, but for `"added"`,
which means keys that are new. The first pattern that matches is the one that counts, what a
function makes is looked at no further, and a pattern that matches nothing fails. A function may
also get `"as first"`, `"as recall"` and the like, which stand for a value given before::

    "reports/*/confidence/rationale": lambda old: old.replace("Top cosine", "Best cosine"),
    "reports/*/confidence/prominence": Renamed("contrast"),
    "reports/*/confidence/relative_margin": "removed",
    "reports/*/confidence/spread": "added",
"""

TOLERANCE = 1e-9
SHOWN = 20

MATCHED: set[str] = set()
"""The patterns that were of use."""

Missing = object()


def change_of(path: str, changed: dict[str, Change]) -> Change | None:
    """What is to happen to the value at this path."""
    for pattern, change in changed.items():
        if fnmatchcase(path, pattern):
            MATCHED.add(pattern)
            return change
    return None


def expected(old: Any, path: str, changed: dict[str, Change]) -> Any:
    """The old value with what was changed on purpose."""
    if isinstance(old, list):
        return [changed_value(item, f"{path}/{at}", changed) for at, item in enumerate(old)]
    if not isinstance(old, dict):
        return old
    new: dict[str, Any] = {}
    for key, value in old.items():
        below = f"{path}/{key}"
        change = change_of(below, changed)
        if isinstance(change, Renamed):
            new[change.key] = (
                expected(value, below, changed) if change.change is None else change.change(value)
            )
        elif change != "removed":
            new[key] = changed_value(value, below, changed)
    return new


def changed_value(value: Any, path: str, changed: dict[str, Change]) -> Any:
    """The new value at a path whose key stays."""
    change = change_of(path, changed)
    return change(value) if callable(change) else expected(value, path, changed)


def differences(old: Any, new: Any, path: str, changed: dict[str, Change]) -> Iterator[str]:
    """Each place where they differ; floats may by `TOLERANCE`."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            below = f"{path}/{key}"
            if key in old or change_of(below, changed) != "added":
                yield from differences(old.get(key, Missing), new.get(key, Missing), below, changed)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for at, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from differences(one, other, f"{path}/{at}", changed)
    elif not same(old, new):
        yield f"{path}: was {said(old)}, is {said(new)}"


def same(old: Any, new: Any) -> bool:
    """Whether two plain values are, with a tolerance for numbers of which one is a float."""
    if type(old) is float and type(new) is float:
        return old == new or (old != old and new != new) or isclose(old, new, abs_tol=TOLERANCE)
    return type(old) is type(new) and bool(old == new)


def said(value: Any) -> str:
    """A value in a message."""
    return "not there" if value is Missing else f"{value!r:.200}"


@pytest.mark.parametrize("section", SECTIONS)
def test_all_is_as_it_was(section: str) -> None:
    old = expected(golden()[section], section, CHANGED)
    found = list(differences(old, build(section), section, CHANGED))
    shown = "\n".join(found[:SHOWN])
    assert not found, f"{len(found)} differences, of which the first are:\n{shown}"
    stale = {p for p in CHANGED if p.split("/")[0] == section} - MATCHED
    assert not stale, f"nothing matches these patterns of CHANGED any more: {sorted(stale)}"


def test_every_pattern_names_a_section() -> None:
    assert {pattern.split("/")[0] for pattern in CHANGED} <= set(SECTIONS)


def test_every_section_is_there() -> None:
    assert list(golden()) == list(SECTIONS)
    assert len(golden()["demo_levels"]) == 72


OLD: dict[str, Any] = {"a": {"text": "one", "gone": 1, "share": 0.5}, "list": [1, {"text": "two"}]}


@pytest.mark.parametrize(
    ("new", "changed", "count"),
    [
        (OLD, {}, 0),
        ({**OLD, "list": [1, {"text": "three"}]}, {}, 1),
        ({**OLD, "list": [1]}, {}, 1),
        ({**OLD, "list": [1.0, {"text": "two"}]}, {}, 1),
        ({**OLD, "list": [True, {"text": "two"}]}, {}, 1),
        ({**OLD, "a": {"text": "one", "gone": 1, "share": 0.5 + 1e-10}}, {}, 0),
        ({**OLD, "a": {"text": "one", "gone": 1, "share": 0.5 + 1e-8}}, {}, 1),
        ({**OLD, "a": {"text": "one", "share": 0.5}}, {}, 1),
        ({**OLD, "a": {"text": "one", "share": 0.5}}, {"s/a/gone": "removed"}, 0),
        (OLD, {"s/a/gone": "removed"}, 1),
        ({**OLD, "more": 1}, {}, 1),
        ({**OLD, "more": 1}, {"s/more": "added"}, 0),
        (
            {"a": {**OLD["a"], "text": "ONE"}, "list": [1, {"text": "TWO"}]},
            {"s/*/text": str.upper},
            0,
        ),
        ({"b": OLD["a"], "list": OLD["list"]}, {"s/a": Renamed("b")}, 0),
        ({"b": 3, "list": OLD["list"]}, {"s/a": Renamed("b", len)}, 0),
        (OLD, {"s/a": Renamed("b")}, 2),
    ],
)
def test_the_comparison_itself(new: Any, changed: dict[str, Change], count: int) -> None:
    old = expected(OLD, "s", changed)
    assert len(list(differences(old, new, "s", changed))) == count
