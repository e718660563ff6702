"""Workflows and agents that one process saves and another one goes on with.

Run as a script it is the other process: it reads saved contexts from its input, goes on with
each, and writes what came of it as JSON.
"""

import asyncio
import json
import sys
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.workflow import Context

from llama_index_recall_signal import CorrectiveAnswer, CorrectiveWorkflow, RecallRetriever
from recall_signal.testing import vectors_with_cosines
from tests.llama_index.agent_fakes import WEAK, WEB, agent, notes, web
from tests.llama_index.fakes import Embedding, index_of

UNIT, AGAINST = [1.0, *[0.0] * 15], [-1.0, *[0.0] * 15]
REWRITTEN = {"same": "same", "helped": "stored", "lost": "worse"}


class Held:
    """A step that waits for ever each time that it is named, and says when all do."""

    def __init__(self, step: str | None = None, times: int = 1) -> None:
        self.step, self.reached, self.ran = step, asyncio.Event(), list[str]()
        self.times = times

    async def at(self, step: str) -> None:
        self.ran.append(step)
        if step == self.step:
            if self.ran.count(step) == self.times:
                self.reached.set()
            await asyncio.sleep(600)


class Store(BaseRetriever):
    """`stored` is strongly matched, everything else not at all."""

    def __init__(self, held: Held) -> None:
        vectors = vectors_with_cosines(UNIT, [0.9, 0.5, 0.45, 0.4])
        nodes = [
            TextNode(id_=f"n{n}", text=f"text {n}", embedding=vector.tolist())
            for n, vector in enumerate(vectors)
        ]
        questions = dict.fromkeys(("same", "helped", "lost", "worse"), AGAINST)
        embedding = Embedding({"stored": UNIT, **questions})
        self.inner, self.held = index_of(nodes, embedding=embedding).as_retriever(), held
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        raise NotImplementedError

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        await self.held.at("retrieve")
        return await self.inner.aretrieve(query_bundle)


def workflow(held: Held) -> CorrectiveWorkflow:
    async def told(given: dict[str, Any]) -> str:
        await held.at("answer")
        texts = "; ".join(item.node.get_content() for item in given["nodes"])
        return f"{given['source']}: {texts}"

    async def searched(query: str) -> list[str]:
        await held.at("web_search")
        return [f"web on {query}"]

    async def rewrite(given: dict[str, Any]) -> str:
        await held.at("rewrite")
        return REWRITTEN[given["question"]]

    retriever = RecallRetriever(Store(held), score_kind="cosine")
    return CorrectiveWorkflow(retriever, told, searched, rewrite=rewrite)


async def resume_workflow(saved: dict[str, Any]) -> dict[str, Any]:
    held = Held()
    runner = workflow(held)
    context: Any = Context.from_dict(runner, saved)
    result: CorrectiveAnswer = await runner.run(ctx=context)
    return {"ran": held.ran, "result": result.model_dump()}


async def resume_agent(saved: dict[str, Any]) -> dict[str, Any]:
    """It tries the web once more, of which it had one call left or none."""
    runner, llm = agent([[WEB]], notes(WEAK), web(), max_fallbacks=2)
    context: Any = Context.from_dict(runner, saved)
    if await context.store.get("memory", default=None) is None:
        # With newer pydantic the framework leaves its chat memory out of what it saves.
        await context.store.set("memory", ChatMemoryBuffer.from_defaults(token_limit=10_000))
    said = str(await runner.run(ctx=context))
    kept = {key: await context.store.get(key) for key in ("recall", "recall_fallbacks")}
    return {"said": said, "offered": llm.offered, "heard": llm.heard, **kept}


async def main() -> None:
    given, resume = json.load(sys.stdin), {"workflow": resume_workflow, "agent": resume_agent}
    done = {name: await resume[name.split()[0]](saved) for name, saved in given.items()}
    sys.stdout.write(json.dumps(done))


if __name__ == "__main__":
    asyncio.run(main())
