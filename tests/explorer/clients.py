"""The page of a session, served on this machine, and somebody who sends requests to it."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

TOKEN = "a-token-of-the-tests"


class Answer(NamedTuple):
    status_code: int
    headers: dict[str, str]
    content: bytes

    def json(self) -> Any:
        return json.loads(self.content)


class Client:
    """Somebody who sends requests exactly as they are written, with a cookie or without."""

    def __init__(self, port: int, cookie: str | None = None) -> None:
        self.port, self._cookie = port, cookie

    def get(self, path: str, **headers: str | None) -> Answer:
        return self.send("GET", path, **headers)

    def post(self, path: str, body: Any = None, **headers: str | None) -> Answer:
        own = {"origin": f"http://127.0.0.1:{self.port}", "content-type": "application/json"}
        return self.send("POST", path, json.dumps(body or {}).encode(), **{**own, **headers})

    def send(self, method: str, path: str, body: bytes | None = None, **headers: str | None) -> Answer:
        sent = {"host": f"127.0.0.1:{self.port}", "cookie": self._cookie, **headers}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in sent.items():
                if value is not None:
                    connection.putheader(name, value)
            if body is not None:
                connection.putheader("content-length", str(len(body)))
            connection.endheaders(body)
            found = connection.getresponse()
            return Answer(found.status, {k.lower(): v for k, v in found.getheaders()}, found.read())
        finally:
            connection.close()


class Running(NamedTuple):
    """A server that answers at a port."""

    port: int

    def stranger(self) -> Client:
        return Client(self.port)

    def entered(self) -> Client:
        answer = self.stranger().get(f"/?token={TOKEN}")
        assert answer.status_code == 303
        return Client(self.port, answer.headers["set-cookie"].partition(";")[0])


@contextmanager
def running(session: Any) -> Iterator[Running]:
    """Serve the page of a session in a thread."""
    from superproto.explorer.server import make_server, open_socket

    listening = open_socket(0)
    server = make_server(session, listening, TOKEN)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        yield Running(listening.getsockname()[1])
    finally:
        server.should_exit = True
        thread.join(20)
        listening.close()


def serve_until_killed(folder: str, told: Any) -> None:
    """Serve the page of a run in this process and tell its port through a pipe; for a process of its own."""
    from superproto.explorer.run import open_run
    from superproto.explorer.server import make_server, open_socket
    from superproto.explorer.session import Session

    session, listening = Session(open_run(folder)), open_socket(0)
    server = make_server(session, listening, TOKEN)
    told.send(listening.getsockname()[1])
    server.run(sockets=[listening])
