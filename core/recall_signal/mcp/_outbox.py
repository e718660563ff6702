"""An outbox between a server and its transport, so that no answer waits where it can be cancelled.

Version 1 of the SDK writes an answer inside the scope that a client's cancellation ends. One that
arrives while the answer waits for the transport would leave that scope as an error, and end the
whole server. Put into an outbox, an answer never waits.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

import anyio
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from anyio.streams.memory import MemoryObjectSendStream

__all__ = ["Outbox", "forward"]

SIZE = 1000
"""Messages that may lie in an outbox; with more, a client that does not read is waited for."""


class Outbox:
    """The end of an outbox that the server writes to.

    Args:
        stream: Holds up to `SIZE` messages.
    """

    def __init__(self, stream: MemoryObjectSendStream[Any]) -> None:
        self._stream = stream

    async def send(self, message: object) -> None:
        """Put a message in, at once where there is room."""
        try:
            self._stream.send_nowait(message)
        except anyio.WouldBlock:
            await self._stream.send(message)

    async def aclose(self) -> None:
        """Close the outbox; what lies in it is still sent."""
        self._stream.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()


async def forward(outgoing: ObjectReceiveStream[Any], transport: ObjectSendStream[Any]) -> None:
    """Send everything in an outbox, until it is closed or the client is gone."""
    async with outgoing, transport:
        async for message in outgoing:
            try:
                await transport.send(message)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                return
