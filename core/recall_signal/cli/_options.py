"""The options of all commands, with their help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from recall_signal.cli._models import DEFAULT_TIMEOUT, DEMO
from recall_signal.pool import DEFAULT_POOL_SIZE

# typer before 0.12.4 does not understand X | None.
OptionalPath = Optional[Path]  # noqa: UP045
OptionalPaths = Optional[list[Path]]  # noqa: UP045
OptionalTexts = Optional[list[str]]  # noqa: UP045
OptionalText = Optional[str]  # noqa: UP045
OptionalInt = Optional[int]  # noqa: UP045
OptionalFloat = Optional[float]  # noqa: UP045


def _folder(text: str) -> Path:
    """Return a folder; refuse an empty text, which would be the current one."""
    if not text:
        raise typer.BadParameter("got an empty text, expected a folder; is a variable not set?")
    return Path(text)


Questions = Annotated[
    list[str], typer.Argument(metavar="QUESTION", help="One or more questions, quoted.")
]
Docs = Annotated[
    Path,
    typer.Option(
        metavar="FOLDER",
        parser=_folder,
        help="Folder to search: text, Markdown, code; HTML, PDF and Word with the extra files.",
    ),
]
Glob = Annotated[
    OptionalTexts,
    typer.Option(
        metavar="PATTERN",
        show_default=False,
        help="Read only files that match, of any kind, such as '*.log'; may be repeated.",
    ),
]
Framework = Annotated[
    str, typer.Option(metavar="NAME", help="The framework whose retriever is wrapped.")
]
OnlyFramework = Annotated[
    OptionalText,
    typer.Option(
        "--framework",
        metavar="NAME",
        help="The only framework to ask through.",
        show_default="LangChain, and LlamaIndex where it is installed",
    ),
]
PageSize = Annotated[int, typer.Option("-k", metavar="N", help="Results on the page.")]
PoolSize = Annotated[
    OptionalInt,
    typer.Option(
        metavar="N",
        help="Candidates for the signal.",
        show_default=f"{DEFAULT_POOL_SIZE}, or -k where that is more",
    ),
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print JSON: one object, of ask one for each question.")
]
Cache = Annotated[
    OptionalPath,
    typer.Option(
        metavar="DIR",
        parser=_folder,
        help="Folder where vectors are kept, so that texts are embedded once.",
        show_default="the user's cache folder",
    ),
]
Encoder = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help=f"'{DEMO}'; provider:model, made by LangChain's init_embeddings; or module:name of an "
        "object with embed_query and embed_documents.",
    ),
]
Selector = Annotated[
    OptionalText,
    typer.Option(
        metavar="NAME",
        show_default=False,
        help="Let a model drop results that do not help: provider:model, made by LangChain's "
        "init_chat_model (its keys and addresses come from the environment), or module:name of a "
        "chat model or Selector.",
    ),
]
SelectorTimeout = Annotated[
    OptionalFloat,
    typer.Option(
        metavar="SECONDS",
        help="How long the model may take for a page.",
        show_default=str(DEFAULT_TIMEOUT),
    ),
]
CalibrationFile = Annotated[
    OptionalPath,
    typer.Option(
        metavar="FILE",
        help="A file written by recall-signal calibrate.",
        show_default="calibrated by itself, once for these texts",
    ),
]
NoCalibration = Annotated[
    bool, typer.Option("--no-calibration", help="Use the default thresholds instead.")
]

Reranker = Annotated[
    OptionalText,
    typer.Option(
        metavar="NAME",
        show_default=False,
        help="A reranker that questions can switch on: module:name of a cross-encoder, a document "
        "compressor or a function of question and texts, or of a class that makes one.",
    ),
]
Port = Annotated[int, typer.Option(metavar="N", help="Port on this machine's own address.")]
Show = Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser.")]
Http = Annotated[
    OptionalInt,
    typer.Option(
        metavar="PORT",
        help="Serve streamable HTTP on this port, to this machine alone (0 takes a free one).",
        show_default="standard input and output",
    ),
]
MaxK = Annotated[
    int, typer.Option("--max-k", metavar="N", help="Most results that a call may ask for.")
]
Description = Annotated[
    OptionalText,
    typer.Option(
        metavar="TEXT",
        help="What the texts are, for the model that calls the tool.",
        show_default="the folder's name",
    ),
]

Out = Annotated[Path, typer.Option(metavar="FILE", help="Where to write the calibration (JSON).")]
TextsFolder = Annotated[
    OptionalPath,
    typer.Option(metavar="FOLDER", parser=_folder, help="The texts, as for ask; or:"),
]
TextsFile = Annotated[
    OptionalPath, typer.Option(metavar="FILE", help="The texts: JSON lines with id and text.")
]
Past = Annotated[
    OptionalPath, typer.Option(metavar="FILE", help="Past queries, one a line; 30 to 100 help.")
]
Labelled = Annotated[
    OptionalPath,
    typer.Option(
        metavar="FILE",
        help="Queries with labels: JSON lines with query and label (present or absent), or a file "
        "for evaluate; 50 help most.",
    ),
]
Figure = Annotated[
    OptionalPath, typer.Option(metavar="FILE", help="Draw the calibration (.png, .svg, .pdf).")
]
Corpus = Annotated[
    Path, typer.Option(metavar="FILE", help="Documents: JSON lines with id and text.")
]
Queries = Annotated[
    Path,
    typer.Option(
        metavar="FILE",
        help="Queries: JSON lines with text (or query) and label (present or absent), and id, kind "
        "and split where known; without split about half are fitted on, the others reported.",
    ),
]
Qrels = Annotated[
    OptionalPaths,
    typer.Option(metavar="FILE", help="BEIR's judgements, for queries without labels."),
]
Pool = Annotated[int, typer.Option(metavar="N", help="Candidates for the signal.")]
Html = Annotated[OptionalPath, typer.Option(metavar="FILE", help="Write a report with figures.")]
SavedFile = Annotated[
    Path,
    typer.Argument(metavar="FILE", help="A calibration, or what ask --json printed, as a file."),
]

Log = Annotated[
    OptionalPath,
    typer.Argument(
        metavar="LOG", help="The folder of a log, or one Parquet file.", show_default=False
    ),
]
Fleet = Annotated[
    OptionalPath,
    typer.Option(
        metavar="FOLDER",
        parser=_folder,
        help="Instead of LOG: a folder for each tenant, with calibration.json and the log in log/.",
    ),
]
CalibrationInUse = Annotated[
    OptionalPath,
    typer.Option("--calibration", metavar="FILE", help="The one in use, to compare canaries with."),
]
StateFile = Annotated[
    OptionalPath,
    typer.Option(
        metavar="FILE", help="Where figures are kept.", show_default="in the log's folder"
    ),
]
Since = Annotated[
    int, typer.Option(metavar="DAYS", min=1, help="How long a change of traffic is reported.")
]
HtmlReport = Annotated[
    OptionalPath, typer.Option("--html", metavar="FILE", help="Write a report with pictures.")
]
Prometheus = Annotated[
    OptionalPath,
    typer.Option(metavar="FILE", help="Write gauges in Prometheus' text format."),
]

AnyLog = Annotated[
    Path,
    typer.Argument(
        metavar="LOG",
        parser=_folder,
        help="A Parquet, JSON lines (.jsonl) or CSV file with a list of cosines for each query, or "
        "a folder of such files.",
    ),
]
ScoreOut = Annotated[
    Path,
    typer.Option(
        "--out",
        "-o",
        metavar="OUT",
        parser=_folder,
        help="The result: a file that ends in .parquet, or a new folder of parts.",
    ),
]
ScoreCalibration = Annotated[
    OptionalPath,
    typer.Option(
        "--calibration",
        metavar="FILE",
        help="A file written by recall-signal calibrate.",
        show_default="the default thresholds",
    ),
]
CosinesColumn = Annotated[str, typer.Option(metavar="NAME", help="The column of lists of cosines.")]
Keep = Annotated[
    OptionalTexts,
    typer.Option(
        metavar="NAME",
        help="A column to keep; may be given again.",
        show_default="all but lists and old levels",
    ),
]
Jobs = Annotated[int, typer.Option(metavar="N", min=1, help="Processes.")]
