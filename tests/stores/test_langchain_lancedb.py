"""``LanceDB``, of langchain-lancedb and of langchain-community."""

from pathlib import Path
from typing import Any

import pytest
from langchain_community.vectorstores import LanceDB as CommunityLanceDB
from langchain_core.embeddings import Embeddings
from langchain_lancedb import LanceDB
from langchain_world import LONG, MIXED, StoreConformance


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


class TestL2(InLanceDB):
    norms = (1.0,)


class TestL2OfOtherNorms(InLanceDB):
    norms = (LONG, MIXED)
    source = "vectors"


class InCommunityLanceDB(InLanceDB):
    can_be_empty = False  # the table is made for the first documents

    def store(self, encoder: Embeddings) -> Any:
        return CommunityLanceDB(embedding=encoder, uri=self.next_folder())


class TestCommunityL2(InCommunityLanceDB):
    norms = (1.0,)


class TestCommunityL2OfOtherNorms(InCommunityLanceDB):
    norms = (LONG, MIXED)
    source = "vectors"


class TestCommunityMmr(InCommunityLanceDB):
    search = "mmr"
    source = "vectors"

    def test_the_top_hit_has_the_highest_cosine(self) -> None:
        """Not with MMR, whose pool is the page."""
