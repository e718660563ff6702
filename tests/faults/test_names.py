"""What an encoder says of its model tells it from others, and none of its secrets is shown."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from langchain_openai import AzureOpenAIEmbeddings, OpenAIEmbeddings
from pydantic import SecretStr

import langchain_recall_signal._encoders as in_langchain
import llama_index_recall_signal._encoders as in_llama_index
from llama_index_recall_signal import RecallPostprocessor
from recall_signal import Calibration, CalibrationError, ConfigurationError, Thresholds
from recall_signal._names import plain_name
from recall_signal.selection import Answer, SelectionRequest
from tests.frameworks import QUERY, Framework
from tests.langchain import fakes as lc
from tests.llama_index import fakes as li

ADDRESS = "https://user:S3CRET@host:8080/v1/embed?api_key=S3CRET#S3CRET"
SHOWN = "https://host:8080/v1/embed"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (ADDRESS, SHOWN),
        ("HTTPS://S3CRET@host", "HTTPS://host"),
        ("https://user:S3@CRET@host/a@b", "https://host/a@b"),
        ("https://host/a?mail=x@S3CRET", "https://host/a"),
        ("https://host#S3CRET\n", "https://host"),
        (f"served by {ADDRESS}", f"served by {SHOWN}"),
        (f"tei:https://host/a and {ADDRESS}", f"tei:https://host/a and {SHOWN}"),
        (f"https://{'x' * 300}@host", "https://host"),
        ("hf.co/user/model@v2:Q4?", "hf.co/user/model@v2:Q4?"),
        ("openai:text-embedding-3-small", "openai:text-embedding-3-small"),
    ],
)
def test_an_address_loses_what_may_be_a_key(name: str, shown: str) -> None:
    assert plain_name(name) == shown


def named(framework: Framework, model: str, vectors: dict[str, Any] | None = None) -> Any:
    """An encoder of this model, and the setting of a wrapper with it."""
    encoder: Any
    encoder, settings = framework.encoding(vectors or {})
    if framework.name == "langchain":
        encoder.model = model
        return encoder, settings
    settings["embed_model"].model_name = model
    return settings["embed_model"], settings


def fitted(encoder: str) -> Calibration:
    texts = [f"a stored text about subject {n}, with some words" for n in range(30)]

    def search(query: str) -> list[float]:
        return [0.9 - 0.01 * (len(query) % 7), 0.1, 0.0]

    return Calibration.fit(search, documents=texts, encoder=encoder)


def test_no_report_of_a_wrapper_shows_the_key_in_an_address(
    framework: Framework, tmp_path: Path
) -> None:
    _, settings = named(framework, ADDRESS)
    texts = [f"memo {n} on the subject of {n % 7} lamps and doors" for n in range(40)]
    wrapper = framework.around(lambda: texts, **settings).calibrated(tmp_path / "scale.json")
    fit = wrapper.current_calibration
    assert fit.encoder == SHOWN
    _, others = named(framework, "another")
    with pytest.raises(CalibrationError, match="another") as refused:
        framework.around(lambda: texts, **others, calibration=fit)
    shown = (tmp_path / "scale.json").read_text() + repr(fit) + str(fit) + str(refused.value)
    assert SHOWN in shown
    assert "S3CRET" not in shown


def test_a_name_that_is_given_shows_no_key_either() -> None:
    calibration, cuts = fitted(ADDRESS), Thresholds(encoder=ADDRESS)
    assert calibration.encoder == cuts.encoder == SHOWN
    for bound in (calibration, cuts):
        bound.require_encoder(ADDRESS)
        bound.require_encoder(SHOWN)
        bound.require_encoder(None)
        with pytest.raises((CalibrationError, ConfigurationError)) as refused:
            bound.require_encoder(ADDRESS.replace("host", "elsewhere"))
        assert "S3CRET" not in str(refused.value)


def test_a_calibration_of_an_earlier_release_fits_its_encoder(tmp_path: Path) -> None:
    file = tmp_path / "scale.json"
    fitted(SHOWN).save(file)
    file.write_text(file.read_text().replace(SHOWN, ADDRESS))
    loaded = Calibration.load(file)
    assert loaded.encoder == SHOWN
    loaded.require_encoder(plain_name(ADDRESS))


async def test_a_selection_names_its_model_without_a_key(framework: Framework, way: str) -> None:
    class Served:
        def select(self, request: SelectionRequest) -> Answer:
            return Answer(f'{{"keep": ["{request.labels[0]}"]}}', ADDRESS)

        async def aselect(self, request: SelectionRequest) -> Answer:
            return self.select(request)

    response = await framework.recall(framework.over(selector=Served()), way)
    assert response.selection.model == SHOWN


class Served(li.Embedding):
    """Of a class with deployments, as LlamaIndex' of Azure has them."""

    azure_deployment: str | None = None

    def __init__(self, vectors: Mapping[str, Any] | None = None) -> None:
        super().__init__(vectors, dimension=2)


def served(framework: Framework, model: str, deployment: str) -> tuple[Any, Any, dict[str, Any]]:
    """An encoder with a deployment, what sets another one, and the setting of a wrapper."""
    if framework.name == "langchain":
        encoder = lc.Encoder({}, dimension=2)
        encoder.model, encoder.deployment = model, deployment  # type: ignore[attr-defined]
        return encoder, "deployment", {"embeddings": encoder}
    embedding = Served()
    embedding.model_name, embedding.azure_deployment = model, deployment
    return embedding, "azure_deployment", {"embed_model": embedding}


@pytest.mark.parametrize("change", ["deployment", "address"])
async def test_another_deployment_takes_no_vectors_of_the_one_before(
    framework: Framework, way: str, change: str
) -> None:
    """The address differs in what is not shown."""
    encoder, attribute, settings = served(framework, f"{SHOWN}?model=a", "a")
    inner = encoder if framework.name == "langchain" else encoder.encoder
    wrapped = framework.around(lambda: ["t0"], **settings)
    inner.vectors.update({QUERY: [1.0, 0.0], "t0": [0.9, 0.1]})
    assert (await framework.recall(wrapped, way)).confidence.top_score > 0.9
    inner.vectors.update({QUERY: [0.0, 1.0], "t0": [1.0, 0.2]})
    if change == "deployment":
        setattr(encoder, attribute, "b")
    else:
        model = "model" if framework.name == "langchain" else "model_name"
        setattr(encoder, model, f"{SHOWN}?model=b")
    assert (await framework.recall(wrapped, way)).confidence.top_score == pytest.approx(0.196)
    assert len(inner.batches) == 2
    await framework.recall(wrapped, way)
    assert len(inner.batches) == 2


async def test_a_postprocessor_takes_no_vectors_of_another_deployment() -> None:
    embedding = Served({QUERY: [1.0, 0.0], "t0": [0.9, 0.1]})
    step = RecallPostprocessor(embed_model=embedding)
    nodes = li.scored(None)
    for deployment, batches in (("a", 1), ("a", 1), ("b", 2), ("b", 2)):
        embedding.azure_deployment = deployment
        step.postprocess_nodes(nodes, query_str=QUERY)
        assert len(embedding.encoder.batches) == batches


def test_a_calibration_of_another_deployment_is_refused(framework: Framework) -> None:
    _, _, settings = served(framework, "model", "a")
    fit = fitted("model (a)")
    assert framework.around(list, **settings, calibration=fit).calibration_status != "off"
    _, _, settings = served(framework, "model", "b")
    with pytest.raises(CalibrationError, match=r"'model \(a\)' and cannot be used with"):
        framework.around(list, **settings, calibration=fit)


def test_the_names_of_encoders_without_a_deployment_are_the_models() -> None:
    openai: dict[str, Any] = {"api_key": SecretStr("sk-none")}
    azure = openai | {"azure_endpoint": "http://x", "api_version": "1"}
    name = in_langchain.encoder_name
    small = "text-embedding-3-small"
    assert name(OpenAIEmbeddings(model=small, **openai)) == small
    assert name(AzureOpenAIEmbeddings(**azure)) == "text-embedding-ada-002"
    of = AzureOpenAIEmbeddings(**azure | {"azure_deployment": "ours"})
    assert name(of) == "text-embedding-ada-002 (ours)"
    same = AzureOpenAIEmbeddings(model="m", **azure | {"azure_deployment": "m"})
    assert name(same) == "m"
    assert name(lc.Encoder()) == "Encoder"
    assert name(None) is None
    assert in_llama_index.encoder_name(li.Embedding()) == "settable"
    assert in_llama_index.encoder_name(Served()) == "settable"
    assert in_llama_index.encoder_name(None) is None
