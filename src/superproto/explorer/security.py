"""GUARD: nobody but the person who started the page gets an answer from it.

The address holds a token, which is exchanged for a cookie that scripts cannot read and other sites cannot send. A
foreign Host (DNS rebinding) and a foreign Origin (another site's form or script) are refused. Every answer forbids the
browser to load or run anything that does not come from this server.
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]

POLICY = (
    "default-src 'none'; img-src 'self'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "x-frame-options": "DENY",
}
_LARGEST_BODY = 2**20


class Guard:
    """An ASGI application that lets only one person's requests through to another one."""

    def __init__(self, app: Any, token: str, port: int) -> None:
        self._app, self._token = app, token
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        # Cookies are not kept apart by port: two pages must not take each other's.
        self._cookie = f"superproto-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        refused = self._refusal(scope)
        if refused is not None:
            await _reply(send, *refused)
        elif self._brings_token(scope):
            cookie = f"{self._cookie}={self._token}; HttpOnly; SameSite=Strict; Path=/"
            await _reply(send, 303, "", [("location", "/"), ("set-cookie", cookie)])
        elif not self._has_cookie(scope):
            await _reply(send, 403, "Open the address that `superproto explore` printed, with its token.")
        else:
            await self._app(scope, receive, _with_headers(send))

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        """The answer to a request from elsewhere; None where there is nothing against it."""
        hosts = _header_values(scope, b"host")
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            return 400, "This address is not the page's."
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return 405, "Only GET and POST are known."
        if scope["method"] == "POST":
            if _header_values(scope, b"origin") != [f"http://{hosts[0]}"]:
                return 403, "The request does not come from the page."
            if [kind.partition(";")[0].strip() for kind in _header_values(scope, b"content-type")] != [
                "application/json"
            ]:
                return 415, "Send JSON."
            length = _header_values(scope, b"content-length")
            if len(length) != 1 or not length[0].isdecimal() or int(length[0]) > _LARGEST_BODY:
                return 413, "The request is too large."
        return None

    def _brings_token(self, scope: Scope) -> bool:
        if scope["method"] != "GET" or scope["path"] != "/":
            return False
        given = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [])
        return len(given) == 1 and self._is_token(given[0])

    def _has_cookie(self, scope: Scope) -> bool:
        for line in _header_values(scope, b"cookie"):
            try:
                found = SimpleCookie(line).get(self._cookie)
            except CookieError:
                continue
            if found is not None and self._is_token(found.value):
                return True
        return False

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode("utf-8", "replace"), self._token.encode())


def _header_values(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]


def _with_headers(send: Send) -> Send:
    async def guarded(message: Any) -> None:
        if message["type"] == "http.response.start":
            given = {key for key, _ in message["headers"]}
            more = {**HEADERS, "cache-control": "no-store"}
            extra = [(k.encode(), v.encode()) for k, v in more.items() if k.encode() not in given]
            message = {**message, "headers": [*message["headers"], *extra]}
        await send(message)

    return guarded


async def _reply(send: Send, status: int, text: str, more: list[tuple[str, str]] | None = None) -> None:
    body = text.encode()
    headers = {**HEADERS, "content-type": "text/plain; charset=utf-8", "cache-control": "no-store"}
    pairs = [*headers.items(), *(more or []), ("content-length", str(len(body)))]
    encoded = [(key.encode(), value.encode()) for key, value in pairs]
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": body})
