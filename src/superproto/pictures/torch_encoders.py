"""LOAD: encoders of the packages open_clip, timm and transformers, which need torch.

These packages download the weights, or find them in their caches.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from superproto.errors import UserError
from superproto.pictures.encoders import PictureEncoder, View, brief
from superproto.samples.chunks import Array

_PACKAGES = {"open_clip": ("open_clip", "open_clip_torch"), "timm": ("timm", "timm"), "hf": ("transformers",) * 2}


def open_torch_encoder(kind: str, name: str) -> PictureEncoder:
    """open_clip:ARCHITECTURE/WEIGHTS, timm:MODEL, or hf:MODEL (a vision model, or one with texts)."""
    module, package = _PACKAGES[kind]
    try:
        importlib.import_module("torch")
        importlib.import_module(module)
    except ImportError:
        raise UserError(
            f"{kind}:{name} needs torch and {package}. Install them with: pip install torch {package}"
        ) from None
    except (OSError, RuntimeError) as error:  # such as a torchvision that was built for another torch
        raise UserError(f"{kind}:{name} needs {package}, which cannot be imported ({brief(error)}).") from None
    try:
        return {"open_clip": _open_clip, "timm": _timm, "hf": _hf}[kind](name)
    except (OSError, RuntimeError, ValueError, KeyError) as error:
        raise UserError(f"{kind}:{name} cannot be opened ({brief(error)}).") from None


class _TorchEncoder:
    """An encoder run by torch. Its input is (x - mean) / deviation, channels first."""

    def __init__(self, name: str, view: View, mean: Sequence[float], deviation: Sequence[float], run: Any) -> None:
        self.name, self.identity, self.view, self._run = name, f"{name} view 1", view, run
        self._shift = 255 * np.asarray(mean, np.float32).reshape(1, 3, 1, 1)
        self._scale = 255 * np.asarray(deviation, np.float32).reshape(1, 3, 1, 1)
        self.n_features = self.embed(np.zeros((1, view.side, view.side, 3), np.uint8)).shape[1]

    def embed(self, views: Array) -> Array:
        """(N, d) float32 features of (N, side, side, 3) bytes."""
        import torch

        x = (views.transpose(0, 3, 1, 2).astype(np.float32) - self._shift) / self._scale
        with torch.no_grad():
            return np.asarray(self._run(torch.from_numpy(x)).float().numpy())


class _TwoSidedEncoder(_TorchEncoder):
    """An encoder that also embeds texts, in the same space as pictures."""

    def __init__(self, *given: Any, read: Any) -> None:
        super().__init__(*given)
        self._read = read

    def embed_texts(self, texts: Sequence[str]) -> Array:
        """(n, d) float32 vectors of texts."""
        import torch

        with torch.no_grad():
            return np.asarray(self._read(list(texts)).float().numpy())


def _open_clip(name: str) -> PictureEncoder:
    import open_clip

    own_weights = name.startswith(("hf-hub:", "local-dir:"))
    architecture, _, pretrained = (name, "", "") if own_weights else name.partition("/")
    if not pretrained and not own_weights:
        raise UserError(
            f"open_clip:{name} has no weights. Give open_clip:{name}/WEIGHTS, such as open_clip:ViT-B-32/openai."
        )
    if os.path.exists(pretrained):
        raise UserError(f"{pretrained} is a file, and a file of weights can run code. Give the name of known weights.")
    model = open_clip.create_model(architecture, pretrained=pretrained or None).eval()
    tokenizer = open_clip.get_tokenizer(architecture)
    side = model.visual.image_size
    view = View(side if isinstance(side, int) else side[0])
    mean = getattr(model.visual, "image_mean", None) or open_clip.OPENAI_DATASET_MEAN
    deviation = getattr(model.visual, "image_std", None) or open_clip.OPENAI_DATASET_STD
    return _TwoSidedEncoder(
        f"open_clip:{name}", view, mean, deviation, model.encode_image,
        read=lambda texts: model.encode_text(tokenizer(texts)),
    )  # fmt: skip


def _timm(name: str) -> PictureEncoder:
    import timm

    model = timm.create_model(name, pretrained=True, num_classes=0).eval()
    config = timm.data.resolve_data_config({}, model=model)
    view = View(config["input_size"][-1], config["crop_pct"])
    return _TorchEncoder(f"timm:{name}", view, config["mean"], config["std"], model)


def _hf(name: str) -> PictureEncoder:
    import transformers

    model = transformers.AutoModel.from_pretrained(name, use_safetensors=True).eval()
    processor = transformers.AutoImageProcessor.from_pretrained(name)
    size = getattr(processor, "crop_size", None) or processor.size
    side = size.get("height") or size.get("shortest_edge") or 224
    given = (f"hf:{name}", View(side), processor.image_mean, processor.image_std)
    if not hasattr(model, "get_image_features"):
        return _TorchEncoder(*given, lambda x: _pooled(model(pixel_values=x)))
    tokenizer = transformers.AutoTokenizer.from_pretrained(name)

    def read(texts: list[str]) -> Any:
        tokens = tokenizer(texts, padding=True, truncation=True, return_tensors="pt")
        return _pooled(model.get_text_features(**tokens))

    return _TwoSidedEncoder(*given, lambda x: _pooled(model.get_image_features(pixel_values=x)), read=read)


def _pooled(output: Any) -> Any:
    """One vector per picture or text. A model returns a tensor of them, or an object that has it."""
    if hasattr(output, "float"):
        return output
    pooled = getattr(output, "pooler_output", None)
    return output.last_hidden_state.mean(1) if pooled is None else pooled.flatten(1)
