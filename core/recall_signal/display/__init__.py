"""Small HTML views and figures for notebooks. What they show is data, never markup."""

from recall_signal.display.cards import confidence_html, response_html
from recall_signal.display.figures import plot_pool, plot_pools

__all__ = ["confidence_html", "plot_pool", "plot_pools", "response_html"]
