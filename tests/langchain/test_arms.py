"""Composites of many kinds and settings: their page, their cosines, and what that costs."""

from random import Random
from typing import Any

import pytest
from langchain_core.documents import Document

from langchain_recall_signal import RecallRetriever
from tests.langchain.arms import ASK, REWRITE, WORDS, World, with_original
from tests.langchain.fakes import entry, plain

SEEDS = range(200)
TIMES = ("last_accessed_at", "created_at")


def world(seed: int) -> World:
    random = Random(seed)
    return World(random, " ".join(random.choices(WORDS, k=4)))


async def ask(retriever: Any, question: str, *, is_async: bool) -> list[Document]:
    page: list[Document] = (
        await retriever.ainvoke(question) if is_async else retriever.invoke(question)
    )
    return page


def timeless(page: list[Document]) -> Any:
    for document in page:
        for name in TIMES:
            document.metadata.pop(name, None)
    return plain(page)


async def both(make: Any, seed: int, *, is_async: bool) -> tuple[World, list[Document], Any, Any]:
    """The setting and the wrapper's page, after comparing it with the bare one; what each cost."""
    here = world(seed)
    bare = make(here)
    expected = await ask(bare, here.question, is_async=is_async)
    paid = here.forget()
    if make is ASK["time weighted"]:  # what it returns becomes younger
        here = world(seed)
        bare = make(here)
    page = await ask(RecallRetriever(retriever=bare), here.question, is_async=is_async)
    counted = len(here.encoder.questions), sum(len(store.searches) for store in here.stores)
    assert timeless(page) == timeless(expected), seed
    return here, page, paid, counted


def check(here: World, page: list[Document], *, own: bool) -> None:
    for document in page:
        exact = here.cosine(document.page_content, own=own)
        assert entry(document)["cosine"] == (
            None if exact is None else pytest.approx(exact, abs=1e-4)
        )


@pytest.mark.parametrize("name", ASK)
async def test_the_question_as_it_is(name: str) -> None:
    scored = 0
    for seed in SEEDS:
        here, page, paid, counted = await both(ASK[name], seed, is_async=bool(seed % 2))
        assert counted == paid, seed
        if name == "time weighted":
            cosines = [entry(document)["cosine"] for document in page]
            assert any(cosine is not None for cosine in cosines)
        else:
            check(here, page, own=True)
        scored += any(entry(document)["cosine"] is not None for document in page)
    assert scored > 100


@pytest.mark.parametrize("name", REWRITE)
async def test_other_texts_only(name: str) -> None:
    for seed in SEEDS:
        is_async = bool(seed % 2) and name != "rephrase"  # which has no asynchronous way
        here, page, paid, counted = await both(REWRITE[name], seed, is_async=is_async)
        if page:
            assert (counted[0] - 1, counted[1]) == paid, seed
            assert entry(page[0])["cosine_source"] == "vectors"
        check(here, page, own=False)


async def test_other_texts_beside_the_question() -> None:
    for seed in SEEDS:
        here, page, paid, counted = await both(with_original, seed, is_async=bool(seed % 2))
        assert counted == paid, seed
        check(here, page, own=True)
