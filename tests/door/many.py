"""many.py COUNT: so many connections at once through the door, all of them open until the
last one has its answer; first requests to the proxy, then tunnels.  Prints for each how
many were under way at once and how many were answered."""

import asyncio
import ssl
import sys

PROXY = ("127.0.0.1", 3128)
HOST = "api.example.com"
REQUEST = "GET {} HTTP/1.1\r\nHost: " + HOST + "\r\n\r\n"


class Crowd:
    def __init__(self, count):
        self.count, self.under_way, self.most, self.answered = count, 0, 0, 0
        self.gate = asyncio.Event()

    async def ask(self, reader, writer, target):
        """Waits until all are here; then asks, and stays until all are answered."""
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        if self.under_way == self.count:
            self.gate.set()
        await self.gate.wait()
        writer.write(REQUEST.format(target).encode())
        line = await reader.readline()
        self.answered += line.startswith(b"HTTP/1.1 200")


async def by_proxy(crowd):
    reader, writer = await asyncio.open_connection(*PROXY)
    await crowd.ask(reader, writer, f"http://{HOST}/slow?ms=1000")
    return writer


async def by_tunnel(crowd):
    reader, writer = await asyncio.open_connection(*PROXY)
    writer.write(f"CONNECT {HOST}:443 HTTP/1.1\r\nHost: {HOST}:443\r\n\r\n".encode())
    head = await reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200"), head
    await writer.start_tls(CONTEXT, server_hostname=HOST)
    await crowd.ask(reader, writer, "/")
    return writer


async def main(count):
    for way in by_proxy, by_tunnel:
        crowd = Crowd(count)
        writers = await asyncio.gather(*(way(crowd) for _ in range(count)))
        print(way.__name__, crowd.most, crowd.answered)
        for writer in writers:
            writer.transport.abort()

CONTEXT = ssl.create_default_context()
asyncio.run(main(int(sys.argv[1])))
