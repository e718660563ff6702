"""Serve the page to this machine alone."""

from __future__ import annotations

import socket
from collections.abc import Callable

from recall_signal.errors import ConfigurationError, MissingDependencyError

__all__ = ["HOST", "address", "require_free", "serve"]

HOST = "127.0.0.1"
TITLE = "recall-signal"


def address(port: int) -> str:
    """Return the page's address."""
    return f"http://{HOST}:{port}/"


def require_free(port: int) -> None:
    """Check that the port can be had, before texts are embedded.

    Raises:
        ConfigurationError: It is out of range, or taken.
    """
    if not 1 <= port <= 65535:
        raise ConfigurationError(f"--port must be between 1 and 65535, got {port}")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise ConfigurationError(
                f"port {port} cannot be used ({error.strerror}); give another --port"
            ) from None


def serve(page: Callable[[], None], port: int, *, show: bool) -> None:
    """Serve a page until the process is interrupted; every tab gets its own.

    Only requests for this machine's own names are answered, and only pages of this server reach
    its socket, so that no website that a person has open can read the texts.

    Args:
        page: Builds the page of a tab.
        port: Where to listen, on the loopback address.
        show: Whether a browser is opened.

    Raises:
        MissingDependencyError: NiceGUI is not installed.
    """
    try:
        from nicegui import app, core, ui
        from starlette.middleware.trustedhost import TrustedHostMiddleware
    except ImportError:
        raise MissingDependencyError("recall-signal explore", "explore") from None
    names = [HOST, "localhost"]
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=names)
    core.sio.eio.cors_allowed_origins = [f"http://{name}:{port}" for name in names]
    ui.run(
        page,
        host=HOST,
        port=port,
        title=TITLE,
        show=show,
        reload=False,
        dark=None,
        language="en-US",
        show_welcome_message=False,
        uvicorn_logging_level="warning",
    )
