"""The verb `report`: mistakes are found before any work."""

from __future__ import annotations

import pytest


@pytest.fixture
def model(call, packed, tmp_path):
    path = tmp_path / "small.model"
    assert call("fit", packed, "-o", path, "-m", "eszsl", "--no-rejection")[0] == 0
    return path


def test_a_model_becomes_a_page(call, model, packed, tmp_path):
    code, out, _ = call("report", model, "--pack", packed, "-o", tmp_path / "page.html")
    assert (code, out) == (0, f"Report: {tmp_path / 'page.html'}\n")
    assert "<html" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_closing_lines_name_the_whole_path_and_a_page_is_opened_on_demand(call, model, monkeypatch, tmp_path):
    shown = []
    monkeypatch.setattr("webbrowser.open", lambda address: shown.append(address) or True)
    monkeypatch.chdir(tmp_path)
    assert call("report", model, "-o", "page.html")[1] == f"Report: {tmp_path / 'page.html'}\n"
    assert shown == []
    assert call("report", model, "-o", "page.html", "--open")[0] == 0
    assert shown == [(tmp_path / "page.html").as_uri()]


def test_without_a_browser_the_page_is_named(call, model, monkeypatch, tmp_path):
    monkeypatch.setattr("webbrowser.open", lambda address: False)
    assert "No browser was found" in call("report", model, "-o", tmp_path / "page.html", "--open")[1]


@pytest.mark.parametrize("verb", ["demo", "report", "research leaderboard", "research paper"])
def test_every_verb_with_a_page_can_open_it(call, verb):
    assert "--open" in call(*verb.split(), "--help")[1]


def test_a_missing_folder_is_told_before_the_model_is_read(mistake, tmp_path):
    said = mistake("report", tmp_path / "absent.model", "-o", tmp_path / "none" / "page.html")
    assert "the folder" in said
    assert "does not exist. Create it first." in said


def test_a_report_never_replaces_its_model_or_its_pack(mistake, model, packed):
    before = model.read_bytes()
    assert "would be replaced" in mistake("report", model, "-o", model)
    assert "would be replaced" in mistake("report", model, "--pack", packed, "-o", packed)
    assert model.read_bytes() == before
