"""`LanceDB`, of langchain-lancedb and of langchain-community."""

from pathlib import Path
from typing import Any

import pytest
from langchain_community.vectorstores import LanceDB as CommunityLanceDB
from langchain_core.embeddings import Embeddings
from langchain_lancedb import LanceDB

from langchain_recall_signal import DemoEmbeddings, RecallRetriever
from tests.stores.cases import conformance
from tests.stores.langchain_world import MMR, StoreConformance


class InLanceDB(StoreConformance):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path
        self.count = 0

    def next_folder(self) -> str:
        self.count += 1
        return str(self.folder / str(self.count))

    def store(self, encoder: Embeddings) -> Any:
        return LanceDB(encoder, self.next_folder())


class InCommunityLanceDB(InLanceDB):
    can_be_empty = False  # the table is made for the first documents

    def store(self, encoder: Embeddings) -> Any:
        return CommunityLanceDB(embedding=encoder, uri=self.next_folder())


globals().update(conformance(InLanceDB, {"L2": {"unit_only": True}}))
globals().update(
    conformance(InCommunityLanceDB, {"CommunityL2": {"unit_only": True}, "CommunityMmr": MMR})
)


@pytest.mark.parametrize("given", [{}, {"prefilter": True}])
@pytest.mark.parametrize("year", [2003, 1999])
@pytest.mark.filterwarnings("ignore:No results found:UserWarning")
async def test_a_filter_behind_the_limit_leaves_the_page_alone(
    given: dict[str, Any], year: int, tmp_path: Path
) -> None:
    store = CommunityLanceDB(embedding=DemoEmbeddings(), uri=str(tmp_path))
    texts = [f"note {at} on glaze and kilns" for at in range(60)]
    store.add_texts(texts, [{"year": 2000 + at % 5} for at in range(60)])
    bare = store.as_retriever(search_kwargs={"k": 5, "filter": f"metadata.year = {year}", **given})
    wrapped = RecallRetriever(retriever=bare)
    for question in ("glaze", "note 13"):
        page = [document.page_content for document in bare.invoke(question)]
        assert [document.page_content for document in wrapped.invoke(question)] == page
        assert [document.page_content for document in await wrapped.ainvoke(question)] == page
