"""Two environments run these tests, since each framework's client takes one version of the SDK.

`make test` has version 1 and LangChain's client, `make test-newest` version 2 and LlamaIndex's.
"""

from importlib.metadata import version

collect_ignore = [
    "newest" if version("mcp").startswith("1.") else "test_langchain_client.py",
]
