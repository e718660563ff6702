"""A LlamaIndex agent that is offered the web only where the notes hold likely nothing relevant.

    python examples/llama_index_agent.py

Runs offline: the model is scripted and the web is a stub. Put real ones in their place.
"""

import asyncio
import json
from importlib.resources import files
from typing import Any

from llama_index.core import VectorStoreIndex
from llama_index.core.llms import ChatMessage, ChatResponse, LLMMetadata, MockLLM
from llama_index.core.schema import TextNode
from llama_index.core.tools import FunctionTool, ToolSelection

import llama_index_recall_signal as recall


class Script(MockLLM):
    """Calls each tool that it is offered, one by one, then repeats what it read last."""

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(is_function_calling_model=True)

    async def achat_with_tools(self, tools: Any, chat_history: Any, **_: Any) -> ChatResponse:
        offered = [tool.metadata.name for tool in tools]
        print("  offered:", *offered)
        query, read = chat_history[0].content, chat_history[-1].content.splitlines()[-1]
        new = offered[sum(message.role == "tool" for message in chat_history) :][:1]
        calls = [ToolSelection(tool_id=n, tool_name=n, tool_kwargs={"query": query}) for n in new]
        return ChatResponse(message=ChatMessage(read, role="assistant"), raw=calls)

    def get_tool_calls_from_response(self, response: ChatResponse, **_: Any) -> Any:
        return response.raw


def build() -> recall.RecallAgent:
    lines = (files("recall_signal") / "demo/memories.jsonl").read_text("utf-8").splitlines()
    nodes = [TextNode(text=json.loads(line)["text"]) for line in lines]
    index = VectorStoreIndex(nodes, embed_model=recall.DemoEmbedding())
    retriever = recall.RecallRetriever(index.as_retriever(similarity_top_k=1))
    retriever = retriever.with_calibration(retriever.calibrate())  # its own scale, no labels
    notes = recall.create_recall_tool(retriever, "notes", "What the team wrote down.")
    web = FunctionTool.from_defaults(lambda query: f"a page about {query}", name="web")
    when = {"retriever_tools": ["notes"], "fallback_tools": ["web"]}
    return recall.RecallAgent(llm=Script(), tools=[notes, web], streaming=False, **when)


async def main() -> None:
    agent = build()
    for question in "Gaston won't shut properly, is there a trick?", "best submarine films":
        print(question)
        print(f"  {await agent.run(question)}")


asyncio.run(main())
