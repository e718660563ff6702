"""The command as a module: `python -m recall_signal.cli`."""

from recall_signal.cli._entry import main

if __name__ == "__main__":  # pragma: no cover  (in a process of its own)
    main()
