"""Round-robin proxy: consecutive requests go to different servers.

Bytes are forwarded unchanged. The proxy only detects where a request ends, so that the next one on the same connection
can go to the next server. If it cannot parse a request, the connection stays with one server. Servers that refuse
connections are skipped.
"""

import asyncio
import re
import socket
import struct
import threading
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any

from patience import HANGS_S

Address = tuple[str, int]

PIECE = 65_536
LONGEST_HEAD = 65_536
CHUNK_SIZE = re.compile(rb"([0-9a-fA-F]+)[^\r\n]*\r\n")


class RequestWatch:
    """Parses the bytes of one connection; `at_start` is true between two requests."""

    def __init__(self) -> None:
        self.at_start = True
        self.lost = False
        self._head = b""
        self._left = 0  # remaining bytes of the body
        self._chunks: bytearray | None = None  # unparsed bytes of a chunked body

    def see(self, data: bytes) -> None:
        """Parse the next bytes. Unsupported input, including pipelining, sets `lost` permanently."""
        if self.lost or not data:
            return
        self.at_start = False
        if self._chunks is not None:
            self._see_chunks(data)
        elif self._left:
            self._see_body(data)
        else:
            self._see_head(data)

    def _see_head(self, data: bytes) -> None:
        head, ending, rest = (self._head + data).partition(b"\r\n\r\n")
        if not ending:
            self._head = head
            self.lost = len(head) > LONGEST_HEAD
            return
        self._head = b""
        fields = [line.partition(b":")[::2] for line in head.lower().split(b"\r\n")[1:]]
        lengths = [value.strip() for name, value in fields if name == b"content-length"]
        codings = [value.strip() for name, value in fields if name == b"transfer-encoding"]
        if codings == [b"chunked"] and not lengths:
            self._chunks = bytearray()
            self._see_chunks(rest)
        elif codings or len(lengths) > 1 or not all(length.isdigit() for length in lengths):
            self.lost = True
        else:
            self._left = int(lengths[0]) if lengths else 0
            self._see_body(rest)

    def _see_body(self, data: bytes) -> None:
        self.lost = len(data) > self._left
        self._left -= len(data)
        self.at_start = self._left == 0

    def _see_chunks(self, data: bytes) -> None:
        assert self._chunks is not None
        self._chunks += data
        while size := CHUNK_SIZE.match(self._chunks):
            length = int(size[1], 16)
            if len(self._chunks) < size.end() + length + 2:
                return
            del self._chunks[: size.end() + length + 2]
            if length == 0:  # trailers are unsupported
                self.lost, self.at_start, self._chunks = bool(self._chunks), True, None
                return
        self.lost = len(self._chunks) > LONGEST_HEAD


def reset(writer: asyncio.StreamWriter) -> None:
    """Reset the connection, so that its other end sees an error."""
    with suppress(OSError):
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


class RoundRobin:
    """Proxy on an event loop in its own thread; `address` never changes."""

    def __init__(self, servers: Sequence[Address] = ()) -> None:
        self.servers = list(servers)
        self.cut_connections = 0
        self._next = 0
        self._open: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="round-robin")
        self._thread.start()
        self._server: asyncio.Server = self._call(lambda: asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.address: Address = self._server.sockets[0].getsockname()

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.address[1]}"

    def cut(self) -> None:
        """Reset all open connections."""
        self._call(self._cut)

    def close(self) -> None:
        self._call(self._end)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _call(self, do: Callable[[], Awaitable[Any]]) -> Any:
        async def await_it() -> Any:
            return await do()

        return asyncio.run_coroutine_threadsafe(await_it(), self._loop).result(HANGS_S)

    async def _cut(self) -> None:
        self.cut_connections += len(self._open)
        for writer in list(self._open):
            reset(writer)

    async def _end(self) -> None:
        self._server.close()
        await self._cut()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        connection = _Connection(self, writer)
        try:
            await connection.run(reader)
        except OSError:
            reset(writer)
        finally:
            self._open.discard(writer)
            await connection.leave_server()
            writer.close()

    async def connect(self) -> socket.socket:
        """Connect to the next available server. Raises OSError if none accepts."""
        for _ in self.servers:
            self._next += 1
            server = socket.socket()
            server.setblocking(False)
            try:
                await self._loop.sock_connect(server, self.servers[self._next % len(self.servers)])
            except OSError:
                server.close()
            except BaseException:  # cancelled by `close`
                server.close()
                raise
            else:
                return server
        raise ConnectionRefusedError


class _Connection:
    """One client's connection. Each of its requests has its own connection to a server.

    Server connections are plain sockets: data sent before a close can still be read after a failed write.
    """

    def __init__(self, proxy: RoundRobin, writer: asyncio.StreamWriter) -> None:
        self._proxy, self._writer = proxy, writer
        self._server: socket.socket | None = None
        self._answers: asyncio.Task[None] | None = None

    async def run(self, reader: asyncio.StreamReader) -> None:
        loop, watch = asyncio.get_running_loop(), RequestWatch()
        while data := await reader.read(PIECE):
            if self._server is None or (watch.at_start and not watch.lost):
                await self.leave_server()
                self._server = await self._proxy.connect()
                self._answers = asyncio.ensure_future(self._hand_back(self._server))
            watch.see(data)
            with suppress(OSError):  # the server may answer and close before reading everything
                await loop.sock_sendall(self._server, data)
        if self._server is not None and self._answers is not None:
            with suppress(OSError):
                self._server.shutdown(socket.SHUT_WR)
            await asyncio.wait([self._answers])

    async def leave_server(self) -> None:
        if self._answers is not None and self._server is not None:
            self._answers.cancel()
            try:
                await asyncio.wait([self._answers])  # the task must release the socket before its number is reused
            finally:  # `close` may cancel the wait
                self._server.close()

    async def _hand_back(self, server: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        with suppress(OSError):
            while data := await loop.sock_recv(server, PIECE):
                self._writer.write(data)
                await self._writer.drain()
        self._writer.close()
