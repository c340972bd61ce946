"""Uploads of data sets: one file, several, a folder, a zip; preview and import."""

from __future__ import annotations

import io
import random
import re
import stat
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import UploadFile
from fastapi.testclient import TestClient

from support.own_graphs import own_graphs
from thinkeval.cypher.run import Database
from thinkeval.loaders.errors import LoaderError
from thinkeval.service.base.errors import UsageError
from thinkeval.service.graphs import uploads
from thinkeval.service.web import graphs

YAML = b"""relations: {studied_at: {prompt: "{} studied at"}, friends_with: {prompt: "{} knows"}}
facts: {Harry: {friends_with: Ron}, Ron: {studied_at: Hogwarts}}
rewrites: [{subject: Harry, relation: studied_at, target_true: Hogwarts, target_new: Ilvermorny}]
"""
CSV = b"Entity,Relationship,Attribute\nAnn,works at,Acme\nAnn,works at,Acme\nBob,knows,Ann\n"


@pytest.fixture(scope="module")
def prefix(db: Database) -> Iterator[str]:
    with own_graphs(db) as name:
        yield name


def zipped(files: dict[str, bytes], link: str = "") -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
        if link:
            info = zipfile.ZipInfo(link)
            info.external_attr = (stat.S_IFLNK | 0o777) << 16
            archive.writestr(info, "/etc/passwd")
    return out.getvalue()


def sent(client: TestClient, files: dict[str, bytes], to: str = "/preview", **data: Any) -> Any:
    parts = [("file", (name, content)) for name, content in files.items()]
    return client.post(f"/v1/graphs{to}", files=parts, data=data)


def test_a_preview_says_what_an_import_would_do_and_stores_nothing(
    client: TestClient, prefix: str
) -> None:
    name = f"{prefix}-preview"
    found = sent(client, {"own.csv": CSV}, name=name).json()
    assert (found["name"], found["format"], found["stored"]) == (name, "triples", None)
    assert (found["n_facts"], found["n_entities"], found["n_rewrites"]) == (2, 3, 0)
    assert found["counts"] == {"repaired": 2, "merged": 1}
    assert found["notes"][0]["where"]
    assert found["facts"][0]["object"] == "Acme"
    assert client.get(f"/v1/graphs/{name}").status_code == 404
    assert sent(client, {"own.csv": CSV}, "", name=name).status_code == 201
    assert sent(client, {"own.csv": CSV}, name=name).json()["stored"] == "same"
    assert sent(client, {"own.yaml": YAML}, name=name).json()["stored"] == "other"


def test_a_preview_names_the_columns_and_map_gives_them(client: TestClient, prefix: str) -> None:
    table = "Name;What;Where\nAnn;works at;Zürich\n".encode("cp1252")
    refused = sent(client, {"own.csv": table})
    assert refused.status_code == 422
    assert "its columns are Name, What, Where" in refused.json()["detail"]
    assert "--map" in refused.json()["remedy"]
    given: dict[str, Any] = {"map": ["Name=subject", "What=relation", "Where=object"]}
    found = sent(client, {"own.csv": table}, **given).json()
    (layout,) = found["layouts"]
    assert layout.startswith("own.csv: semicolons, Windows-1252; subject is 'Name', relation is")
    assert "guess: check 'Zürich'" in found["notes"][0]["reason"]
    stored = sent(client, {"own.csv": table}, "", name=f"{prefix}-map", **given)
    assert (stored.status_code, stored.json()["n_facts"]) == (201, 1)


def test_a_spreadsheet_is_no_archive_of_a_data_set(client: TestClient) -> None:
    answer = sent(client, {"own.xlsx": zipped({"xl/workbook.xml": b"<x/>"})})
    assert answer.status_code == 422
    assert "own.xlsx: a spreadsheet's own format is not read" in answer.json()["detail"]
    assert "Save the sheet as CSV" in answer.json()["remedy"]


@pytest.mark.parametrize(
    ("files", "name"),
    [
        ({"own.yaml": YAML}, "own"),
        ({"school.zip": zipped({"kg.yaml": YAML})}, "school"),
        ({"school.zip": zipped({"school/kg.yaml": YAML, "__MACOSX/._kg.yaml": b"x"})}, "school"),
        ({"school/kg.yaml": YAML, "school/readme.txt": b"see there"}, "school"),
        ({"kg.yaml": YAML, "readme.txt": b"see there"}, "graph-yaml"),
    ],
)
def test_one_file_several_a_folder_and_a_zip_are_the_same_data_set(
    client: TestClient, files: dict[str, bytes], name: str
) -> None:
    found = sent(client, files).json()
    assert found["n_facts"] == 2, found
    assert found["rewrites"] == ["Harry studied at: Hogwarts → Ilvermorny"]
    assert found["name"] == name


def test_files_that_belong_together_are_read_together(client: TestClient, prefix: str) -> None:
    """Triples in a table, and the rewrite requests on them in a file beside it."""
    rewrites = b"- {subject: Bob, relation: knows, target_true: Ann, target_new: Cy}\n"
    files = {"work/facts.csv": CSV, "work/rewrites.yaml": rewrites}
    found = sent(client, files).json()
    assert (found["n_facts"], found["n_rewrites"]) == (2, 1), found
    assert found["files"] == ["work/facts.csv", "work/rewrites.yaml"]
    done = sent(client, files, "", name=f"{prefix}-work")
    assert (done.status_code, done.json()["graph"]) == (201, f"{prefix}-work")


@pytest.mark.parametrize(
    ("files", "status", "refusal"),
    [
        ({"x.zip": zipped({"../../evil.yaml": YAML})}, 422, "no valid name"),
        ({"x.zip": zipped({"/etc/evil.yaml": YAML})}, 422, "no valid name"),
        ({"../up.yaml": YAML, "b.yaml": YAML}, 422, "no valid name"),
        ({"x.zip": zipped({}, link="kg.yaml")}, 422, "no file"),
        ({"x.zip": zipped({"kg.yaml": YAML})[:-30]}, 422, ""),
        ({"a.yaml": YAML, "b.yaml": YAML}, 422, "several files are data sets"),
        ({"a.txt": b"nothing", "b.txt": b"known"}, 422, "no format recognises this folder"),
        ({"x.zip": zipped({"a/b": b"x", "a": b"y"})}, 422, "twice"),
    ],
)
def test_what_cannot_be_taken_is_refused_with_a_reason(
    client: TestClient, files: dict[str, bytes], status: int, refusal: str
) -> None:
    answer = sent(client, files)
    body: dict[str, Any] = answer.json()
    assert answer.status_code == status, body
    assert refusal in body["detail"]
    assert "/tmp" not in body["detail"]


def test_an_archive_that_unpacks_to_too_much_is_stopped(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graphs, "UNPACKED", 0)
    answer = sent(client, {"x.zip": zipped({"kg.yaml": YAML * 1000})})
    assert (answer.status_code, "unpacks to more than" in answer.json()["detail"]) == (413, True)


def test_the_same_name_twice_is_refused(client: TestClient) -> None:
    parts = [("file", ("kg.yaml", YAML)), ("file", ("kg.yaml", YAML))]
    answer = client.post("/v1/graphs/preview", files=parts)
    assert "twice" in answer.json()["detail"]


def test_the_published_folder_is_previewed(client: TestClient, data_dir: Path) -> None:
    files = {f.name: f.read_bytes() for f in (data_dir / "knowgic").glob("*s.json")}
    for folder, name in (("published/", "published"), ("", "knowgic")):
        found = sent(client, {f"{folder}{file}": text for file, text in files.items()}).json()
        assert (found["format"], found["n_rewrites"]) == ("knowgic", 26), found
        assert found["name"] == name


@pytest.mark.parametrize(
    "packing", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
)
def test_a_zip_with_any_bit_flipped_is_read_or_refused(tmp_path: Path, packing: int) -> None:
    """It was an error of the service, 73 times of 200."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", packing) as archive:
        archive.writestr("kg.yaml", YAML)
    whole = out.getvalue()
    drawn, refused = random.Random(packing), 0
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << drawn.randrange(8)
        upload = UploadFile(io.BytesIO(bytes(damaged)), filename="own.zip")
        folder = tmp_path / str(place)
        folder.mkdir()
        try:
            root = folder / "upload"
            graphs.received([upload], root, 2**20)
            uploads.read(root, None, {})
        except (UsageError, LoaderError):
            refused += 1
    assert refused > len(whole) // 4


def test_a_damaged_zip_is_422(client: TestClient) -> None:
    whole = bytearray(zipped({"kg.yaml": YAML}))
    for place in (60, len(whole) - 5):  # packed bytes, and the offset of the directory
        damaged = bytes((*whole[:place], whole[place] ^ 0xFF, *whole[place + 1 :]))
        answer = sent(client, {"own.zip": damaged})
        assert answer.status_code == 422, answer.text
        assert "cannot be unpacked" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("limit", "value", "said"),
    [("READ_LIMIT_S", "1", "1 s of a processor|2 s$"), ("READ_LIMIT_MB", "100", "bytes of memory")],
)
def test_a_file_that_takes_too_much_to_read_is_stopped(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, limit: str, value: str, said: str
) -> None:
    rows = "".join(f"Person {i},knows,Person {i + 1}\n" for i in range(300_000))
    monkeypatch.setenv(f"THINKEVAL_{limit}", value)
    began = time.monotonic()
    answer = sent(client, {"own.csv": f"subject,relation,object\n{rows}".encode()})
    told = answer.json()
    assert (answer.status_code, told["code"]) == (422, "unreadable-file")
    stopped = f"Reading upload was stopped: it took more than .*({said})"
    assert re.search(stopped, told["detail"])
    assert f"THINKEVAL_{limit}" in told["remedy"]
    assert "/tmp" not in told["detail"]
    assert time.monotonic() - began < 60
    monkeypatch.undo()
    assert sent(client, {"own.csv": CSV}).status_code == 200
