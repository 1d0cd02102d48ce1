"""The pictures of a report: sure and uncertain ones of each class; no path leads out, and no file stops the page."""

from __future__ import annotations

import numpy as np
import pytest

from superproto.errors import UserError
from superproto.reporting.sample_pictures import LabeledPictures, show_pictures

pytestmark = pytest.mark.extra


@pytest.fixture
def pool(tmp_path):
    """Twelve pictures of class "a", three of "b"; uncertainty grows with the number."""
    image = pytest.importorskip("PIL.Image", reason="needs Pillow (extra images)")
    label = np.repeat([0, 1], [12, 3])
    paths = [f"{number}.png" for number in range(15)]
    for number, path in enumerate(paths):
        image.new("RGB", (20, 20), (17 * number, 0, 90)).save(tmp_path / path)
    X = np.random.default_rng(0).normal(size=(15, 6)) + 5 * np.eye(6)[label]
    return LabeledPictures(X, label, np.linspace(0, 0.9, 15), paths, ["a", "<b>"], tmp_path)


def test_each_class_shows_its_least_and_its_most_uncertain_pictures(pool):
    found = show_pictures(pool)
    by_name = {entry["name"]: entry for entry in found["classes"]}
    assert list(by_name) == ["<b>", "a"]
    grid = by_name["a"]["grid"]
    assert (
        grid.index("least uncertain") < grid.index("0.png: a") < grid.index("most uncertain") < grid.index("11.png: a")
    )
    assert grid.count("<image") == 12
    assert by_name["<b>"]["count"] == 3
    assert "most uncertain" not in by_name["<b>"]["grid"]
    assert "&lt;b&gt;" in by_name["<b>"]["grid"]
    assert "<b>" not in by_name["<b>"]["grid"]


def test_the_map_has_a_point_for_each_picture_and_every_class_s_name(pool):
    found = show_pictures(pool)
    assert found["on_map"] == 15
    assert found["map"].count("<circle") == 15 + 3
    assert "&lt;b&gt;</text>" in found["map"]


def test_names_are_not_written_over_one_another(pool):
    found = show_pictures(pool._replace(X=np.ones((15, 6))))
    assert found["map"].count('class="place"') == 1
    assert ">a</text>" in found["map"]


def test_a_cluster_says_how_its_members_were_labeled(pool):
    assert "1: 12 a" in show_pictures(pool)["clusters"]


def test_a_file_that_is_gone_costs_only_itself(pool):
    (pool.folder / "0.png").unlink()
    (pool.folder / "1.png").write_text("no picture")
    found = show_pictures(pool)
    grid = next(entry["grid"] for entry in found["classes"] if entry["name"] == "a")
    assert "0.png: a" not in grid.replace("10.png", "")
    assert "2.png: a" in grid


def test_no_file_at_all_is_no_section(pool):
    assert show_pictures(pool._replace(paths=[f"gone-{path}" for path in pool.paths])) is None


@pytest.mark.parametrize("name", ["../secret.png", "/etc/passwd"])
def test_a_path_that_leads_out_of_the_folder_is_refused(pool, name):
    with pytest.raises(UserError, match="is outside"):
        show_pictures(pool._replace(paths=[name, *pool.paths[1:]]))


def test_a_pool_of_one_class_has_pictures_and_no_map(pool):
    found = show_pictures(pool._replace(label=np.zeros(15, int)))
    assert found["map"] is None
    assert found["classes"][0]["count"] == 15
