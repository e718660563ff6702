"""`recall-signal explore`: questions, marks and fits; the command; the page in this process."""

import asyncio
import json
import socket
import sys
from pathlib import Path
from typing import Any

import pytest
from nicegui import ui
from nicegui.testing import User
from nicegui.testing.user_interaction import UserInteraction
from nicegui.testing.user_simulation import user_simulation

from recall_signal import Calibration, CalibrationError, MissingDependencyError
from recall_signal.cli._backends import Passage, SearchBackend, SearchResult, load_framework
from recall_signal.cli._explore import _command, _serve
from recall_signal.cli._explore._command import pool_sizes
from recall_signal.cli._explore._exploration import Exploration, View
from recall_signal.cli._explore._page import Labels, build
from recall_signal.evaluation import load_queries
from tests.cli.fakes import TOPICS, QuietWordEncoder, invoke
from tests.cli.ports import free_port

pytestmark = [pytest.mark.usefixtures("embedded"), pytest.mark.xdist_group("explore")]

KILN = "the 7 kiln fires stoneware glaze on monday morning near door 7"
ABSENT = "quarterly tax return of a foreign subsidiary"
MUSEUM = "opening hours of the museum abroad"
AWAY = {ABSENT, MUSEUM}
HOSTILE = "<img src=x onerror=alert(1)> kiln"


def passages() -> list[Passage]:
    stored = [
        Passage(f"{topic}{n}", text.format(n=n * 7), f"{topic}.md")
        for topic, text in TOPICS.items()
        for n in range(20)
    ]
    return [*stored, Passage("hostile", HOSTILE, HOSTILE)]


def reverse(query: str, texts: list[str]) -> list[float]:
    """Score the last one highest."""
    return [float(place) for place in range(len(texts))]


@pytest.fixture(params=["langchain", "llama-index"], scope="module")
def backend(request: pytest.FixtureRequest) -> SearchBackend:
    return load_framework(request.param)(passages(), QuietWordEncoder(), 3, 50, reranker=reverse)


@pytest.fixture(scope="module")
def fitted() -> tuple[SearchBackend, Calibration]:
    backend = load_framework("langchain")(passages(), QuietWordEncoder(), 3, 50, reranker=reverse)
    return backend, backend.calibrate()


def fit(backend: SearchBackend, labelled: list[tuple[str, bool]]) -> Calibration:
    return backend.calibrate(labelled=labelled)


@pytest.fixture
def exploration(fitted: tuple[SearchBackend, Calibration]) -> Exploration:
    return Exploration(*fitted, fit)


def mark_five_of_each(exploration: Exploration) -> None:
    for number in range(2, 7):
        exploration.mark(KILN.replace("7", str(7 * number)), True)
        exploration.mark(f"{ABSENT} number {number}", False)


def probability_of(result: SearchResult) -> float:
    probability = result.confidence.probability
    assert probability is not None
    return probability


# ---- questions and marks


def test_a_question_is_judged_under_its_settings(backend: SearchBackend) -> None:
    exploration = Exploration(backend, backend.calibrate(), fit)
    assert exploration.sources == ["texts", "default"]
    own = exploration.ask(KILN, View())
    assert own.confidence.basis == "calibration"
    assert own.confidence.result_count == 50
    assert exploration.ask(KILN, View(levels="default")).confidence.basis == "prominence"
    assert exploration.ask(KILN, View(pool_size=10)).confidence.result_count == 10
    likely, unlikely = (exploration.ask(ABSENT, View(prior=prior)) for prior in (0.95, 0.05))
    assert probability_of(likely) > probability_of(unlikely)
    turned = exploration.ask(KILN, View(use_rerank=True))
    assert [hit.id for hit in turned.hits] == [hit.id for hit in reversed(own.hits)]


@pytest.mark.parametrize("prior", [0.0, 1.0])
def test_a_prior_at_an_end_is_kept_off_it(exploration: Exploration, prior: float) -> None:
    assert 0.0 < probability_of(exploration.ask(KILN, View(prior=prior))) < 1.0


def test_without_a_calibration_the_default_thresholds_are_left(backend: SearchBackend) -> None:
    exploration = Exploration(backend, None, fit)
    assert exploration.sources == ["default"]
    assert exploration.ask(KILN, View()).confidence.basis == "prominence"


def test_marks_are_what_evaluate_reads(
    fitted: tuple[SearchBackend, Calibration], tmp_path: Path
) -> None:
    exploration = Exploration(*fitted, fit)
    exploration.mark(KILN, True)
    exploration.mark(ABSENT, True)
    exploration.mark(ABSENT, False)
    exploration.mark("gone", False)
    exploration.unmark("gone")
    exploration.unmark("never there")
    assert exploration.marks == {KILN: True, ABSENT: False}
    path = tmp_path / "labels.jsonl"
    path.write_text(exploration.labels())
    assert [(query.text, query.present) for query in load_queries(path)] == [
        (KILN, True),
        (ABSENT, False),
    ]


def test_a_fit_says_which_marks_it_needs(exploration: Exploration) -> None:
    more = "more whose answer is"
    assert exploration.missing_marks() == f"mark 5 {more} stored and 5 {more} not stored"
    exploration.mark(KILN, True)
    with pytest.raises(CalibrationError, match="marked: mark 4 more whose answer is stored and"):
        exploration.fit_marks()
    mark_five_of_each(exploration)
    assert exploration.missing_marks() is None
    fitted = exploration.fit_marks()
    assert fitted.mode == "labelled"
    assert exploration.calibration("marks") is fitted
    assert exploration.sources == ["texts", "marks", "default"]
    assert exploration.ask(KILN, View(levels="marks")).confidence.basis == "labels"


# ---- the command


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, int, bool]]:
    calls: list[tuple[object, int, bool]] = []
    monkeypatch.setattr(
        _command, "serve", lambda page, port, show: calls.append((page, port, show))
    )
    return calls


@pytest.fixture
def port() -> int:
    return free_port()


def test_the_command_serves_a_page(docs: Path, served: list, port: int) -> None:
    reranker = f"{__name__}:reverse"
    given = ("--docs", docs, "--port", port, "--no-open", "--reranker", reranker)
    result = invoke("explore", *given)
    assert result.exit_code == 0, result.output
    assert f"Open http://127.0.0.1:{port}/" in result.stderr
    ((page, served_port, show),) = served
    assert (served_port, show) == (port, False)
    exploration, labels = page.args
    assert labels.can_rerank
    assert labels.pool_sizes == [5, 50] or 50 in labels.pool_sizes
    assert exploration.ask("nine", View()).hits


def test_a_class_of_a_reranker_is_made(docs: Path, served: list, port: int) -> None:
    given = ("--docs", docs, "--port", port, "--reranker", f"{__name__}:Scores")
    assert invoke("explore", *given).exit_code == 0
    exploration, _ = served[0][0].args
    assert exploration.ask("nine", View(use_rerank=True)).confidence.rerank_score is not None


class Scores:
    def predict(self, pairs: list[tuple[str, str]]) -> list[float]:
        return [float(len(text)) for _, text in pairs]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("-k", 0), "-k must be at least 1, got 0"),
        (("--port", 0), "--port must be between 1 and 65535, got 0"),
        (("--reranker", "nothing"), "--reranker must be module:name"),
        (("--reranker", "no_such_module:x"), "cannot be loaded (ModuleNotFoundError"),
    ],
)
def test_wrong_settings(docs: Path, served: list, port: int, given: tuple, said: str) -> None:
    every = ("--docs", docs, "--port", port, *given)
    result = invoke("explore", *every)
    assert result.exit_code == 2
    assert said in result.stderr
    assert not served


def test_a_port_that_is_taken(docs: Path, served: list) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        number = taken.getsockname()[1]
        result = invoke("explore", "--docs", docs, "--port", number)
    assert result.exit_code == 2
    assert f"port {number} cannot be used" in result.stderr


def test_without_its_extra(docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_command, "find_spec", lambda name: None)
    result = invoke("explore", "--docs", docs)
    assert result.exit_code == 2
    assert "recall-signal[explore]" in result.stderr


def test_without_a_calibration(docs: Path, served: list, port: int) -> None:
    given = ("--docs", docs, "--port", port, "--no-calibration")
    assert invoke("explore", *given).exit_code == 0
    exploration, labels = served[0][0].args
    assert labels.about.startswith("Levels are uncalibrated")
    assert exploration.sources == ["default"]


def test_a_fit_of_the_command(docs: Path, served: list, port: int) -> None:
    invoke("explore", "--docs", docs, "--port", port)
    exploration, _ = served[0][0].args
    mark_five_of_each(exploration)
    assert exploration.fit_marks().mode == "labelled"


def test_pool_sizes() -> None:
    assert pool_sizes(62, 5, 50) == [10, 20, 50]
    assert pool_sizes(1000, 20, 50) == [20, 50, 100, 200]
    assert pool_sizes(10, 60, 60) == [60, 100]


def test_a_server_without_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nicegui", None)
    with pytest.raises(MissingDependencyError, match=r"recall-signal\[explore\]"):
        _serve.serve(lambda: None, 4321, show=False)


def test_the_server_is_for_this_machine_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    from nicegui import app, core

    given: dict[str, object] = {}
    added: list[dict[str, object]] = []
    monkeypatch.setattr(ui, "run", lambda page, **settings: given.update(settings))
    monkeypatch.setattr(app, "add_middleware", lambda kind, **settings: added.append(settings))
    monkeypatch.setattr(core.sio.eio, "cors_allowed_origins", "*")
    _serve.serve(lambda: None, 4321, show=False)
    assert given["host"] == "127.0.0.1"
    assert given["reload"] is False
    assert added == [{"allowed_hosts": ["127.0.0.1", "localhost"]}]
    assert core.sio.eio.cors_allowed_origins == ["http://127.0.0.1:4321", "http://localhost:4321"]


# ---- the page


def labels(can_rerank: bool = True) -> Labels:
    return Labels("61 texts", "Calibrated on these texts.", [10, 50], 50, can_rerank)


def shown(user: User) -> str:
    """Everything that labels and cards show."""
    found = [*user.find(ui.label).elements, *user.find(ui.html).elements]
    return "\n".join(getattr(e, "text", "") or getattr(e, "content", "") for e in found)


async def seen(user: User, text: str) -> None:
    """Wait until a text is shown."""
    for _ in range(100):
        if text in shown(user):
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"{text!r} is not among: {shown(user)}")


def press(user: User, text: str) -> None:
    """Press the first button with this text."""
    buttons = sorted(user.find(ui.button).elements, key=lambda button: button.id)
    found = next(button for button in buttons if button.text == text)
    UserInteraction(user, {found}, None).click()


async def ask(user: User, question: str, place: str = "Question") -> None:
    user.find(place).clear().type(question).trigger("keydown.enter")
    await seen(user, ": fallback" if question in AWAY else ": read")


async def test_ask_mark_and_fit(exploration: Exploration) -> None:
    async with user_simulation(root=lambda: build(exploration, labels())) as user:
        await user.open("/")
        press(user, "Ask")
        await seen(user, "Type a question first.")
        await ask(user, KILN)
        await seen(user, "high: read")
        await seen(user, "stoneware glaze")
        press(user, "Yes")
        await seen(user, "Marked as stored.")
        await seen(
            user, "Mark 4 more whose answer is stored and 5 more whose answer is not stored."
        )
        mark_five_of_each(exploration)
        await ask(user, MUSEUM)
        press(user, "No")
        await seen(user, "not stored:")
        press(user, "Fit on these marks")
        await seen(user, "Calibration (labelled)")
        await seen(user, "data:image/png;base64,")
        assert exploration.sources == ["texts", "marks", "default"]
        press(user, "Download as JSONL")
        written = await user.download.next()
        assert len(written.text.splitlines()) == 12
        assert json.loads(written.text.splitlines()[0]) == {"query": KILN, "label": "present"}
        removers = [b for b in user.find(ui.button).elements if b.props.get("icon") == "close"]
        assert len(removers) == 12


async def test_the_later_of_two_questions_is_shown(exploration: Exploration) -> None:
    async with user_simulation(root=lambda: build(exploration, labels())) as user:
        await user.open("/")
        field = user.find("Question")
        field.type(KILN).trigger("keydown.enter")
        field.clear().type(ABSENT).trigger("keydown.enter")
        await seen(user, "none: fallback")
        await asyncio.sleep(0.1)
        assert "high: read" not in shown(user)


async def test_settings_answer_the_question_again(exploration: Exploration) -> None:
    async with user_simulation(root=lambda: build(exploration, labels())) as user:
        await user.open("/")
        await ask(user, KILN)
        await seen(user, "high: read")
        user.find("Reranker").click()
        await seen(user, "kiln")
        user.find(ui.slider).trigger("change", 0.05)
        await seen(user, "is stored: 5%")
        user.find("Compare two questions").click()
        await ask(user, ABSENT, "Second question")
        await seen(user, "none: fallback")


async def test_a_mark_is_removed(exploration: Exploration) -> None:
    exploration.mark(KILN, True)
    async with user_simulation(root=lambda: build(exploration, labels(False))) as user:
        await user.open("/")
        (remover,) = [b for b in user.find(ui.button).elements if b.props.get("icon") == "close"]
        UserInteraction(user, {remover}, None).click()
        await asyncio.sleep(0.05)
        assert exploration.marks == {}
        await user.should_not_see("Reranker")


async def test_hostile_text_stays_text(exploration: Exploration) -> None:
    async with user_simulation(root=lambda: build(exploration, labels())) as user:
        await user.open("/")
        user.find("Question").type(HOSTILE).trigger("keydown.enter")
        await seen(user, "&lt;img")
        cards = [e.content for e in user.find(ui.html).elements]
        assert not any("<img src=x" in card for card in cards)


class Broken:
    """A backend whose searches fail."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def with_pool_size(self, pool_size: int) -> "Broken":
        return self

    def with_calibration(self, calibration: object) -> "Broken":
        return self

    def recall(self, question: str, *, use_rerank: bool) -> None:
        raise self.error


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("secret"), "The search failed: ValueError"),
        (CalibrationError("another encoder"), "The search failed: another encoder"),
    ],
)
async def test_a_search_that_fails(error: Exception, said: str) -> None:
    broken: Any = Broken(error)
    exploration = Exploration(broken, None, fit)
    async with user_simulation(root=lambda: build(exploration, labels())) as user:
        await user.open("/")
        user.find("Question").type("anything").trigger("keydown.enter")
        await seen(user, said)
        assert "secret" not in shown(user)


async def test_a_fit_that_fails(exploration: Exploration) -> None:
    def refuse(*given: object) -> Calibration:
        raise CalibrationError("the store was emptied")

    broken = Exploration(exploration._backend, None, refuse)
    mark_five_of_each(broken)
    async with user_simulation(root=lambda: build(broken, labels())) as user:
        await user.open("/")
        press(user, "Fit on these marks")
        await seen(user, "the store was emptied")
