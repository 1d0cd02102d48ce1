"""SERVE: the page of a run on this machine. Each route is one call of the library."""

from __future__ import annotations

import json
import secrets
import socket
from collections.abc import Callable
from functools import partial
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from superproto.errors import UserError
from superproto.explorer import exports, views
from superproto.explorer.security import Guard
from superproto.explorer.session import Session
from superproto.explorer.thumbnails import SIDES, Thumbnails
from superproto.pictures.images import Unusable

_TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


def make_app(session: Session, token: str, port: int) -> Guard:
    """The application for one run, behind its guard."""
    pictures = Thumbnails(session)
    read: dict[str, Callable[[Request], Any]] = {
        "/api/run": lambda _: views.run_facts(session),
        "/api/state": lambda _: views.state(session),
        "/api/question": lambda _: views.question(session),
        "/api/rows": lambda request: views.grid(session, **_grid_choice(request)),
        "/api/rows/{row:int}": lambda request: views.sample(session, request.path_params["row"]),
        "/api/classes": lambda _: views.class_cards(session),
        "/api/classes/{number:int}": lambda request: views.class_details(session, request.path_params["number"]),
        "/api/changes": lambda _: views.changes(session),
    }
    change: dict[str, Callable[[Any], Any]] = {
        "/api/answer": lambda given: _answered(session, given),
        "/api/undo": lambda _: {"rows": session.undo(), **_next(session)},
        "/api/refit": lambda _: {"started": session.refit(), "state": views.state(session)},
        "/api/take-back": lambda _: {"fit": session.take_back_fit(), **_next(session)},
        "/api/samples": lambda given: views.some_samples(session, _listed(given, "rows")),
        "/api/link-folder": lambda given: exports.link_into_run(session, dry_run=given.get("dry_run") is not False),
    }
    routes = [
        *(Route(path, _reader(call)) for path, call in read.items()),
        *(Route(path, _changer(call), methods=["POST"]) for path, call in change.items()),
        Route("/api/map/points", _bytes_of(lambda _: _map_points(session))),
        Route("/api/map/colors", _bytes_of(lambda _: views.map_colors(session))),
        Route("/api/export/{kind}", partial(_export, session)),
        Route("/picture/{row:int}/{size}", partial(_picture, pictures)),
        *_static_routes(),
    ]
    return Guard(Starlette(routes=routes), token, port)


def open_socket(port: int) -> socket.socket:
    """A socket of this machine alone; port 0: any that is free."""
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind(("127.0.0.1", port))
    except (OSError, OverflowError) as error:
        found.close()
        raise UserError(f"Port {port} cannot be used ({error}). Give --port another number, or none.") from None
    found.listen(128)
    return found


def make_server(session: Session, listening: socket.socket, token: str) -> Any:
    """The server for a socket; its `run(sockets=[...])` answers until `should_exit` is set."""
    import uvicorn

    app = make_app(session, token, listening.getsockname()[1])
    config = uvicorn.Config(
        app, log_level="error", access_log=False, server_header=False, lifespan="off", ws="none", http="h11",
        proxy_headers=False, timeout_graceful_shutdown=2,
    )  # fmt: skip
    return uvicorn.Server(config)


def serve_session(session: Session, port: int = 0, ready: Callable[[str], None] | None = None) -> None:
    """Answer until the process is interrupted; ``ready`` is called with the address, once it can be opened."""
    listening, token = open_socket(port), secrets.token_urlsafe(24)
    server = make_server(session, listening, token)
    session.layout.improve()
    if ready is not None:
        ready(f"http://127.0.0.1:{listening.getsockname()[1]}/?token={token}")
    try:
        server.run(sockets=[listening])
    finally:
        listening.close()


def _reader(call: Callable[[Request], Any]) -> Any:
    async def endpoint(request: Request) -> Response:
        return await _in_thread(lambda: JSONResponse(call(request)))

    return endpoint


def _changer(call: Callable[[Any], Any]) -> Any:
    async def endpoint(request: Request) -> Response:
        try:
            given = json.loads(await request.body() or b"{}")
        except (ValueError, RecursionError):
            given = None
        if not isinstance(given, dict):
            return JSONResponse({"error": "The request is no JSON object."}, 400)
        return await _in_thread(lambda: JSONResponse(call(given)))

    return endpoint


def _bytes_of(call: Callable[[Request], bytes]) -> Any:
    async def endpoint(request: Request) -> Response:
        return await _in_thread(lambda: Response(call(request), media_type="application/octet-stream"))

    return endpoint


async def _in_thread(call: Callable[[], Response]) -> Response:
    try:
        return await run_in_threadpool(call)
    except UserError as error:
        return JSONResponse({"error": str(error)}, 400)


async def _picture(pictures: Thumbnails, request: Request) -> Response:
    size = request.path_params["size"]
    if size not in SIDES:
        return Response(status_code=404)
    try:
        content = await run_in_threadpool(pictures.jpeg, request.path_params["row"], size)
    except (Unusable, UserError) as error:
        return JSONResponse({"error": str(error)}, 404)
    return Response(content, media_type="image/jpeg", headers={"cache-control": "private, max-age=31536000, immutable"})


async def _export(session: Session, request: Request) -> Response:
    kind = request.path_params["kind"]
    if kind not in exports.FILES:
        return Response(status_code=404)

    def write() -> Response:
        name = f"labels{exports.FILES[kind]}" if kind != "events" else "events.jsonl"
        headers = {"content-disposition": f'attachment; filename="{name}"'}
        return Response(exports.export_bytes(session, kind), media_type="application/octet-stream", headers=headers)

    return await _in_thread(write)


def _static_routes() -> list[Route]:
    """The files of the page, read once: no part of an address is ever a path."""
    found = {item.name: item.read_bytes() for item in (files("superproto.explorer") / "static").iterdir()}
    routes = []
    for name, content in found.items():
        kind = _TYPES.get(name[name.rfind(".") :])
        if kind is not None:
            routes.append(Route("/" if name == "index.html" else f"/static/{name}", _constant(content, kind)))
    return routes


def _constant(content: bytes, kind: str) -> Any:
    async def endpoint(_: Request) -> Response:
        return Response(content, media_type=kind)

    return endpoint


def _answered(session: Session, given: dict[str, Any]) -> dict[str, Any]:
    number: Any = given.get("class")
    names = session.run.class_names
    known = isinstance(number, int) and not isinstance(number, bool) and 0 <= number < len(names)
    name = names[number] if known else None if number is None else str(number)[:100]
    count = session.answer(_listed(given, "rows"), str(given.get("kind"))[:20], name, given.get("source"))
    return {"answered": count, **_next(session)}


def _next(session: Session) -> dict[str, Any]:
    return {"state": views.state(session), "question": views.question(session)}


def _listed(given: dict[str, Any], name: str) -> list[Any]:
    found = given.get(name)
    if not isinstance(found, list):
        raise UserError(f"'{name}' is missing, or is no list.")
    return found


def _map_points(session: Session) -> bytes:
    points, _ = session.layout.points()
    return points.astype("<f4").tobytes()


def _grid_choice(request: Request) -> dict[str, Any]:
    given = request.query_params
    try:
        label = given.get("class")
        return {
            "start": int(given.get("start", 0)),
            "count": int(given.get("count", 100)),
            "fresh": "fresh" in given or "start" not in given,
            "sort": given.get("sort", "doubt"),
            "label": None if label is None else int(label),
            "kind": given.get("state"),
            "least": float(given.get("least", 0)),
            "most": float(given.get("most", 1)),
        }
    except ValueError:
        raise UserError("start, count and class are whole numbers; least and most are numbers.") from None
