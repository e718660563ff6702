"""The command ``recall-signal``."""
