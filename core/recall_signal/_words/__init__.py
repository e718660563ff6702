"""Term coverage: the share of a query's informative words that a candidate's text holds.

The words on the page are a second witness beside the cosine, and cost no model call. Pure Python,
language-agnostic: a word is a run of letters and digits, cut to its first six; scripts without
spaces are read as pairs of characters. Texts are not tokenised but searched for the query's few
stems, which is what makes it cheap.

Every constant was chosen on the dev splits of the detection benchmark. AUROC beside a constant is
far / near / hard, means over units.
"""

from recall_signal._words._coverage import (
    MAX_CHARACTERS,
    Front,
    best_coverage,
    coverage_front,
    is_witness,
    term_coverage,
)
from recall_signal._words._terms import QueryTerms, is_foreign, query_terms
from recall_signal._words._vocabulary import Vocabulary, learn_vocabulary

__all__ = [
    "MAX_CHARACTERS",
    "Front",
    "QueryTerms",
    "Vocabulary",
    "best_coverage",
    "coverage_front",
    "is_foreign",
    "is_witness",
    "learn_vocabulary",
    "query_terms",
    "term_coverage",
]
