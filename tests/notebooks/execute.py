"""Execute the notebooks from a clean kernel and keep what they show.

python tests/notebooks/execute.py              all of them
python tests/notebooks/execute.py PATH ...     only these
"""

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import matplotlib.font_manager  # noqa: F401  (lists the fonts here, once, not in a kernel's stderr)
import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

FOLDER = Path(__file__).parents[2] / "notebooks"
TIMEOUT = 120
WIDGET = "application/vnd.jupyter.widget-view+json"
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def execute(path: Path) -> NotebookNode:
    """The notebook with new outputs, its metadata reduced to the kernel's name.

    Raises:
        CellExecutionError: A cell failed.
    """
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        cell.metadata = {}
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    with _nothing_of_the_user() as folder:
        NotebookClient(
            notebook,
            timeout=TIMEOUT,
            kernel_name="python3",
            record_timing=False,
            resources={"metadata": {"path": folder}},
        ).execute()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [*_settled(cell.outputs)]
    notebook.metadata = {"kernelspec": KERNEL}
    return notebook


def _settled(outputs: list[NotebookNode]) -> Iterator[NotebookNode]:
    """Outputs that do not depend on when a kernel flushed, nor on a kernel that is gone.

    A widget's view needs its kernel: what is kept of a slider is the picture shown with it.
    """
    last = None
    for output in outputs:
        output.get("data", {}).pop(WIDGET, None)
        if output.output_type == "stream" and last and last.get("name") == output.name:
            last["text"] += output.text
        else:
            yield output
            last = output


@contextmanager
def _nothing_of_the_user() -> Iterator[str]:
    """An empty working folder, without the kernels and start-up files of whoever runs this."""
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        empty = {
            name: str(Path(folder, "settings"))
            for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "IPYTHONDIR")
        }
        with patch.dict(os.environ, {**empty, "JUPYTER_PLATFORM_DIRS": "1"}):
            os.environ.pop("JUPYTER_PATH", None)
            yield folder


def main(names: list[str]) -> None:
    """Execute and save."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    for path in [Path(name) for name in names] or sorted(FOLDER.glob("*.ipynb")):
        nbformat.write(execute(path), path)
        logging.info("executed %s", path.name)


if __name__ == "__main__":
    main(sys.argv[1:])
