"""Parts of agents that are the same in every framework: decisions, limits and texts."""
