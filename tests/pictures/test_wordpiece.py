"""Tokens: equal to those of the reference tokenizer, which wrote the expected numbers down."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from superproto.pictures.wordpiece import tokenize

REFERENCE = json.loads(Path(__file__).with_name("reference_tokens.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("text", REFERENCE, ids=lambda text: ascii(text)[:30])
def test_a_text_has_the_tokens_of_the_reference(text):
    assert tokenize(text) == REFERENCE[text]


def test_a_long_text_is_cut_at_the_length_that_the_model_was_trained_with():
    assert len(tokenize("bird " * 1000)) == 256
