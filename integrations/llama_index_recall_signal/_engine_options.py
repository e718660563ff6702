"""Query engines whose calls take `k`, `use_rerank` and `select`."""

from __future__ import annotations

from typing import Any

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.response.schema import RESPONSE_TYPE
from llama_index.core.schema import QueryType

from llama_index_recall_signal._collect import call_options, parse_options
from llama_index_recall_signal._internals import aquery_unspanned, query_unspanned

__all__ = ["OptionsQueryEngine"]


class OptionsQueryEngine(BaseQueryEngine):
    """Sets the options of a call for the retrievals inside it."""

    def query(self, str_or_query_bundle: QueryType, **options: Any) -> RESPONSE_TYPE:
        """Answer a question; `k`, `use_rerank` and `select` hold for this call.

        Raises:
            ConfigurationError: An option is wrong, or there is none of that name.
        """
        with call_options(parse_options(options)):
            return query_unspanned(self, str_or_query_bundle)

    async def aquery(self, str_or_query_bundle: QueryType, **options: Any) -> RESPONSE_TYPE:
        """`query`, asynchronously."""
        with call_options(parse_options(options)):
            return await aquery_unspanned(self, str_or_query_bundle)
