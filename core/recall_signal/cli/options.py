"""Every option of the commands, with its help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from recall_signal.cli.chat import SELECTOR_TIMEOUT, Server
from recall_signal.pool import DEFAULT_POOL_SIZE

OptionalPath = Optional[Path]  # noqa: UP045  (typer before 0.12.4 knows no other way to say it)

NO_SERVER: Server = ("", "")
"""What typer before 0.12.4 can take for an option with two values that is not given."""


def _folder(text: str) -> Path:
    """A folder as given; an empty text would be the current one."""
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
        help="Folder with .txt, .md, .markdown and .rst files to search.",
    ),
]
Framework = Annotated[
    str, typer.Option(metavar="NAME", help="The framework whose retriever is wrapped.")
]
OnlyFramework = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(
        "--framework",
        metavar="NAME",
        help="The only framework to ask through.",
        show_default="LangChain, and LlamaIndex where it is installed",
    ),
]
PageSize = Annotated[int, typer.Option("-k", metavar="N", help="Results on the page.")]
PoolSize = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option(
        metavar="N",
        help="Candidates the signal looks at.",
        show_default=f"{DEFAULT_POOL_SIZE}, or -k where that is more",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object per question.")]
Cache = Annotated[
    OptionalPath,
    typer.Option(
        metavar="DIR",
        parser=_folder,
        help="Folder where vectors are kept, so that texts are embedded once.",
        show_default="the user's cache folder",
    ),
]
Selector = Annotated[
    tuple[str, str],
    typer.Option(
        metavar="URL MODEL",
        show_default=False,
        help="Let a model drop what does not help, behind any server that speaks the OpenAI "
        "protocol, such as http://localhost:11434/v1. The key is taken from OPENAI_API_KEY.",
    ),
]
SelectorTimeout = Annotated[
    Optional[float],  # noqa: UP045
    typer.Option(
        metavar="SECONDS",
        help="How long the model may take for a page.",
        show_default=str(SELECTOR_TIMEOUT),
    ),
]
CalibrationFile = Annotated[
    OptionalPath,
    typer.Option(metavar="FILE", help="What recall-signal calibrate learnt of these texts."),
]

Out = Annotated[Path, typer.Option(metavar="FILE", help="Where to write what was learnt (JSON).")]
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
        help="Queries with labels: JSON lines with query and label (present or absent); 50 help "
        "most.",
    ),
]
Figure = Annotated[
    OptionalPath, typer.Option(metavar="FILE", help="Draw what was learnt (.png, .svg, .pdf).")
]
Resume = Annotated[
    OptionalPath,
    typer.Option(
        metavar="FILE",
        help="Keep the figures of each search here; an interrupted run goes on from them.",
    ),
]
