"""LOAD: features from folders of pictures, class vectors from tables of classes (the extra `pictures`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from superproto.pictures.descriptions import describe_classes
    from superproto.pictures.embedding import embed_folder
    from superproto.pictures.labeling import label_folder

_HOMES = {"describe_classes": "descriptions", "embed_folder": "embedding", "label_folder": "labeling"}
__all__ = ["describe_classes", "embed_folder", "label_folder"]


def __getattr__(name: str) -> Any:
    # Decoding processes import this package. They start faster without the other modules.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
