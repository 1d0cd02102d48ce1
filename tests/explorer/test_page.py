"""The page in a real browser: a person's walk through it by keyboard and mouse, without one error on the console."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

pytest.importorskip("PIL")
pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("playwright.sync_api", reason="needs playwright (pip install playwright)")

from playwright.sync_api import sync_playwright

from explorer.clients import TOKEN, running
from superproto.datasets import digits
from superproto.explorer.digits_run import UNSEEN_DIGITS, keep_digits_run
from superproto.explorer.run import open_run
from superproto.explorer.session import Session

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
# Where the pictures of the guide are kept: SUPERPROTO_SCREENSHOTS=docs/img
KEPT = os.environ.get("SUPERPROTO_SCREENSHOTS")
pytestmark = [
    pytest.mark.extra,
    pytest.mark.skipif(BROWSER is None, reason="needs Chromium (apt-get install chromium)"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


@pytest.fixture(scope="module")
def digits_run(tmp_path_factory):
    return keep_digits_run(tmp_path_factory.mktemp("demo"), most=None if KEPT else 60)


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=BROWSER, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture
def session(digits_run, tmp_path):
    folder = shutil.copytree(digits_run, tmp_path / "run")
    found = Session(open_run(folder))
    yield found
    found.refitter.wait()
    found.close()


@pytest.fixture
def server(session):
    with running(session) as found:
        yield found


class Visit:
    """A page in the browser, and everything that went wrong in it."""

    def __init__(self, browser, server, **options):
        self.context = browser.new_context(**options)
        self.page, self.wrong = self.context.new_page(), []
        self.home = f"http://127.0.0.1:{server.port}/"
        self.page.set_default_timeout(60_000)
        self.page.on("console", lambda message: self.wrong.append(message.text))
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("request", lambda request: request.url.startswith(self.home) or self.wrong.append(request.url))
        self.page.goto(f"{self.home}?token={TOKEN}")
        self.see(".question")

    def see(self, selector, **options):
        found = self.page.locator(selector, **options)
        found.first.wait_for()
        return found

    def press(self, *keys):
        for key in keys:
            self.page.keyboard.press(key)

    def wide(self):
        return self.page.evaluate("document.documentElement.scrollWidth - window.innerWidth")


@pytest.fixture
def visit(browser, server):
    visits = []

    def open_page(width=1440, height=900, theme="light", **options):
        size = {"width": width, "height": height}
        visits.append(Visit(browser, server, viewport=size, color_scheme=theme, **options))
        return visits[-1]

    yield open_page
    for one in visits:
        one.context.close()
        assert one.wrong == []


def true_name(session, row):
    names = session.run.class_names
    return names[int(digits(UNSEEN_DIGITS).truth[int(session.ids([row])[0][6:10])])]


def answer_by_keyboard(visit, session, count):
    """Enter where the guess is right; else the number of the class, or its name by typing."""
    for _ in range(count):
        shown = visit.see(".question")
        number, row = int(shown.get_attribute("data-number")), int(shown.get_attribute("data-row"))
        name, choices = true_name(session, row), visit.page.locator(".choice .name").all_inner_texts()
        if name == session.run.class_names[session.labels()[row]] and shown.get_attribute("data-kind") != "blind":
            visit.press("Enter")
        elif name in choices:
            visit.press(str(choices.index(name) + 1))
        else:
            visit.press("/")
            visit.page.keyboard.type(name)
            visit.press("Enter")
        visit.see(f".question[data-number='{number + 1}']")


def refit(visit):
    visit.press("r")
    visit.see(".note", has_text="The refit is done")


def test_a_walk_through_the_whole_page(visit, session, tmp_path):
    walk = visit(accept_downloads=True)
    before = (session.labels() == truth_of(session))[session.run.asked].mean()
    answer_by_keyboard(walk, session, 10)
    assert session.n_questions == 10
    refit(walk)
    walk.press("d")
    assert "got another label" in walk.see(".changes h1").inner_text()
    assert walk.page.locator(".group").count() > 0
    assert (session.labels() == truth_of(session))[session.run.asked].mean() > before + 0.2
    walk.press("u")
    walk.see(".note", has_text="Undone")
    assert session.n_questions == 9

    walk.press("g")
    walk.see(".space .tile").nth(1).click()
    row = int(walk.see(".space .tile.current").get_attribute("data-row"))
    walk.see(".sheet")
    walk.press("/")
    walk.page.keyboard.type("nin")
    walk.press("Enter")
    walk.see(f".space .tile[data-row='{row}'] .badge.answered")
    assert session.run.class_names[session.labels()[row]] == "nine"
    walk.press("ArrowDown", "ArrowLeft")
    walk.see(".sheet")

    answered = int((session.answers != -1).sum())
    lasso_everything(walk)
    walk.see(".sheet .tile")
    shown = [int(row) for row in walk.page.locator(".sheet .tile").evaluate_all("all => all.map(e => e.dataset.row)")]
    assert len(shown) == 25, "only what is shown is answered"
    walk.see(".sheet .tile").first.click()
    walk.see(".sheet .tile.out")
    before = session.answers[shown[0]]
    walk.press("1")
    walk.see(".note", has_text="answered. u takes it back")
    assert int((session.answers != -1).sum()) > answered
    assert len(set(session.answers[shown[1:]].tolist())) == 1
    assert session.answers[shown[0]] == before, "it was left out"

    walk.press("g")
    walk.page.get_by_label("State", exact=True).select_option("answered")
    walk.see(".count", has_text=f"{int((session.answers >= 0)[session.run.asked].sum())} pictures")

    walk.press("e")
    with walk.page.expect_download() as download:
        walk.see(".exports a").first.click()
    text = Path(download.value.path()).read_text(encoding="utf-8")
    assert len(text.splitlines()) == 1 + int(session.run.asked.sum())
    walk.press("Escape")

    labels, status = session.labels(), walk.page.locator("#status").inner_text()
    walk.page.reload()
    walk.see(".space .tile")
    assert walk.page.locator("#status").inner_text() == status
    assert (session.labels() == labels).all()


def truth_of(session):
    names = {name: number for number, name in enumerate(session.run.class_names)}
    return [names[true_name(session, row)] for row in range(len(session.run.given))]


def lasso_everything(walk):
    walk.press("m")
    walk.see("canvas[data-kind]")
    box = walk.page.locator("canvas").bounding_box()
    corners = [(0.02, 0.02), (0.5, 0.03), (0.98, 0.02), (0.98, 0.5), (0.98, 0.98), (0.02, 0.98), (0.02, 0.5)]
    walk.press("l")
    for number, (x, y) in enumerate(corners):
        walk.page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"])
        if number == 0:
            walk.page.mouse.down()
    walk.page.mouse.up()


def test_a_refit_can_be_taken_back_on_the_page(visit, session):
    walk = visit()
    answer_by_keyboard(walk, session, 3)
    refit(walk)
    walk.press("d")
    walk.see("button", has_text="Take this refit back").click()
    walk.see(".note", has_text="taken back")
    assert session.record.number == 0


def test_one_key_answers_for_all_pictures_of_a_cluster_that_are_shown(visit, session):
    walk = visit()
    shown = session.question()
    walk.press("a")
    walk.see(".shown.whole")
    walk.press("/")
    walk.page.keyboard.type("nine")
    walk.press("Enter")
    walk.see(".question[data-number='2']")
    nine = session.run.class_names.index("nine")
    assert session.answers[[shown.row, *shown.members]].tolist() == [nine] * 9
    assert session.n_questions == 1, "one answer, one key to undo it"
    walk.press("Shift+Enter")
    walk.see(".question[data-number='3']")
    assert int((session.answers != -1).sum()) == 18


def test_the_keyboard_and_a_screen_reader_know_where_they_are(visit, session):
    walk = visit()
    assert walk.page.locator("nav a[aria-current='page']").inner_text().startswith("Questions")
    walk.see(".choice").nth(1).focus()
    walk.press("Enter")
    walk.see(".question[data-number='2']")
    assert walk.page.evaluate("document.activeElement.tagName") == "H1"
    walk.press("/")
    walk.page.keyboard.type("e")
    assert walk.page.locator("[role=combobox]").get_attribute("aria-activedescendant") == "found-0"
    walk.press("Escape", "r")
    walk.see(".note, #status.running")
    nameless = walk.page.evaluate(
        "[...document.querySelectorAll('button, a, select, input, canvas')].filter(e => !(e.ariaLabel || e.innerText"
        " || e.getAttribute('aria-label'))).length"
    )
    assert nameless == 0


def test_help_lists_the_keys_and_touch_works(visit, session):
    walk = visit(390, 844, has_touch=True)
    walk.page.locator("#help").tap()
    assert "undo, all the way back" in walk.see(".keys").inner_text()
    walk.page.locator("dialog button").last.tap()
    walk.see(".question .choice").first.tap()
    walk.see(".question[data-number='2']")
    assert session.n_questions == 1


def test_the_map_works_without_webgl(visit, session):
    walk = visit()
    walk.page.add_init_script(
        "const own = HTMLCanvasElement.prototype.getContext;"
        "HTMLCanvasElement.prototype.getContext = function (kind, ...more) "
        "{ return kind === 'webgl2' ? null : own.call(this, kind, ...more); };"
    )
    walk.page.reload()
    walk.see(".question")
    walk.press("m")
    walk.see("canvas[data-kind='2d']")
    lasso_everything(walk)
    assert walk.see(".sheet .tile").count() > 0


def test_markup_in_names_is_shown_as_text(visit, session, browser, server):
    session.run.class_names[UNSEEN_DIGITS[2]] = "<img src=x onerror=alert(1)>"
    session.run.class_names[UNSEEN_DIGITS[1]] = "\u202eowt <b>bold</b>"
    walk = visit()
    walk.press("c")
    walk.see(".card")
    assert "<img src=x onerror=alert(1)>" in walk.page.locator(".cards").inner_text()
    assert walk.page.locator(".cards b:text('bold')").count() == 0
    assert walk.page.locator("img[src='x']").count() == 0


def test_a_run_without_pictures_shows_ids_neighbors_and_attributes(browser, opened):
    session = opened()
    with running(session) as server:
        walk = Visit(browser, server, viewport={"width": 1440, "height": 900})
        assert walk.see(".question .no-picture").count() == 9
        assert "Probably has: attribute" in walk.page.locator("figure.large").inner_text()
        walk.press("Enter")
        walk.see(".question[data-number='2']")
        walk.press("g")
        walk.see(".space .tile").first.click()
        assert walk.see(".sheet .others .tile").count() == 8
        assert walk.page.locator("img").count() == 0
        walk.context.close()
    assert walk.wrong == []
    assert session.n_questions == 1


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_every_view_fits_in_light_and_dark_on_a_phone_and_a_desk(visit, session, tmp_path, theme, width):
    walk = visit(width, 844 if width < 500 else 900, theme)
    folder = Path(KEPT or tmp_path)
    for name, ready in VIEWS.items():
        if name == "grid":
            answer_by_keyboard(walk, session, 6)
            refit(walk)
        walk.page.goto(f"{walk.home}#{name}")
        walk.see(ready)
        prepare(walk, name)
        assert walk.wide() <= 0, f"{name} is wider than the window"
        walk.page.screenshot(path=folder / f"explorer-{name}-{theme}-{width}.jpg", type="jpeg", quality=70)


VIEWS = {
    "questions": ".question",
    "grid": ".space .tile",
    "map": "canvas[data-kind]",
    "classes": ".card",
    "changes": ".group",
}


def prepare(walk, name):
    """What a screenshot should show, and nothing that is about to vanish."""
    if name == "grid" and walk.page.viewport_size["width"] > 500:
        walk.see(".space .tile").nth(2).click()
        walk.see(".sheet")
    if name == "classes":
        walk.page.locator("summary").first.click()
        walk.see(".detail")
    if name == "map":
        lasso_everything(walk)
        walk.see(".sheet .tile")
    walk.page.locator(".note").first.wait_for(state="detached")
    walk.page.wait_for_load_state("networkidle")
