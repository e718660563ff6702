"""Run mypy and the core's tests side by side, and print what each said when it is done.

mypy reads the tests that are run here; the others need the stores, which `make lint` installs.
"""

import subprocess
import sys

PYTEST = [
    "pytest",
    "-q",
    "--hypothesis-profile=check",
    "-n",
    "auto",
    "--dist",
    "loadgroup",
    "-m",
    "not timing",
]
TESTS = ["tests/core", "tests/calibration"]
PARTS = {
    "mypy": ["mypy", "core", "integrations", *TESTS],
    "pytest": [*PYTEST, *TESTS],
}


def main() -> int:
    """Return the number of parts that failed."""
    running = {
        name: subprocess.Popen(
            [sys.executable, "-m", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        for name, words in PARTS.items()
    }
    failed = 0
    for name, process in running.items():
        printed, _ = process.communicate()
        sys.stdout.write(f"{name}: {printed.decode(errors='replace')}")
        failed += process.returncode != 0
    return failed


if __name__ == "__main__":
    sys.exit(main())
