"""Files that no loader may fail on: deep, endless, not printable. Each ends in a LoaderError."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from thinkeval.loaders import counterfact, formats, lre, rules_yaml
from thinkeval.loaders.errors import LoaderError, SchemaError, UnreadableFileError
from thinkeval.loaders.reading import json_stream, sources
from thinkeval.loaders.reading.yaml_bounds import MAX_LEVELS
from thinkeval.loaders.texts import MAX_NAME, MAX_PROMPT

DEEP = 100_000
NESTED: dict[str, Callable[[int], str]] = {
    "open lists": lambda n: "[" * n,
    "lists": lambda n: "[" * n + "]" * n,
    "mappings": lambda n: "{a: " * n,
    "items": lambda n: "- " * n + "a",
    "keys": lambda n: "? " * n + "a",
}
YAML_FILES = {
    "graph": 'relations: {r: {prompt: "{} is"}}\nfacts:\n  ',
    "triples": "Anna:\n  knows:\n    ",
    "rules": "rules:\n  ",
}
LONG = "9" * 5000
REWRITE = {
    "subject": "Colosseum",
    "prompt": "{} is in",
    "relation_id": "P1",
    "target_true": {"str": "Rome"},
    "target_new": {"str": "Oslo"},
}


def write(path: Path, content: object) -> Path:
    text = content if isinstance(content, str) else json.dumps(content)
    path.write_text(text, encoding="utf-8")
    return path


def counterfact_record(**changed: object) -> dict[str, Any]:
    rewrite = REWRITE | changed
    return {"case_id": 1, "requested_rewrite": rewrite, "paraphrase_prompts": []}


def message(call: Callable[[], object]) -> str:
    """Return the message of the LoaderError; it must be printable and short."""
    with pytest.raises(LoaderError) as caught:
        call()
    detail = caught.value.detail
    assert len(detail) < 500
    assert detail.replace("\n", "").isprintable()
    return detail


# --- nesting --------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", NESTED)
@pytest.mark.parametrize("file", YAML_FILES)
def test_deep_yaml_is_refused_and_kills_nothing(tmp_path: Path, file: str, shape: str) -> None:
    path = write(tmp_path / "deep.yaml", YAML_FILES[file] + NESTED[shape](DEEP))
    call = "rules_yaml.load_rules" if file == "rules" else "formats.load"
    code = (
        "import sys; from thinkeval.loaders import formats, rules_yaml\n"
        "from thinkeval.loaders.errors import UnreadableFileError\n"
        f"try: {call}(sys.argv[1])\n"
        "except UnreadableFileError as error: print(error.detail)"
    )
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert f"nested more than {MAX_LEVELS} levels deep" in done.stdout


@pytest.mark.parametrize("shape", [s for s in NESTED if s != "open lists"])
def test_nesting_is_refused_from_one_level_on(tmp_path: Path, shape: str) -> None:
    deepest = NESTED[shape](MAX_LEVELS) + ("}" * MAX_LEVELS if shape == "mappings" else "")
    deeper = NESTED[shape](MAX_LEVELS + 1)
    if shape != "keys":  # A list cannot be a key, at any depth.
        assert sources.read_yaml(write(tmp_path / "a.yaml", deepest)) is not None
    said = message(lambda: sources.read_yaml(write(tmp_path / "b.yaml", deeper)))
    assert "nested more than" in said


def test_nesting_through_aliases_counts(tmp_path: Path) -> None:
    chain = ["a0: &a0 [x]"] + [f"a{i}: &a{i} [*a{i - 1}]" for i in range(1, MAX_LEVELS)]
    path = write(tmp_path / "a.yaml", "\n".join(chain[:-1]))
    assert sources.read_yaml(path)
    assert "line 100" in message(lambda: sources.read_yaml(write(path, "\n".join(chain))))


def test_aliases_cannot_multiply_a_file(tmp_path: Path) -> None:
    tens = ["a0: &a0 [" + ", ".join("x" * 10) + "]"]
    tens += [f"a{i}: &a{i} [" + ", ".join([f"*a{i - 1}"] * 10) + "]" for i in range(1, 9)]
    assert "expand to more than" in message(
        lambda: sources.read_yaml(write(tmp_path / "a.yaml", "\n".join(tens)))
    )
    shared = sources.read_yaml(write(tmp_path / "b.yaml", "a: &a [x]\nb: [*a, *a]\nc: *a"))
    assert shared == {"a": ["x"], "b": [["x"], ["x"]], "c": ["x"]}


# --- numbers --------------------------------------------------------------------------------------

KNOWGIC = '[{"case_id": %s, "requested_rewrite": [{}], "chain": {}}]'
ZSRE = '[{"case_id": %s, "src": "", "alt": "", "answers": [], "rephrase": ""}]'
LRE = '{"prompt_templates": [], "name": %s}'


@pytest.mark.parametrize("text", [KNOWGIC, LRE, ZSRE, json.dumps([counterfact_record(id="%s")])])
def test_endless_number(tmp_path: Path, text: str) -> None:
    path = write(tmp_path / "big.json", text.replace('"%s"', "%s") % LONG)
    assert "number 999999999999…: has 5,000 digits" in message(lambda: formats.load(path))


def test_endless_number_costs_only_its_record(tmp_path: Path) -> None:
    records = [counterfact_record(subject=name) for name in ("Colosseum", "Louvre")]
    text = f'[{json.dumps(records[0])}, {{"a": [{LONG}, {{}}]}}, {json.dumps(records[1])}]'
    loaded = counterfact.load(write(tmp_path / "c.json", text))
    assert [r.subject for r in loaded.graph.rewrites] == ["Colosseum", "Louvre"]
    (note,) = [note for note in loaded.report.notes if note.kind == "refused"]
    assert (note.where, note.reason[:6]) == ("record 1", "number")


def test_endless_number_across_the_window(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_stream, "CHUNK", 64)
    path = write(tmp_path / "c.json", f"[{LONG}, 1, {LONG}]")
    assert [(item.value, item.problem is None) for item in json_stream.items(path)] == [
        (None, False),
        (1, True),
        (None, False),
    ]


# --- names and texts ------------------------------------------------------------------------------

BAD_NAMES = {"Ro\ud800me": "half of a surrogate pair", "Ro\0me": "NUL", "Ro\nme": "U\\+000A"}


@pytest.mark.parametrize("name", [*BAD_NAMES, "a" * 60_000])
@pytest.mark.parametrize("field", ["subject", "relation_id", "target_true", "target_new"])
def test_bad_name_costs_only_its_record(tmp_path: Path, field: str, name: str) -> None:
    value = {"str": name} if field.startswith("target") else name
    records = [counterfact_record(**{field: value}), counterfact_record()]
    loaded = counterfact.load(write(tmp_path / "c.json", records))
    (note,) = [note for note in loaded.report.notes if note.kind == "refused"]
    assert note.where.startswith(f"record 0, requested_rewrite, {field}")
    assert len(note.reason) < 300
    assert len(loaded.graph.rewrites) == 1
    assert "none of the 1 can be used" in message(
        lambda: counterfact.load(write(tmp_path / "d.json", records[:1]))
    )


@pytest.mark.parametrize("name", BAD_NAMES)
def test_bad_name_in_lre(tmp_path: Path, name: str) -> None:
    good = {
        "name": "in",
        "prompt_templates": ["{} is in"],
        "samples": [{"subject": "Colosseum", "object": "Rome"}],
    }
    path = tmp_path / "in.json"
    for bad in (good | {"name": name}, good | {"samples": [{"subject": name, "object": "a"}]}):
        write(path, bad)
        with pytest.raises(SchemaError, match=BAD_NAMES[name]) as caught:
            lre.load(path)
        assert caught.value.where in {"name", "samples[0], subject"}
        assert "remove it" in caught.value.detail


@pytest.mark.parametrize("name", ["Ro\0me", "Ro\x07me", '"Ro\nme"', "a" * 60_000])
@pytest.mark.parametrize("column", ["Entity", "Relationship", "Attribute"])
def test_bad_name_in_a_table(tmp_path: Path, column: str, name: str) -> None:
    row = {"Entity": "Colosseum", "Relationship": "is in", "Attribute": "Rome", column: name}
    path = write(tmp_path / "t.csv", f"{','.join(row)}\n{','.join(row.values())}\n")
    said = message(lambda: formats.load(path))
    line = 3 if "\n" in name else 2
    assert f"t.csv: line {line}, {column}: " in said


@pytest.mark.parametrize(
    ("old", "where"),
    [
        ("Anna:", "facts"),
        ("Ben", "facts"),
        ("in:", "relation"),
        ("Bee", "aliases"),
        ("person", "kind"),
        ("Rome", "target_new"),
        ("small", "name"),
    ],
)
@pytest.mark.parametrize("new", ["a\\0", "a\\x01", "a\\n", "a" * MAX_NAME])
def test_bad_name_in_graph_yaml(tmp_path: Path, old: str, where: str, new: str) -> None:
    text = (
        "name: small\nrelations: {in: {prompt: '{} is in'}}\nfacts: {Anna: {in: Ben}}\n"
        "entities: {Anna: {kind: person, aliases: [Bee]}}\n"
        "rewrites: [{subject: Anna, relation: in, target_new: Rome}]\n"
    )
    path = write(tmp_path / "g.yaml", text)
    assert len(formats.load(path).graph.facts) == 1
    bad = text.replace(old, f'"{old.rstrip(":")}{new} b"' + ":" * old.endswith(":"), 1)
    assert where in message(lambda: formats.load(write(path, bad)))


def test_longest_prompt(tmp_path: Path) -> None:
    """An index of the database takes no longer one."""
    most = MAX_PROMPT - len("{} is in")
    for more, refused in ((most, False), (most + 1, True)):
        prompt = "{} is in" + "é" * more
        text = f"name: a\nrelations: {{in: {{prompt: '{prompt}'}}}}\nfacts: {{Anna: {{in: Ben}}}}\n"
        path = write(tmp_path / "g.yaml", text)
        if not refused:
            (fact,) = formats.load(path).graph.facts
            assert len(fact.prompt) == MAX_PROMPT
            assert len(fact.prompt.encode()) < 32_766
            continue
        said = message(lambda path=path: formats.load(path))
        assert "fact 0" in said
        assert "is too long: 8,001 characters" in said
        assert "shorten it" in said


def test_longest_name(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    write(path, f"Entity,Relationship,Attribute\n{'a' * MAX_NAME},in,{'é' * MAX_NAME}\n")
    assert len(formats.load(path).graph.entities) == 2
    write(path, f"Entity,Relationship,Attribute\n{'a' * (MAX_NAME + 1)},in,b\n")
    assert "at most 1,000 characters" in message(lambda: formats.load(path))


def test_name_that_no_loader_checked(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "Entity,Relationship,Attribute\na,in,b\n")
    assert "name of the data set" in message(lambda: formats.load(path, name="a\0"))


def test_texts_may_have_several_lines(tmp_path: Path) -> None:
    record = counterfact_record(prompt="Q: who?\n\tA: {} is in")
    assert counterfact.load(write(tmp_path / "c.json", [record])).graph.rewrites
    record = counterfact_record(prompt="Q: \x07 {} is in")
    assert "U+0007" in message(lambda: counterfact.load(write(tmp_path / "c.json", [record])))


# --- messages -------------------------------------------------------------------------------------

HUGE = "x" * 70_000


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("many.csv", ",".join(f"c{i}" for i in range(100_000)) + "\n"),
        ("same.csv", ",".join(["c"] * 100_000) + "\n"),
        ("long.csv", f"Entity,Relationship,Attribute,{HUGE},{HUGE}\n"),
        ("a.yaml", f"relations: {{r: {{prompt: {HUGE}}}}}\nfacts: {{a: {{r: b}}}}"),
        ("b.yaml", f"relations: {{r: {{{HUGE}: a}}}}\nfacts: {{a: {{r: b}}}}"),
        ("c.yaml", f"relations: {{}}\nfacts: {{a: {{{HUGE}: b}}}}"),
        ("d.yaml", f"relations: {{}}\n{HUGE}: 1\n{HUGE}: 2\nfacts: {{}}"),
        ("k.json", KNOWGIC.replace("%s", json.dumps(HUGE)).replace("{}", f'{{"{HUGE}": 1}}')),
        ("c.json", json.dumps([counterfact_record(prompt=HUGE)])),
        ("twice.json", f'{{"prompt_templates": [], "{HUGE}": 1, "{HUGE}": 2}}'),
    ],
)
def test_messages_are_short(tmp_path: Path, name: str, text: str) -> None:
    path = write(tmp_path / name, text)
    format_ = "triples" if name.endswith(".csv") else None
    assert f"{name}: " in message(lambda: formats.load(path, format=format_))


def test_notes_are_short_and_printable(tmp_path: Path) -> None:
    aliases = {f"\ud800{HUGE}": {"answer_alias": []}}
    folder = tmp_path / "k"
    folder.mkdir()
    write(folder / "attributes_with_aliases.json", aliases)
    link = {"questions": [HUGE], "answers": ["b"], "prompts": ["{} p"], "subjects": ["a"]}
    rewrite = {"subject": "a", "prompt": "{} p", "target_true": {"str": "b"}}
    record = {
        "requested_rewrite": [rewrite | {"target_new": {"str": "c"}}],
        "chain": link,
        "broader_context": link,
    }
    write(folder / "chains.json", [record])
    assert "half of a surrogate" in message(lambda: formats.load(folder))
    write(folder / "attributes_with_aliases.json", {})
    notes = formats.load(folder).report.notes
    assert notes
    assert all(len(note.reason) < 500 and note.reason.isprintable() for note in notes)


def test_rules_are_checked_too(tmp_path: Path) -> None:
    for atom in (f"a {HUGE} b", '"a b\\0 c"'):
        text = f"rules:\n  - if: [{atom}, b s c]\n    then: a t c\n"
        path = write(tmp_path / "r.yaml", text)
        assert "if[0]" in message(lambda path=path: rules_yaml.load_rules(path))


def test_file_that_is_no_text(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError):
        rules_yaml.load_rules(write(tmp_path / "r.yaml", "facts: \x07"))
