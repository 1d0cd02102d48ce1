"""Encoders of packages that the user has, with stand-ins for these packages: pictures, and texts in their space."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from superproto.errors import UserError
from superproto.pictures.descriptions import describe_classes
from superproto.pictures.encoders import View, open_encoder

torch = pytest.importorskip("torch", reason="needs torch")
pytestmark = pytest.mark.extra
COLORS = {"red": 0, "green": 1, "blue": 2}


def read_colors(texts):
    """(n, 3) which color a text names: what a text side in the space of mean colors would say."""
    return torch.tensor([[float(color in text) for color in COLORS] for text in texts])


class Network(torch.nn.Module):
    """Mean color of each picture, scaled back from the usual normalization; notes whether it was put into eval mode."""

    def __init__(self, mean=(0.5,) * 3, deviation=(0.25,) * 3):
        super().__init__()
        self.mean, self.deviation = torch.tensor(mean), torch.tensor(deviation)

    def means(self, x):
        assert not self.training
        assert not torch.is_grad_enabled()
        return x.mean((2, 3)) * self.deviation + self.mean

    def forward(self, x=None, pixel_values=None):
        return self.means(x)


def module(name, **contents):
    found = ModuleType(name)
    found.__dict__.update(contents)
    return found


@pytest.fixture
def open_clip(monkeypatch):
    """open_clip with one architecture of 24 pixels."""

    class Clip(Network):
        visual = SimpleNamespace(image_size=(24, 24), image_mean=(0.5,) * 3, image_std=(0.25,) * 3)

        def encode_image(self, x):
            assert x.shape[1:] == (3, 24, 24)
            return self.means(x).half()

        def encode_text(self, tokens):
            return read_colors(tokens)

    def create_model(architecture, pretrained=None):
        if architecture != "tiny":
            raise RuntimeError(f"Model config for {architecture} not found.\nAvailable: many")
        asked.append((architecture, pretrained))
        return Clip()

    asked = []
    fake = module("open_clip", create_model=create_model, get_tokenizer=lambda name: list, asked=asked)
    monkeypatch.setitem(sys.modules, "open_clip", fake)
    return fake


@pytest.fixture
def timm(monkeypatch):
    def create_model(name, pretrained, num_classes):
        assert (pretrained, num_classes) == (True, 0)
        return Network()

    config = {"input_size": (3, 20, 20), "crop_pct": 0.9, "mean": (0.5,) * 3, "std": (0.25,) * 3}
    data = SimpleNamespace(resolve_data_config=lambda given, model: config)
    monkeypatch.setitem(sys.modules, "timm", module("timm", create_model=create_model, data=data))


@pytest.fixture
def transformers(monkeypatch):
    """Models by name: "clip" has two sides, "vit" a pooled output, "dino" tokens only."""

    class TwoSides(Network):
        def get_image_features(self, pixel_values):
            return self.means(pixel_values)

        def get_text_features(self, input_ids, attention_mask):
            return read_colors(input_ids)

    class Pooled(Network):
        def forward(self, pixel_values):
            return SimpleNamespace(pooler_output=self.means(pixel_values), last_hidden_state=None)

    class Tokens(Network):
        def forward(self, pixel_values):
            tokens = torch.stack([self.means(pixel_values) - 1, self.means(pixel_values) + 1], dim=1)
            return SimpleNamespace(pooler_output=None, last_hidden_state=tokens)

    class BaseOutput(Network):
        """Newer versions answer with an object where older ones answered with a tensor."""

        def get_image_features(self, pixel_values):
            return SimpleNamespace(pooler_output=self.means(pixel_values))

        def get_text_features(self, input_ids, attention_mask):
            return SimpleNamespace(pooler_output=read_colors(input_ids))

    models = {"clip": TwoSides, "vit": Pooled, "dino": Tokens, "clip5": BaseOutput}

    def from_pretrained(name, use_safetensors):
        assert use_safetensors
        if name not in models:
            raise OSError(f"{name} is not a local folder and is not a valid model identifier")
        return models[name]()

    processor = SimpleNamespace(size={"shortest_edge": 16}, image_mean=[0.5] * 3, image_std=[0.25] * 3)
    tokenizer = lambda texts, **options: {"input_ids": texts, "attention_mask": None}  # noqa: E731
    fake = module(
        "transformers",
        AutoModel=SimpleNamespace(from_pretrained=from_pretrained),
        AutoImageProcessor=SimpleNamespace(from_pretrained=lambda name: processor),
        AutoTokenizer=SimpleNamespace(from_pretrained=lambda name: tokenizer),
    )
    monkeypatch.setitem(sys.modules, "transformers", fake)


def views(side):
    """One picture of each color, in bytes."""
    found = np.zeros((3, side, side, 3), np.uint8)
    for number in range(3):
        found[number, ..., number] = 255
    return found


def check_pictures(encoder, side):
    assert encoder.view.side == side
    assert encoder.n_features == 3
    features = encoder.embed(views(side))
    assert features.dtype == np.float32
    assert np.abs(features - np.eye(3)).max() < 1e-2


def check_both_sides(encoder, side):
    """The text about a color is nearest to the picture of that color."""
    check_pictures(encoder, side)
    texts = encoder.embed_texts([f"a {color} bird" for color in COLORS])
    assert texts.dtype == np.float32
    assert (texts @ encoder.embed(views(side)).T).argmax(axis=1).tolist() == [0, 1, 2]


def test_open_clip_has_pictures_and_texts_in_one_space(open_clip):
    encoder = open_encoder("open_clip:tiny/laion")
    check_both_sides(encoder, 24)
    assert open_clip.asked == [("tiny", "laion")]
    assert encoder.identity.startswith("open_clip:tiny/laion")


def test_a_file_of_weights_is_refused_because_it_can_run_code(open_clip, tmp_path):
    (tmp_path / "weights.pt").write_bytes(b"x")
    with pytest.raises(UserError, match=r"a file of weights can run code\. Give the name of known weights"):
        open_encoder(f"open_clip:tiny/{tmp_path / 'weights.pt'}")
    assert open_clip.asked == []


def test_weights_of_open_clip_must_be_named_and_may_be_the_user_s_own(open_clip):
    with pytest.raises(UserError, match="open_clip:tiny has no weights"):
        open_encoder("open_clip:tiny")
    open_clip.create_model = lambda architecture, pretrained=None: open_clip.asked.append((architecture, pretrained))
    with pytest.raises(AttributeError):
        open_encoder("open_clip:hf-hub:org/model")
    assert open_clip.asked == [("hf-hub:org/model", None)]


def test_a_package_that_is_broken_is_one_line(monkeypatch):
    def broken(name):
        raise RuntimeError("operator torchvision::nms does not exist")

    monkeypatch.setattr("superproto.pictures.torch_encoders.importlib.import_module", broken)
    with pytest.raises(UserError, match=r"which cannot be imported \(operator torchvision::nms"):
        open_encoder("timm:resnet")


def test_timm_has_pictures(timm):
    encoder = open_encoder("timm:resnet")
    check_pictures(encoder, 20)
    assert encoder.view == View(20, 0.9)
    assert not hasattr(encoder, "embed_texts")


@pytest.mark.parametrize("name", ["clip", "clip5"])
def test_hf_has_both_sides_of_a_model_that_has_both(transformers, name):
    check_both_sides(open_encoder(f"hf:{name}"), 16)


@pytest.mark.parametrize("name", ["vit", "dino"])
def test_hf_has_pictures_of_a_vision_model(transformers, name):
    encoder = open_encoder(f"hf:{name}")
    check_pictures(encoder, 16)
    assert not hasattr(encoder, "embed_texts")


@pytest.mark.parametrize("name", ["open_clip:none/x", "hf:none"])
def test_a_model_that_is_not_there_is_one_line(open_clip, transformers, name):
    with pytest.raises(UserError, match=rf"{name} cannot be opened \(") as caught:
        open_encoder(name)
    assert "\n" not in str(caught.value)


PACKAGES = {"open_clip": "open_clip_torch", "timm": "timm", "transformers": "transformers"}


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_that_is_missing_is_named(monkeypatch, name):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UserError, match=f"pip install torch {PACKAGES[name]}"):
        open_encoder(f"{'hf' if name == 'transformers' else name}:a")


def test_words_about_classes_are_read_by_the_encoder_s_own_text_side(open_clip, tmp_path):
    (tmp_path / "classes.csv").write_text("name,description\ncardinal,a red bird\njay,a blue bird\n")
    described = describe_classes(tmp_path / "classes.csv", encoder=open_encoder("open_clip:tiny/laion"))
    assert described.semantics.tolist() == [[1, 0, 0], [0, 0, 1]]


def test_no_class_needs_an_example_where_texts_and_pictures_share_a_space(open_clip, tmp_path):
    pillow = pytest.importorskip("PIL.Image")
    from superproto.pictures import label_folder

    generator = np.random.default_rng(0)
    (tmp_path / "photos").mkdir()
    for color, channel in COLORS.items():
        for number in range(8):
            pixels = generator.integers(0, 60, (30, 30, 3), dtype=np.uint8)
            pixels[..., channel] += 180
            pillow.fromarray(pixels).save(tmp_path / "photos" / f"{color}_{number}.png")
    lines = [f"{color} bird,a {color} bird" for color in COLORS]
    (tmp_path / "classes.csv").write_text("name,description\n" + "\n".join(lines))
    task, model = label_folder(tmp_path / "photos", tmp_path / "classes.csv", encoder="open_clip:tiny/laion")
    assert not task.seen.any()
    assert model.transduction_.tolist() == [f"{path.split('_')[0]} bird" for path in task.embedded.ids]
