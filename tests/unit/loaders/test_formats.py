"""Formats are found by file name, recognised by content, and loaded by one function."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from thinkeval.loaders import formats, graphs
from thinkeval.loaders.errors import (
    LoaderError,
    SchemaError,
    UnknownFormatError,
    UnreadableFileError,
)
from thinkeval.loaders.reading.sources import default_name


def test_a_graph_without_relations_is_refused_with_what_it_lacks(tmp_path: Path) -> None:
    path = tmp_path / "school.yaml"
    text = "facts:\n  Newt Scamander:\n    studied at: [Hogwarts]\n"
    path.write_text(text, encoding="utf-8")
    assert formats.detect(path) == "graph_yaml"
    with pytest.raises(SchemaError, match="relations"):
        formats.load(path)
    path.write_text("facts:\n  are stubborn: [things]\n", encoding="utf-8")  # a subject, "facts"
    assert formats.detect(path) == "triples"


def test_formats_are_the_modules_that_load() -> None:
    found = formats.formats()
    assert {"knowgic", "triples", "graph_yaml"} <= set(found)
    assert all(key == format_.key and format_.summary for key, format_ in found.items())
    assert not {"records", "errors", "sources", "assembly", "formats"} & set(found)
    assert found["knowgic"].options == ("aliases",)
    assert found["triples"].options == ("target_new", "map")


@pytest.mark.parametrize(
    ("relative", "key"),
    [
        ("", "knowgic"),
        ("chains.json", "knowgic"),
        ("chains_grouped_e31626d.json", "knowgic"),
        ("scalability", "triples"),
        ("scalability/kg.yaml", "triples"),
        ("scalability/atomic_samples.csv", "triples"),
        ("qwen_sample", "triples"),
        ("qwen_sample/relations_one_to_one.csv", "triples"),
    ],
)
def test_real_files_are_recognised(data_dir: Path, relative: str, key: str) -> None:
    assert formats.detect(data_dir / "knowgic" / relative) == key


def test_own_graph_is_recognised() -> None:
    loaded = formats.load(graphs.path("hogwarts"))
    assert loaded.report.format == "graph_yaml"
    assert formats.load(graphs.path("hogwarts"), name="h", target_new=None).graph.name == "h"


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("# a note\n---\nAnna:\n  knows:\n  - Ben\n", "triples"),
        ("Anna: {knows: [Ben]}\n", "triples"),
        ("facts:\n  A: {b: [C]}\nrelations:\n  b: {prompt: '{} b'}\n", "graph_yaml"),
    ],
)
def test_yaml_is_recognised(tmp_path: Path, text: str, key: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(text, encoding="utf-8")
    assert formats.detect(path) == key
    assert len(formats.load(path).graph.facts) == 1


def test_broken_file_is_still_recognised_and_then_refused(tmp_path: Path) -> None:
    path = tmp_path / "chains.json"
    path.write_text('[{"case_id": 0, "requested_rewrite": [{}], "chain": {', encoding="utf-8")
    assert formats.detect(path) == "knowgic"
    with pytest.raises(UnreadableFileError, match="cut off"):
        formats.load(path)


def test_unknown(tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text(json.dumps({"a": 1}), encoding="utf-8")
    with pytest.raises(UnknownFormatError, match=r"no format recognises it.*knowgic") as caught:
        formats.load(path)
    assert "--format" in caught.value.remedy
    with pytest.raises(UnknownFormatError) as caught:
        formats.load(path, format="knowgik")
    assert "Did you mean 'knowgic'?" in caught.value.remedy
    with pytest.raises(UnreadableFileError, match=r"did you mean '.*other\.json'"):
        formats.load(tmp_path / "othr.json")
    (tmp_path / "void.json").touch()
    with pytest.raises(UnreadableFileError, match="empty"):
        formats.load(tmp_path / "void.json")


@pytest.mark.parametrize(
    ("file", "text", "name"),
    [
        ("chains.json", '[{"requested_rewrite": [{}], "chain": {', "knowgic"),
        ("kg.yaml", "Anna: {knows: [Ben]}\n", "triples"),
        ("Data.csv", "Entity,Relationship,Attribute\n", "triples"),
        ("my-people.csv", "Entity,Relationship,Attribute\n", "my-people"),
    ],
)
def test_upload_is_not_named_after_its_temporary_folder(
    tmp_path: Path, file: str, text: str, name: str
) -> None:
    for format_ in (None, formats.detect(sent(tmp_path / "a", file, text))):
        path = formats.in_named_folder(sent(tmp_path / str(format_), file, text), format_)
        assert path.read_text(encoding="utf-8") == text
        assert default_name(path) == name


def test_upload_in_an_unknown_format_is_not_moved(tmp_path: Path) -> None:
    path = sent(tmp_path / "a", "data.json", "{}")
    with pytest.raises(UnknownFormatError):
        formats.in_named_folder(path)
    assert formats.in_named_folder(path, "../b") == path
    assert [file.name for file in tmp_path.rglob("*")] == ["a", "data.json"]


def test_name_in_the_file_comes_first(tmp_path: Path) -> None:
    text = "name: us\nrelations: {r: {prompt: '{} is'}}\nfacts: {a: {r: b}}\n"
    path = formats.in_named_folder(sent(tmp_path / "tmp1", "kg.yaml", text))
    assert formats.load(path).graph.name == "us"


def sent(folder: Path, name: str, text: str) -> Path:
    folder.mkdir()
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def test_unknown_option() -> None:
    with pytest.raises(LoaderError, match="no option 'alias'") as caught:
        formats.load("x", format="knowgic", alias="y")
    assert "Did you mean 'aliases'?" in caught.value.remedy
