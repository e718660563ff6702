"""The arms of a composite retriever: they are seen at work in the one call, and read after it."""
