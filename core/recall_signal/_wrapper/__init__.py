"""Settings, runtime and response that the retrievers of both frameworks share."""
