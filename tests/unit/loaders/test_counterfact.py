"""CounterFact files: small ones of our own in exactly that layout, good records and bad."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from thinkeval.loaders import counterfact, formats
from thinkeval.loaders.errors import SchemaError, UnreadableFileError
from thinkeval.loaders.reading import json_stream
from thinkeval.loaders.records import (
    KnowledgeGraph,
    LoadedGraph,
    as_template,
    fill,
    slot_parts,
)

TOWER: dict[str, Any] = {
    "case_id": 0,
    "pararel_idx": 2796,
    "requested_rewrite": {
        "prompt": "{} is located in the city of",
        "relation_id": "P131",
        "target_new": {"str": "Rome", "id": "Q220"},
        "target_true": {"str": "Paris", "id": "Q90"},
        "subject": "Eiffel Tower",
    },
    "paraphrase_prompts": [
        "He was born in 1900. The city of Eiffel Tower is",
        "Eiffel Tower has a twin. One finds Eiffel Tower in",
    ],
    "neighborhood_prompts": ["Louvre is located in", "Where is the Panthéon? It stands in"],
    "attribute_prompts": ["Colosseum is located in"],
    "generation_prompts": ["Eiffel Tower's surroundings are", "To visit Eiffel Tower, go to"],
}
MOTHER_TONGUE: dict[str, Any] = {
    "case_id": 7,
    "requested_rewrite": {
        "prompt": "The mother tongue of {} is",
        "relation_id": "P103",
        "target_new": {"str": "English", "id": "Q1860"},
        "target_true": {"str": "French", "id": "Q150"},
        "subject": "Danielle Darrieux",
    },
    "paraphrase_prompts": ["Nobody was hurt.  v", "Danielle Darrieux, a native"],
    "neighborhood_prompts": ["Georges Pompidou, a native"],
    "attribute_prompts": [],
    "generation_prompts": [],
}


def changed(record: dict[str, Any], **values: Any) -> dict[str, Any]:
    """A copy with other values, in `requested_rewrite` where the key stands there."""
    new = copy.deepcopy(record)
    for key, value in values.items():
        (new["requested_rewrite"] if key in new["requested_rewrite"] else new)[key] = value
    return new


def load(tmp_path: Path, records: Any, **options: Any) -> LoadedGraph:
    path = tmp_path / "counterfact.json"
    path.write_text(json.dumps(records, ensure_ascii=False), encoding="utf-8")
    return formats.load(path, **options)


def refusals(loaded: LoadedGraph) -> dict[str, str]:
    return {n.where: n.reason for n in loaded.report.notes if n.kind == "refused"}


def test_a_record_becomes_a_fact_and_a_request_with_all_its_prompts(tmp_path: Path) -> None:
    loaded = load(tmp_path, [TOWER, MOTHER_TONGUE])
    assert (loaded.report.format, loaded.graph.name) == ("counterfact", "counterfact")
    assert loaded.report.read == {"records": 2}
    assert loaded.report.kept == {"facts": 2, "entities": 6, "rewrites": 2}
    tower = next(r for r in loaded.graph.rewrites if r.subject == "Eiffel Tower")
    assert tower.id == "eiffel-tower--p131--rome"
    assert (tower.relation, tower.target_true, tower.target_new) == ("P131", "Paris", "Rome")
    assert tower.prompt == "{} is located in the city of"
    # The subject's last place is the slot: what stands before is a sentence of other matter.
    assert tower.paraphrases == (
        "He was born in 1900. The city of {} is",
        "Eiffel Tower has a twin. One finds {} in",
    )
    assert tower.neighborhood == tuple(TOWER["neighborhood_prompts"])
    assert tower.neighbors == tuple((p, "Paris") for p in TOWER["neighborhood_prompts"])
    assert tower.generation_prompts == tuple(TOWER["generation_prompts"])
    assert (tower.reference_texts, tower.n_records) == ((), 1)
    fact = next(f for f in loaded.graph.facts if f.subject == "Eiffel Tower")
    assert (fact.relation, fact.object, fact.prompt) == ("P131", "Paris", tower.prompt)
    assert (fact.paraphrases, fact.cases) == (tower.paraphrases, ())


def test_a_paraphrase_without_the_subject_is_kept_for_the_metric_and_found(
    tmp_path: Path,
) -> None:
    loaded = load(tmp_path, [MOTHER_TONGUE])
    assert loaded.graph.rewrites[0].paraphrases == ("Nobody was hurt.  v", "{}, a native")
    assert loaded.graph.facts[0].paraphrases == ("{}, a native",)
    (found,) = loaded.report.findings
    assert (found.code, found.reason) == (
        "subject-not-in-prompt",
        "a paraphrase is 'Nobody was hurt.  v'",
    )
    assert [n for n in loaded.report.notes if n.kind == "flagged"] == []


BAD: list[tuple[Any, str]] = [
    ("not a record", "expected an object"),
    ({"case_id": 3, "paraphrase_prompts": []}, "'requested_rewrite' is missing"),
    (changed(TOWER, prompt="The tower is in"), "needs one {}"),
    (changed(TOWER, prompt=None), "expected text, found null"),
    (changed(TOWER, subject="  "), "is empty"),
    (changed(TOWER, target_new={"id": "Q220"}), "'str' is missing"),
    (changed(TOWER, target_new={"str": "paris", "id": "Q90"}), "are the same"),
    (changed(TOWER, neighborhood_prompts="Louvre is located in"), "expected a list"),
    (changed(TOWER, paraphrase_prompts=["fine", 3]), "expected text, found a number"),
]


@pytest.mark.parametrize(("bad", "reason"), BAD)
def test_a_bad_record_is_refused_with_its_place_and_the_rest_is_read(
    tmp_path: Path, bad: Any, reason: str
) -> None:
    loaded = load(tmp_path, [TOWER, bad, MOTHER_TONGUE])
    assert len(loaded.graph.rewrites) == 2
    assert loaded.report.read["records"] == 3
    (where, told), *rest = refusals(loaded).items()
    assert not rest
    assert where.startswith("record 1")
    assert reason in told


def test_every_refused_record_is_reported(tmp_path: Path) -> None:
    loaded = load(tmp_path, [MOTHER_TONGUE, *(bad for bad, _ in BAD)])
    assert len(refusals(loaded)) == len(BAD)
    with pytest.raises(SchemaError, match=r"none of the 9 can be used: record 0"):
        load(tmp_path, [bad for bad, _ in BAD], format="counterfact")


def test_a_key_that_stands_twice_is_refused_and_not_half_read(tmp_path: Path) -> None:
    path = tmp_path / "counterfact.json"
    twice = json.dumps(TOWER)[:-1] + ', "case_id": 1}'
    path.write_text(f"[{twice}, {json.dumps(MOTHER_TONGUE)}]", encoding="utf-8")
    loaded = formats.load(path)
    assert refusals(loaded) == {"record 0": "key 'case_id': occurs twice in one object"}
    assert [r.subject for r in loaded.graph.rewrites] == ["Danielle Darrieux"]


def test_records_that_ask_for_one_edit_keep_apart_unless_they_are_equal(tmp_path: Path) -> None:
    other = changed(TOWER, case_id=5, neighborhood_prompts=["Orly is near"])
    again = changed(TOWER, case_id=6)
    rewrites = load(tmp_path, [TOWER, other, again]).graph.rewrites
    found = {r.id: (r.n_records, r.neighborhood) for r in rewrites}
    assert found == {
        "eiffel-tower--p131--rome": (2, tuple(TOWER["neighborhood_prompts"])),
        "eiffel-tower--p131--rome--case-5": (1, ("Orly is near",)),
    }
    thrice = [changed(TOWER, case_id=5, generation_prompts=[f"{i}"]) for i in range(3)]
    assert len({r.id for r in load(tmp_path, thrice).graph.rewrites}) == 3


def test_the_limit_reads_no_further(tmp_path: Path) -> None:
    path = tmp_path / "counterfact.json"
    whole = json.dumps([TOWER, MOTHER_TONGUE])
    path.write_text(whole[: whole.index('"case_id": 7')], encoding="utf-8")
    loaded = formats.load(path, limit=1)
    assert loaded.report.read["records"] == 1
    with pytest.raises(UnreadableFileError, match=r"record 1: the file seems cut off"):
        formats.load(path)


def test_the_digest_is_that_of_what_is_said(tmp_path: Path) -> None:
    one = load(tmp_path, [TOWER, MOTHER_TONGUE]).graph
    assert load(tmp_path, [MOTHER_TONGUE, TOWER]).graph.content_digest == one.content_digest
    other = load(tmp_path, [changed(TOWER, neighborhood_prompts=[]), MOTHER_TONGUE]).graph
    assert other.content_digest != one.content_digest


def snippets(tmp_path: Path, samples: list[dict[str, Any]]) -> Path:
    path = tmp_path / "attribute_snippets.json"
    elsewhere = {"relation_id": "P1", "target_id": "Q1", "samples": [{"name": "x", "text": "no"}]}
    here = {"relation_id": "P131", "target_id": "Q220", "samples": samples}
    path.write_text(json.dumps([elsewhere, here]), encoding="utf-8")
    return path


def references(graph: KnowledgeGraph) -> tuple[str, ...]:
    return next(r.reference_texts for r in graph.rewrites if r.subject == "Eiffel Tower")


def test_reference_texts_are_those_of_other_subjects_with_the_new_object(tmp_path: Path) -> None:
    file = snippets(
        tmp_path,
        [
            {"name": "Colosseum", "text": "The Colosseum stands in Rome."},
            {"name": "Eiffel Tower", "text": "Not this one."},
            {"name": "Pantheon", "text": "A temple in Rome."},
        ],
    )
    loaded = load(tmp_path, [TOWER, MOTHER_TONGUE], snippets=file)
    assert references(loaded.graph) == ("The Colosseum stands in Rome.", "A temple in Rome.")
    flagged = {n.where for n in loaded.report.notes if n.kind == "flagged"}
    assert "1 rewrites" in flagged, "the other rewrite has none"


def test_at_most_ten_reference_texts_are_kept_and_the_report_says_so(tmp_path: Path) -> None:
    many = [{"name": f"s{i}", "text": f"text {i}"} for i in range(14)]
    loaded = load(tmp_path, [TOWER], snippets=snippets(tmp_path, many))
    assert references(loaded.graph) == tuple(f"text {i}" for i in range(10))
    assert [n.where for n in loaded.report.notes] == ["3 reference texts"]


def test_it_is_told_from_the_other_formats(tmp_path: Path) -> None:
    path = tmp_path / "multi_counterfact.json"
    path.write_text(json.dumps([TOWER]), encoding="utf-8")
    assert formats.detect(path) == "counterfact"
    assert formats.formats()["counterfact"].options == ("limit", "snippets")
    assert not counterfact.recognises(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("  \n", "the file is empty"),
        ("[1, 2", "record 2: the file seems cut off"),
        ("[1, {", "record 1: the file seems cut off"),
        ("[1 2]", "record 1: not valid JSON"),
        ("[1, nul]", "record 1: not valid JSON"),
        ("[1,]", "record 1: not valid JSON"),
    ],
)
def test_broken_lists_are_errors(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UnreadableFileError, match=message):
        list(json_stream.items(path))


def test_other_files_than_lists_of_text_are_errors(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('"a"', encoding="utf-8")
    with pytest.raises(SchemaError, match="expected a list of records"):
        list(json_stream.items(path))
    path.write_bytes(b'["\xff"]')
    with pytest.raises(UnreadableFileError, match="not UTF-8"):
        list(json_stream.items(path))
    with pytest.raises(UnreadableFileError, match="No such file"):
        list(json_stream.items(tmp_path / "none.json"))


@pytest.mark.parametrize("chunk", [1, 2, 7, 64, 10_000])
def test_the_window_cuts_no_item(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    values = [TOWER, 12345, "Panthéon \\", [], -1.5e3, None, {"a": [{}]}, True]
    path = tmp_path / "x.json"
    path.write_text(json.dumps(values, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    monkeypatch.setattr(json_stream, "CHUNK", chunk)
    found = list(json_stream.items(path))
    assert [item.value for item in found] == values
    assert [item.index for item in found] == list(range(len(values)))
    assert [item.value for item in json_stream.items(path, 2)] == values[:2]
    path.write_text("[]", encoding="utf-8")
    assert list(json_stream.items(path)) == []


def test_braces_in_a_complete_text_are_text(tmp_path: Path) -> None:
    """A text is asked as the file has it, whether its braces are in the subject or beside it."""
    texts = (
        "Nobody knows. set {} of all is taught in",
        "An empty dict is {}. One learns of set {} of all in",
        "An empty dict is {}. It is taught in",
        r"LaTeX writes \{} and {{}}; set {} of all is taught in",
        r"\set {} of all is taught in",
    )
    record = changed(TOWER, subject="set {} of all", paraphrase_prompts=list(texts))
    (rewrite,) = load(tmp_path, [record]).graph.rewrites
    assert tuple(fill(text, rewrite.subject) for text in rewrite.paraphrases) == texts
    (fact,) = load(tmp_path, [record]).graph.facts
    assert [text.replace("{}", fact.subject) for text in fact.paraphrases] == [texts[0]]


@pytest.mark.parametrize("subject", ["Ann", "{}", "a {} b", "\\", "\\{}"])
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("text", ["Ann has {}", "{} and {}", "\\Ann and a {} b, Ann", "\\\\{} {}"])
def test_a_template_of_a_complete_text_gives_it_again(text: str, subject: str, last: bool) -> None:
    template = as_template(text, subject, last=last)
    assert fill(template, subject) == text
    assert len(slot_parts(template)) <= 2
