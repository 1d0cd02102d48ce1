"""What `label` leaves in the folder of its run is what the page opens."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

pytest.importorskip("PIL")

from superproto.explorer.run import keep_picture_run, open_run
from superproto.explorer.session import Session
from superproto.explorer.thumbnails import Thumbnails
from superproto.hpl.estimator import HPL
from superproto.pictures.descriptions import DescribedClasses
from superproto.pictures.embedding import embed_folder
from superproto.pictures.encoders import View
from superproto.pictures.labeling import PictureTask, fit_picture_task

pytestmark = [pytest.mark.extra, pytest.mark.filterwarnings("ignore::UserWarning")]
NAMES = ("red", "green", "blue", "gray", "white", "cyan")
COLORS = ((220, 30, 30), (30, 200, 40), (30, 40, 220), (120, 120, 120), (240, 240, 240), (20, 210, 220))


class Cells:
    """An encoder that needs no network: mean colors of a grid of cells."""

    name = identity = "means of 4 x 4 cells"
    n_features = 48
    view = View(32)

    def embed(self, views):
        return views.reshape(-1, 4, 8, 4, 8, 3).mean(axis=(2, 4)).reshape(len(views), -1).astype(np.float32)


@pytest.fixture
def photos(tmp_path):
    """Four sorted colors, two that have no example."""
    from PIL import Image

    generator = np.random.default_rng(0)
    for name, color in zip(NAMES, COLORS):
        for number in range(8):
            place = tmp_path / "photos" / (name if name in NAMES[:4] else "unsorted")
            place.mkdir(parents=True, exist_ok=True)
            pixels = np.clip(np.array(color) + generator.normal(0, 12, (64, 48, 3)), 0, 255)
            Image.fromarray(pixels.astype(np.uint8)).save(place / f"{name}-{number}.jpg", quality=92)
    return tmp_path / "photos"


def label(photos) -> HPL:
    embedded = embed_folder(photos, encoder=Cells(), n_processes=1)
    classes = DescribedClasses(np.array(NAMES), np.array(COLORS) / 255, np.array(["r", "g", "b"]), "attributes", [])
    numbers = {name: number for number, name in enumerate(NAMES)}
    labels = np.array([numbers.get(name.split("/")[0], -1) for name in embedded.ids])
    task = PictureTask(photos, embedded, classes, labels, np.zeros(len(labels), bool), "new", [])
    run = photos / ".superproto"
    fit_picture_task(task).save(run / "model.safetensors")
    keep_picture_run(run, task)


def test_the_page_opens_on_the_folder_of_pictures_and_answers_outlive_renamed_files(photos):
    label(photos)
    session = Session(open_run(photos))
    row = session.question().row
    name = session.ids([row])[0]
    assert name.startswith("unsorted/")
    session.answer([row], "class", "gray")
    assert Thumbnails(session).jpeg(row, "small")[:3] == b"\xff\xd8\xff"
    session.close()

    (photos / "moved").mkdir()
    shutil.move(photos / name, photos / "moved" / "other name.jpg")
    label(photos)
    session = Session(open_run(photos / ".superproto"))
    moved = next(r for r in range(len(session.run.given)) if session.ids([r])[0] == "moved/other name.jpg")
    assert session.run.class_names[session.labels()[moved]] == "gray"
    assert (session.answers != -1).sum() == 1
    session.close()


def test_a_file_that_was_replaced_is_not_shown(photos):
    from superproto.pictures.images import Unusable

    label(photos)
    session = Session(open_run(photos))
    shutil.copy(photos / session.ids([0])[0], photos / session.ids([9])[0])
    with pytest.raises(Unusable, match="has changed"):
        Thumbnails(session).jpeg(9, "small")
    session.close()
