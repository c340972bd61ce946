"""The LRE relations: facts, kinds, questions, and files that are not right."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from thinkeval.loaders import formats
from thinkeval.loaders.errors import SchemaError

CITY: dict[str, Any] = {
    "name": "city in country",
    "prompt_templates": ["{} is part of", "{} is in the country of"],
    "prompt_templates_zs": ["Which country is {} in? It is in", "{} is part of"],
    "properties": {"domain_name": "city", "range_name": "country", "symmetric": False},
    "samples": [{"subject": "Lyon", "object": "France"}, {"subject": "Andorra", "object": "Spain"}],
}
LANDMARK: dict[str, Any] = {
    "name": "landmark in country",
    "prompt_templates": ["{} stands in"],
    "properties": {"domain_name": "landmark", "range_name": "country"},
    "samples": [{"subject": "The Alhambra", "object": "Spain"}] * 2
    + [{"subject": "A hut", "object": "Andorra"}],
}


def write(folder: Path, *relations: dict[str, Any]) -> Path:
    for i, relation in enumerate(relations):
        (folder / f"r{i}.json").write_text(json.dumps(relation), encoding="utf-8")
    return folder


def test_a_folder_is_recognised_and_read(tmp_path: Path) -> None:
    (tmp_path / "README").write_text("what it is", encoding="utf-8")
    path = write(tmp_path, CITY, LANDMARK)
    assert formats.detect(path) == formats.detect(path / "r0.json") == "lre"
    loaded = formats.load(path, name="lre")
    facts = {(f.subject, f.object): f for f in loaded.graph.facts}
    lyon = facts["Lyon", "France"]
    assert lyon.relation == "city in country"
    assert lyon.prompt == "{} is part of"
    assert lyon.paraphrases == ("{} is in the country of",)
    assert lyon.questions == ("Which country is Lyon in?",)
    assert len(facts) == 4
    assert loaded.report.read == {"relations": 2, "samples": 5}


def test_an_entity_of_two_kinds_gets_one_and_the_report_says_so(tmp_path: Path) -> None:
    loaded = formats.load(write(tmp_path, CITY, LANDMARK), name="lre")
    kinds = {e.name: e.kind for e in loaded.graph.entities}
    assert kinds["Andorra"] == "city"  # one fact each: the kind that sorts first
    assert (kinds["Spain"], kinds["The Alhambra"]) == ("country", "landmark")
    assert any("'Andorra' (city or country)" in note.reason for note in loaded.report.notes)


def test_what_is_wrong_is_named(tmp_path: Path) -> None:
    broken = CITY | {"samples": [{"subject": "Lyon"}]}
    with pytest.raises(SchemaError, match=r"r0.json: samples\[0\]: the field 'object' is missing"):
        formats.load(write(tmp_path, broken))
    asking = CITY | {"prompt_templates": ["Where is {}? It is in"], "prompt_templates_zs": []}
    with pytest.raises(SchemaError, match="has no cloze"):
        formats.load(write(tmp_path, asking))


def test_the_real_relations(data_dir: Path) -> None:
    loaded = formats.load(data_dir / "lre_relations")
    assert loaded.report.read == {"relations": 26, "samples": 9696}
    assert loaded.report.kept == {"facts": 9656, "entities": 11359, "rewrites": 0}
    assert all(entity.kind for entity in loaded.graph.entities)
