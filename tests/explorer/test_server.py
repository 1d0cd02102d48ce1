"""The page's own interface: an oracle answers its questions; nobody else gets an answer from it."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from explorer.clients import TOKEN, running
from superproto.explorer.security import POLICY

pytestmark = pytest.mark.extra


@pytest.fixture
def server(session):
    with running(session) as found:
        yield found


@pytest.fixture
def page(server):
    """The server for somebody who has its token."""
    return server.entered()


@pytest.fixture
def stranger(server):
    """The server for somebody who has none."""
    return server.stranger()


# -- the interface -----------------------------------------------------------------------------------------------------


def test_ten_answers_a_refit_the_diff_and_an_undo(page, session, task):
    asked = page.get("/api/question").json()
    for _ in range(10):
        body = {
            "rows": [asked["row"]],
            "kind": "class",
            "class": int(task.truth[asked["row"]]),
            "source": asked["kind"],
        }
        answered = page.post("/api/answer", body).json()
        asked = answered["question"]
    assert answered["state"]["questions"] == 10
    assert answered["state"]["pending"] == 10
    assert page.post("/api/refit").json()["started"]
    session.refitter.wait()
    state = page.get("/api/state").json()
    assert (state["fit"], state["pending"], state["refit"]["error"]) == (1, 0, None)
    assert page.get("/api/changes").json()["answers"] == 10
    assert len(page.post("/api/undo").json()["rows"]) == 1
    assert page.get("/api/state").json()["questions"] == 9
    assert page.post("/api/take-back").json()["fit"] == 0


def test_a_question_says_why_and_offers_the_likeliest_classes(page, session):
    asked = page.get("/api/question").json()
    assert asked["kind"] == "cluster"
    assert "look like these" in asked["why"]
    assert asked["choices"][0]["class"] == asked["guess"]
    assert len(asked["cells"]) == 9
    assert asked["cells"][0]["row"] == asked["row"]
    doubt = float(session.found.doubt[asked["row"]])
    assert asked["choices"][0]["chance"] == pytest.approx(1 - doubt, abs=1e-3), "the chances say what the doubt says"


def test_a_blind_question_tells_nothing(page, session):
    for _ in range(19):
        session.answer([session.question().row], "skip", source="doubtful")
    asked = page.get("/api/question").json()
    assert asked["kind"] == "blind"
    assert asked["guess"] is None
    assert all(choice["chance"] is None for choice in asked["choices"])
    assert asked["cells"] == [{**asked["cells"][0], "label": None, "doubt": None}]
    names = [session.run.class_names[choice["class"]] for choice in asked["choices"]]
    assert names == sorted(names)


def test_the_grid_sorts_and_filters(page, session, task):
    found = page.get("/api/rows?sort=doubt&count=50").json()
    doubts = [cell["doubt"] for cell in found["cells"]]
    assert doubts == sorted(doubts, reverse=True)
    assert found["total"] == (task.y < 0).sum()
    clusters = session.found.labels[
        [cell["row"] for cell in page.get("/api/rows?sort=cluster&count=300").json()["cells"]]
    ]
    assert (np.diff(clusters) >= 0).all()
    three = page.get("/api/rows?class=3&count=300").json()
    assert {cell["label"] for cell in three["cells"]} == {3}
    assert three["total"] == (session.labels()[task.y < 0] == 3).sum()
    assert page.get("/api/rows?state=answered").json()["total"] == 0
    session.answer([found["cells"][0]["row"]], "class", "3")
    assert page.get("/api/rows?state=answered").json()["total"] == 1
    given = page.get("/api/rows?state=given").json()
    assert given["total"] == (task.y >= 0).sum()
    sure = page.get("/api/rows?most=0.05&count=300").json()["cells"]
    assert all(cell["doubt"] <= 0.05 for cell in sure)


def test_the_map_has_a_point_and_a_color_for_each_sample(page, session, task):
    points = np.frombuffer(page.get("/api/map/points").content, "<f4").reshape(-1, 2)
    assert points.shape == (len(task.X), 2)
    assert np.abs(points).max() <= 1
    colors = page.get("/api/map/colors").content
    assert len(colors) == 6 * len(task.X)
    np.testing.assert_array_equal(np.frombuffer(colors[: 4 * len(task.X)], "<i4"), session.labels())


def test_classes_tell_what_they_were_taken_for(page, task):
    cards = page.get("/api/classes").json()
    assert sorted(card["class"] for card in cards) == list(range(10))
    three = next(card for card in cards if card["class"] == 3)
    wrong = page.get("/api/state").json()["wrong"]
    assert sum(card["expected"] for card in cards) == pytest.approx(wrong, abs=0.2), "parts of one estimate"
    assert three["found"] > 0
    assert three["surest"]
    details = page.get("/api/classes/3").json()
    assert details["shared"][0]["classes"]
    assert details["confused"]


def test_a_sample_has_neighbors(page, session):
    row = session.question().row
    found = page.get(f"/api/rows/{row}").json()
    assert len(found["neighbors"]) == 8
    assert row not in [cell["row"] for cell in found["neighbors"]]


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        ("/api/answer", {"rows": "all", "kind": "none"}, "no list"),
        ("/api/answer", {"rows": [-1], "kind": "none"}, "no sample"),
        ("/api/answer", {"rows": [1.5], "kind": "none"}, "no sample"),
        ("/api/answer", {"rows": [1], "kind": "class", "class": 99}, "'99' is no answer"),
        ("/api/answer", {"rows": list(range(501)), "kind": "none"}, "1 to 500"),
        ("/api/answer", {"rows": [1], "kind": "none", "source": "elsewhere"}, "no place"),
        ("/api/samples", {"rows": [10**9]}, "no sample"),
        ("/api/take-back", {}, "first model"),
    ],
)
def test_a_wrong_request_is_answered_in_a_sentence(page, session, path, body, said):
    answer = page.post(path, body)
    assert answer.status_code == 400
    assert said in answer.json()["error"]
    assert session.log.last() == 0


# -- nobody else gets in -----------------------------------------------------------------------------------------------

EVERYTHING = ("/", "/static/app.js", "/api/state", "/api/rows", "/api/question", "/picture/0/small", "/api/export/csv")


@pytest.mark.parametrize("path", EVERYTHING)
def test_without_a_token_nothing_is_told(stranger, path):
    page = stranger
    assert page.get(path).status_code == 403
    assert page.get(path, cookie=f"superproto-{page.port}=wrong").status_code == 403
    assert page.get(path, cookie=f"superproto-9={TOKEN}").status_code == 403


def test_a_wrong_token_is_refused(stranger):
    page = stranger
    for query in (
        "token=wrong",
        "token=",
        f"token={TOKEN}&token={TOKEN}",
        "token=%00",
        f"Token={TOKEN}",
        "token=%C3%A4",
    ):
        assert page.get(f"/?{query}").status_code == 403
    assert page.get(f"/api/state?token={TOKEN}").status_code == 403


def test_the_token_becomes_a_cookie_that_scripts_cannot_read(stranger):
    answer = stranger.get(f"/?token={TOKEN}")
    assert answer.status_code == 303
    assert answer.headers["location"] == "/"
    parts = {part.strip() for part in answer.headers["set-cookie"].split(";")}
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= parts


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{}", "127.0.0.1", "127.0.0.1:80", "127.0.0.1.evil.example:{}",
             "localhost:{}.evil.example", "", "[::1]:{}", "0.0.0.0:{}"]
)  # fmt: skip
def test_a_foreign_host_is_refused(page, host):
    host = host.format(page.port)
    assert page.get("/api/state", host=host).status_code == 400
    assert page.get(f"/?token={TOKEN}", host=host).status_code == 400


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://127.0.0.1:{}", "http://127.0.0.1:1", "http://localhost:{}", ""]
)
def test_a_post_from_elsewhere_is_refused(page, session, origin):
    body = {"rows": [1], "kind": "none"}
    assert page.post("/api/answer", body, origin=origin.format(page.port)).status_code == 403
    assert session.log.last() == 0


def test_a_post_without_origin_or_in_a_forms_type_is_refused(page, session):
    assert page.post("/api/answer", {"rows": [1], "kind": "none"}, origin=None).status_code == 403
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        assert page.post("/api/answer", {}, **{"content-type": kind}).status_code == 415
    assert session.log.last() == 0


def test_a_huge_body_is_refused(page):
    assert page.post("/api/answer", {"rows": [1], "kind": "x" * 2**20}).status_code == 413


def test_a_get_changes_nothing(page, session):
    for path in ("/api/answer", "/api/undo", "/api/refit", "/api/take-back", "/api/link-folder"):
        assert page.get(path).status_code == 405
    for method in ("PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"):
        assert page.send(method, "/api/state").status_code == 405
    assert session.log.last() == 0


TRAVERSALS = [
    "/static/../run.db", "/static/..%2frun.db", "/static/..%252frun.db", "/static/%2e%2e/%2e%2e/run.db",
    "/static/..\\run.db", "/static/..%5crun.db", "/static//etc/passwd", "/static/%2fetc%2fpasswd", "//etc/passwd",
    "/etc/passwd", "/static/app.js%00.css", "/picture/../run.db", "/picture/0/..%2f..%2frun.db", "/picture/-1/small",
    "/picture/0/small/../../run.db", "/picture/1e9/small", "/picture/99999999/small", "/picture/0/huge",
    "/api/export/..%2f..%2fetc%2fpasswd", "/api/export/exe", "/static/%c0%ae%c0%ae/run.db", "/%2e%2e/run.db",
    "/static/",
]  # fmt: skip


@pytest.mark.parametrize("path", TRAVERSALS)
def test_traversal_in_any_encoding_finds_nothing(page, path):
    answer = page.get(path)
    assert answer.status_code == 404
    assert b"SQLite" not in answer.content
    assert b"root:" not in answer.content


@pytest.mark.parametrize("path", [*EVERYTHING, "/nothing", "/?token=wrong"])
def test_every_answer_forbids_the_browser_what_does_not_come_from_here(stranger, page, path):
    for client in (page, stranger):
        headers = client.get(path).headers
        assert headers["content-security-policy"] == POLICY
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "server" not in headers
    assert "unsafe" not in POLICY
    assert headers["cache-control"] == "no-store"


def test_the_page_names_no_other_machine():
    from importlib.resources import files

    for item in (files("superproto.explorer") / "static").iterdir():
        text = item.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "http://" not in text, item.name
        assert "https://" not in text, item.name
        assert "innerHTML" not in text, item.name
        assert "eval(" not in text, item.name


def test_the_front_end_stays_small():
    from importlib.resources import files

    texts = [item.read_text(encoding="utf-8") for item in (files("superproto.explorer") / "static").iterdir()]
    assert sum(text.count("\n") + 1 for text in texts) < 1500


# -- pictures ----------------------------------------------------------------------------------------------------------

HOSTILE_NAMES = [
    "<img src=x onerror=alert(1)>.png", "'\"><script>alert(1)<_script>.png", "\u202egnp.exe.png", "a&b;=SUM(1).png",
    "../outside.png", "x" * 200 + ".png", "日本語 🦜.png", "%2e%2e%2fsecret.png", "-rf.png",
]  # fmt: skip


@pytest.fixture
def with_pictures(task, folder, tmp_path):
    """The run with a picture for each of its first samples, under names that are meant to harm; others have none."""
    image = pytest.importorskip("PIL.Image")
    photos = tmp_path / "photos"
    photos.mkdir()
    names = [name if number < len(HOSTILE_NAMES) else f"{number}.png" for number, name in enumerate(
        HOSTILE_NAMES + [""] * (len(task.X) - len(HOSTILE_NAMES)))]  # fmt: skip
    for number in range(20):
        picture = image.fromarray(np.uint8(task.X[number].reshape(8, 8) * 15)).resize((300, 200))
        picture.save(photos / names[number])
    from superproto.explorer.run import RunContent, keep_run, open_run
    from superproto.explorer.session import Session

    content = RunContent("photos", task.X, names, task.y, [str(n) for n in task.class_names], task.semantics,
                         photos=photos)  # fmt: skip
    keep_run(folder, content)
    session = Session(open_run(folder))
    with running(session) as server:
        yield server.entered(), photos
    session.close()


def test_pictures_leave_as_jpeg_that_was_made_anew(with_pictures):
    page, photos = with_pictures
    for size, most in (("small", 192), ("large", 800)):
        answer = page.get(f"/picture/12/{size}")
        assert answer.headers["content-type"] == "image/jpeg"
        assert answer.content[:3] == b"\xff\xd8\xff"
        assert answer.content != (photos / "12.png").read_bytes()
        import io

        from PIL import Image

        assert max(Image.open(io.BytesIO(answer.content)).size) <= most
    assert "immutable" in answer.headers["cache-control"]


def test_names_with_markup_are_texts_and_lead_nowhere(with_pictures):
    page, photos = with_pictures
    shutil.copy(photos / "12.png", photos.parent / "outside.png")
    for row, name in enumerate(HOSTILE_NAMES):
        assert page.get(f"/api/rows/{row}").json()["id"] == name
        assert page.get(f"/picture/{row}/small").status_code == (404 if ".." in name else 200), name


@pytest.mark.parametrize(
    "content", [b"", b"<svg xmlns='http://www.w3.org/2000/svg'/>", b"<html><script>alert(1)", b"\x89PNG"]
)
def test_a_file_that_is_no_picture_is_not_served(with_pictures, content):
    page, photos = with_pictures
    (photos / "12.png").write_bytes(content)
    assert page.get("/picture/12/small").status_code == 404


def test_links_that_leave_the_folder_are_not_followed(with_pictures):
    page, photos = with_pictures
    shutil.move(photos / "12.png", photos.parent / "outside.png")
    (photos / "12.png").symlink_to(photos.parent / "outside.png")
    assert page.get("/picture/12/small").status_code == 404


def test_a_name_of_a_megabyte_is_cut_for_the_page(task, folder):
    from superproto.explorer.run import RunContent, keep_run, open_run
    from superproto.explorer.session import Session

    ids = ["x" * 10**6, *(str(number) for number in range(1, len(task.X)))]
    keep_run(folder, RunContent("long", task.X, ids, task.y, list("0123456789"), task.semantics))
    session = Session(open_run(folder))
    with running(session) as server:
        page = server.entered()
        assert len(page.get("/api/rows/0").content) < 10_000
        assert page.post("/api/answer", {"rows": [0], "kind": "class", "class": 3}).status_code == 200
    assert session.labels()[0] == 3
    session.close()
