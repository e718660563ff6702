"""The reasons why nothing could be measured."""

from __future__ import annotations

__all__ = ["REASONS"]

REASONS: dict[str, str] = {
    "no_scores": "the candidates carry no usable score",
    "score_not_convertible": "the retriever's scores are of a kind that no cosine can be had from",
    "score_inverted": "the score rises with the rank, so its kind must be the other way round",
    "score_out_of_range": "a value lies outside what a cosine can be, so the score kind, the "
    "metric or the assumption of unit vectors is wrong",
    "store_not_recognised": "the store behind the retriever is not one whose score is known",
    "no_score_access": "the retriever gives documents without scores",
    "rewritten_query": "the retriever searched for another text than the question, and what was "
    "found with it says nothing about the question",
    "embedding_failed": "the encoder failed while the candidates were embedded again",
    "embedding_mismatch": "the encoder's vectors do not fit each other in number or dimension",
    "norm_unknown": "the score needs vectors of one known length, and the stored ones are not",
    "adapter_failed": "reading the store's scores failed",
    "empty_query": "the question is empty, so no candidate can match it",
    "retrieval_failed": "the retriever failed, so nothing was searched",
    "no_signal": "what a tool gave, a state holds or a page carries has no signal that can be read",
}
"""Reasons why a level is `unknown`: machine-readable reason -> explanation for a person."""
