"""`LanceDB`, of langchain-lancedb and of langchain-community."""

from pathlib import Path
from typing import Any

import pytest
from langchain_community.vectorstores import LanceDB as CommunityLanceDB
from langchain_core.embeddings import Embeddings
from langchain_lancedb import LanceDB

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
