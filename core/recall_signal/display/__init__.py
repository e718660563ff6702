"""Views for notebooks, pages and terminals. What they show is data, never markup."""

from recall_signal.display._html import confidence_html, response_html
from recall_signal.display._page import PageRow
from recall_signal.display._pool_plot import plot_pool, plot_pools
from recall_signal.display._text import response_text
from recall_signal.display._witness_plot import plot_witnesses

__all__ = [
    "PageRow",
    "confidence_html",
    "plot_pool",
    "plot_pools",
    "plot_witnesses",
    "response_html",
    "response_text",
]
