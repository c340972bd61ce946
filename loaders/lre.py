"""Relations of "Linearity of Relation Decoding" (Hernandez et al., 2024): one JSON per relation.

    {"name": "city in country",
     "prompt_templates": ["{} is part of"], "prompt_templates_zs": ["{} is located in ..."],
     "properties": {"domain_name": "city", "range_name": "country", ...},
     "samples": [{"subject": "New York City", "object": "United States"}, ...]}

A file, or a folder of them. `domain_name` and `range_name` are the kinds of the entities. An entity
with different kinds in different relations gets the most frequent one (a tie goes to the kind that
sorts first), and the report flags it. A template that contains a question
("Who is the CEO of {}? Their name is") gives the question; the others are clozes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

from .assembly import GraphAssembly
from .reading.sources import Place, default_name, read_json
from .records import Fact, LoadedGraph, fill, unique
from .texts import examples, quoted

SUMMARY = "LRE relations: a JSON file (or a folder of them) with prompt templates and samples"
_MARK = '"prompt_templates"'
_GLANCE = 4096


def recognises(path: Path) -> bool:
    """Return True if the path is such a file, or a folder with one."""
    return bool(_files(path))


def load(path: Path | str, *, name: str | None = None) -> LoadedGraph:
    """Read the relations; the first template of a file is the prompt of its facts.

    Raises:
        UnreadableFileError: a file is missing or not JSON.
        SchemaError: a field is missing or wrong; names file, place and problem.
    """
    path = Path(path)
    files = _files(path) or [path]
    assembly = GraphAssembly(name or default_name(path))
    kinds: dict[str, Counter[str]] = defaultdict(Counter)
    assembly.read["relations"] = len(files)
    for file in files:
        _add_relation(file, assembly, kinds)
    assembly.kinds = _settle(kinds, assembly)
    return assembly.finish(str(path), "lre")


def _files(path: Path) -> list[Path]:
    candidates = sorted(path.glob("*.json")) if path.is_dir() else [path]
    return [file for file in candidates if file.suffix == ".json" and _is_lre(file)]


def _is_lre(file: Path) -> bool:
    with file.open(encoding="utf-8", errors="replace") as opened:
        start = opened.read(_GLANCE)
    return start.lstrip().startswith("{") and _MARK in start


def _add_relation(file: Path, assembly: GraphAssembly, kinds: dict[str, Counter[str]]) -> None:
    top = Place(file, "")
    content = top.mapping(read_json(file))
    relation = top.at("name").name(top.field(content, "name"))
    prompts, question = _wording(top, content)
    properties = top.at("properties").mapping(content.get("properties", {}))
    samples = top.at("samples").sequence(top.field(content, "samples"))
    assembly.read["samples"] = assembly.read.get("samples", 0) + len(samples)
    for i, item in enumerate(samples):
        place = top.at(f"samples[{i}]")
        sample = place.mapping(item)
        subject = place.at("subject").name(place.field(sample, "subject"))
        object_ = place.at("object").name(place.field(sample, "object"))
        if assembly.leaves_out(place, subject, object_):
            continue
        asked = () if question is None else (fill(question, subject),)
        assembly.facts.append(Fact(subject, relation, object_, prompts[0], asked, prompts[1:]))
        for entity, field in ((subject, "domain_name"), (object_, "range_name")):
            if field in properties:
                kinds[entity][top.at(f"properties.{field}").name(properties[field])] += 1


def _wording(top: Place, content: dict[str, object]) -> tuple[tuple[str, ...], str | None]:
    """The clozes, and the question if a template contains one."""
    prompts: list[str] = []
    question: str | None = None
    for field in ("prompt_templates", "prompt_templates_zs"):
        listed = top.at(field).sequence(content.get(field, []))
        for i, value in enumerate(listed):
            text = top.at(f"{field}[{i}]").prompt(value)
            before, mark, _ = text.partition("?")
            if not mark:
                prompts.append(text)
            elif question is None and "{}" in before:
                question = before + mark
    if not prompts:
        raise top.at("prompt_templates").error("has no cloze: a template with {} and no question")
    return unique(prompts), question


def _settle(kinds: dict[str, Counter[str]], assembly: GraphAssembly) -> dict[str, str]:
    """Choose one kind per entity."""
    doubtful = sorted(entity for entity, found in kinds.items() if len(found) > 1)
    if doubtful:
        shown = examples(f"{quoted(e)} ({' or '.join(sorted(kinds[e]))})" for e in doubtful)
        assembly.note(
            "flagged",
            f"{len(doubtful)} entities",
            f"have different kinds in different relations; the most frequent is used: {shown}",
        )
    return {e: min(found, key=lambda k: (-found[k], k)) for e, found in kinds.items()}
