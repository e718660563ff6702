"""``Chroma`` in its three spaces."""

from typing import Any
from uuid import uuid4

import chromadb
import numpy as np
import pytest
from langchain_chroma import Chroma
from langchain_core.embeddings import Embeddings
from langchain_world import LONG, MIXED, Encoder, FlatMetadata, StoreConformance

from langchain_recall_signal import RecallRetriever

CLIENT = chromadb.EphemeralClient(chromadb.Settings(anonymized_telemetry=False))


class InChroma(FlatMetadata, StoreConformance):
    space = "l2"

    def store(self, encoder: Embeddings) -> Any:
        return Chroma(
            f"c{uuid4().hex}",
            encoder,
            client=CLIENT,
            collection_configuration={"hnsw": {"space": self.space}},
        )


class TestL2(InChroma):
    norms = (1.0,)


class TestL2OfOtherNorms(InChroma):
    norms = (LONG, MIXED)
    source = "vectors"


class TestCosine(InChroma):
    space = "cosine"


class TestInnerProduct(TestL2):
    space = "ip"


class TestInnerProductOfOtherNorms(TestL2OfOtherNorms):
    space = "ip"


class TestMmr(InChroma):
    search = "mmr"
    source = "vectors"

    def test_the_top_hit_has_the_highest_cosine(self) -> None:
        """Not with MMR, whose pool is the page."""


@pytest.mark.parametrize("space", ["l2", "cosine", "ip"])
@pytest.mark.parametrize("said_in", ["collection_configuration", "collection_metadata"])
def test_the_space_is_read_wherever_it_was_set(space: str, said_in: str) -> None:
    """If this fails, Chroma keeps its configuration elsewhere: change ``_space`` in the adapter."""
    settings = {
        "collection_configuration": {"hnsw": {"space": space}},
        "collection_metadata": {"hnsw:space": space},
    }
    store = Chroma(f"c{uuid4().hex}", Encoder(), client=CLIENT, **{said_in: settings[said_in]})
    store.add_texts(["one", "two"])
    response = RecallRetriever.from_vectorstore(store).recall("a query")
    encoder = Encoder()
    exact = [
        float(np.dot(encoder.embed_query("a query"), encoder.embed_query(text)))
        for text in (document.page_content for document in response.documents)
    ]
    assert response.pool.cosines == pytest.approx(exact, abs=1e-4)
    assert response.cosine_source == "store"
