"""An audit as files: one HTML page without scripts, JSON, and the digest of each."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import uuid
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from ...cypher.metric_options import displays, integers
from ..base import formatting
from ..base.errors import ConflictError, UsageError
from ..base.formatting import short
from ..graphs.edges import change
from ..models.edit import KNOWN, MEASURE_NAMES
from ..reports.leakage_map import wrapped
from .audit import collect
from .schemas import RouteRule

if TYPE_CHECKING:
    from ...cypher.run import Database


# Inline SVG of an audit: a chain as a path with its probabilities, two bars for one fact.
#
# Colours are classes of the document's style sheet, so that light, dark and print each have
# theirs. A drawing has no ids, and its content as a text for readers who do not see it.

WIDTH = 340
STEP = 46
"""Height of one fact, from entity to entity."""
LINE, TEXT, BARS, NUMBERS = 10, 26, 214, 280
"""Places in a row: the line, texts, the two bars, the two numbers."""
LETTERS = 12.0
BAR_WIDTH = 60
FACT_WIDTH = 96


@dataclass(frozen=True, slots=True)
class Step:
    """One fact of a chain.

    Attributes:
        implied: True if a rule concludes it.
    """

    relation: str
    object: str
    before: float | None
    after: float | None
    implied: bool = False


def draw_chain(subject: str, steps: Sequence[Step], state: str) -> Markup:
    """A chain from top to bottom: entities, and between two of them relation, bars and numbers."""
    height = 28 + STEP * len(steps)
    parts = [
        Markup('<line class="way" x1="{0}" y1="14" x2="{0}" y2="{1}"/>').format(LINE, height - 14),
        _entity(subject, 14),
    ]
    for number, step in enumerate(steps):
        y = 14 + STEP * number
        parts += [_fact(step, y + STEP // 2), _entity(step.object, y + STEP)]
    label = subject + "".join(
        f"; {_words(step.relation)}{' (by a rule)' * step.implied} {step.object}:"
        f" {short(step.before)} before, {short(step.after)} after"
        for step in steps
    )
    return Markup(
        '<svg class="chain {}" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>'
    ).format(state, WIDTH, height, label, Markup("").join(parts))


def _entity(name: str, y: int) -> Markup:
    text = _fitted(name, WIDTH - TEXT - 4)
    return Markup(
        '<circle class="stop" cx="{}" cy="{}" r="5"/><text class="name" x="{}" y="{}">{}</text>'
    ).format(LINE, y, TEXT, y + 4, text)


def _fact(step: Step, y: int) -> Markup:
    relation = ("∴ " if step.implied else "") + _words(step.relation)
    return Markup(
        '<text class="relation" x="{}" y="{}">{}</text>{}<text class="p" x="{}" y="{}">{}</text>'
    ).format(
        TEXT, y + 4, _fitted(relation, BARS - TEXT - 8),
        _bars(step.before, step.after, BARS, y, BAR_WIDTH), NUMBERS, y + 4,
        f"{short(step.before)} → {short(step.after)}",
    )  # fmt: skip


def bars(before: float | None, after: float | None) -> Markup:
    """A fact's two probabilities, that before above that after."""
    label = f"{short(before)} before, {short(after)} after"
    return Markup(
        '<svg class="bars" viewBox="0 0 {0} 16" width="{0}" height="16" role="img"'
        ' aria-label="{1}">{2}</svg>'
    ).format(FACT_WIDTH, label, _bars(before, after, 0, 8, FACT_WIDTH))


def _bars(before: float | None, after: float | None, x: int, y: int, width: int) -> Markup:
    parts = [
        Markup('<rect class="room" x="{}" y="{}" width="{}" height="14"/>').format(x, y - 7, width)
    ]
    for name, value, top in (("before", before, y - 6), ("after", after, y + 1)):
        if value is not None:
            long = round(width * min(1.0, max(0.0, value)), 1)
            parts.append(
                Markup('<rect class="{}" x="{}" y="{}" width="{}" height="5"/>').format(
                    name, x, top, long
                )
            )
    return Markup("").join(parts)


def _fitted(text: str, width: float) -> str:
    """The text in one line, cut at its end where it is too wide."""
    return next(iter(wrapped(text, width, LETTERS, 1)), "")


def _words(relation: str) -> str:
    return relation.replace("-", " ").replace("_", " ")


# The HTML of an audit: one file without scripts, fonts or pictures of elsewhere.

PAGE, DATA, SUMS = "audit.html", "audit.json", "SHA256SUMS"
"""Files of an audit."""

DRAWN = 24
"""Open chains of one request that are drawn; the others are rows of a table."""
LISTED = 300
"""Routes of one table, and facts; the others are in the other files alone."""
SMALL = 0.0005
"""Values below this would be shown as 0.000."""
CHANGED = 60
"""Facts that are shown at once; the others unfold."""


def render(content: dict[str, Any]) -> str:
    """Return the HTML of an audit."""
    header = content["header"]
    measure = header["measure"]
    return _environment().get_template(PAGE).render(
        header=header,
        states=content["states"],
        verdict=content["verdict"],
        requests=[_request(each, content, measure) for each in content["requests"]],
        facts=_facts(content["facts"], measure),
        n_asked=len(content["facts"]),
        drift=sorted(content["drift"], key=lambda each: each["measure"] != measure),
        queries=content["queries"],
        versions=content["versions"],
        measure=measure,
        limit=LISTED,
        rule=RouteRule.model_validate(content["requests"][0]["routes"][measure]).text,
        data=DATA,
        sums=SUMS,
    )  # fmt: skip


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        figure=formatting.number,
        short=formatting.short,
        signed=formatting.signed,
        words=words,
        day=day,
        several=formatting.pluralize,
        plain=plain,
    )
    further: dict[str, Any] = {"names": MEASURE_NAMES, "bars": bars}
    environment.globals.update(further)
    return environment


def words(relation: str) -> str:
    """A relation as words: data sets write it with hyphens, underscores or spaces."""
    return relation.replace("-", " ").replace("_", " ")


def day(moment: str | None) -> str:
    """An ISO 8601 time to the minute, UTC."""
    return moment[:16].replace("T", " ") if moment else "–"


def plain(value: Any) -> str:
    """Return a value of a record in words; of a record without its empty fields."""
    if isinstance(value, dict):
        given = {key: each for key, each in value.items() if each is not None and each != ""}
        return ", ".join(f"{key} {plain(each)}" for key, each in given.items()) or "none"
    if isinstance(value, list | tuple):
        return ", ".join(plain(each) for each in value) or "none"
    if isinstance(value, float):
        return f"{value:g}"
    if value is None:
        return "none"
    return ("no", "yes")[value] if isinstance(value, bool) else str(value)


def _request(request: dict[str, Any], content: dict[str, Any], measure: str) -> dict[str, Any]:
    """Return a request with everything that is about it."""

    def mine(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [each for each in items if each["request"] == request["edit"]]

    chains, ruled = mine(content["chains"]), mine(content["rule_routes"])
    (verdict,) = mine(content["verdict"]["requests"])
    (rules,), (metrics,) = mine(content["rules"]), mine(content["metrics"])
    alive = [each for each in chains if each["state"] in ("open", "opened")]
    gone = [each for each in chains if each["state"] not in ("open", "opened")]
    return {
        "about": request,
        "verdict": verdict,
        "facts": _facts(mine(content["facts"]), measure)["changed"],
        "metrics": _metric_rows(metrics, measure),
        "leak": metrics.get("leak"),
        "drawn": [(each, _drawn(each, measure)) for each in alive[:DRAWN]],
        "alive": [_row(each, measure) for each in alive[DRAWN : DRAWN + LISTED]],
        "gone": [_row(each, measure) for each in gone[:LISTED]],
        "n": {"alive": len(alive), "gone": len(gone)},
        "rules": rules,
        "ruled": [(each, _ruled(each)) for each in ruled[:LISTED]],
    }


def _drawn(chain: dict[str, Any], measure: str) -> Markup:
    by, names = chain["by"][measure], chain["entities"]
    values = zip(chain["relations"], names[1:], by["before"], by["after"], strict=True)
    return draw_chain(names[0], [Step(*each) for each in values], chain["state"])


def _row(chain: dict[str, Any], measure: str) -> dict[str, Any]:
    by = chain["by"][measure]
    path = chain["entities"][0] + "".join(
        f" – {relation} → {name}"
        for relation, name in zip(chain["relations"], chain["entities"][1:], strict=True)
    )
    return {
        "path": path.replace("_", " "), "state": chain["state"],
        "before": by["product_before"], "after": by["product_after"],
    }  # fmt: skip


def _ruled(route: dict[str, Any]) -> Markup | None:
    """The drawing of a chain over conclusions; None of a proof, which is a list of premises."""
    if "links" not in route:
        return None
    steps = [
        Step(link["relation"], link["object"], link["pre"], link["post"], link["implied"])
        for link in route["links"]
    ]
    return draw_chain(route["entities"][0], steps, route["state"])


def _metric_rows(metrics: dict[str, Any], measure: str) -> dict[str, Any]:
    """The headline metrics: label, meaning, and a cell for each measure."""
    shown = displays()
    measures = list(dict.fromkeys(value["measure"] for value in metrics["values"]))
    measures.sort(key=lambda each: each != measure)
    cells = {
        (value["metric"], value["measure"]): value
        for value in metrics["values"]
        if value["step"] is None
    }
    rows = [
        {
            "label": display.short or name.replace("_", " "),
            "meaning": metrics["meanings"].get(name, ""),
            "cells": [_cell(cells.get((name, each))) for each in measures],
        }
        for name, display in shown.items()
        if display.headline and any((name, each) in cells for each in measures)
    ]
    return {"measures": measures, "rows": rows}


def _cell(value: dict[str, Any] | None) -> dict[str, str]:
    """A metric's value with its interval, and the number of items it was taken over."""
    if value is None:
        return {"value": formatting.UNDEFINED, "n": ""}
    number = value["value"]
    if number is not None and value["metric"] in integers():
        number = int(number)
    left_out = f", {value['excluded']} left out" if value["excluded"] else ""
    text = formatting.with_interval(number, value["low"], value["high"])
    if value["low"] is None and number is not None and 0 < number < SMALL:
        text = formatting.short(number)
    return {"value": text, "n": f"n {value['n']}{left_out}"}


def _facts(facts: Iterable[dict[str, Any]], measure: str) -> dict[str, Any]:
    """The facts, changed and unchanged, those that moved most first."""
    rows = [_page_fact(each, measure) for each in facts]
    rows.sort(key=lambda row: (-row["moved"], row["subject"], row["relation"], row["object"]))
    changed = [row for row in rows if row["change"] not in ("kept", "unknown")]
    others = [row for row in rows if row["change"] in ("kept", "unknown")]
    folded = [*changed[CHANGED:], *others]
    return {
        "changed": changed[:CHANGED] or rows[:1],
        "folded": folded[:LISTED],
        "n_folded": len(folded),
        "n_changed": len(changed),
    }


def _page_fact(fact: dict[str, Any], measure: str) -> dict[str, Any]:
    values = fact["p"][measure]
    before, after = values["before"], values["after"]
    word, moved = "not measured", 0.0
    if before is not None and after is not None:
        word = "unknown" if before < KNOWN and after < KNOWN else change(before, after)
        moved = abs(after - before)
    names = ("subject", "relation", "object", "role")
    about = {name: fact[name] for name in names}
    return about | {"before": before, "after": after, "change": word, "moved": moved}


# Write an audit: the content of a comparison as HTML and JSON, with the digest of each.
#
#     audit.html    for a reader, without a server
#     audit.json    the same content whole, for programs
#     SHA256SUMS    digests of both; `sha256sum -c SHA256SUMS` in the folder checks them
#
# The folder appears complete or not at all: it is written beside its place, and renamed.

FILES = frozenset({PAGE, DATA, SUMS})
"""Names of all files that an audit has."""


def export(db: Database, comparison: str, folder: Path, *, force: bool = False) -> dict[str, Any]:
    """Write the audit of a stored comparison into a folder; return its content.

    Args:
        force: replace an audit that is there already.

    Raises:
        NotFoundError, UsageError: no such comparison, or one without requests.
        ConflictError: the folder has something else in it, or an audit and no `force`.
    """
    require_free(folder, force=force)
    content = collect(db, comparison)
    write(build_files(content), folder)
    return content


def as_zip(db: Database, comparison: str) -> tuple[str, bytes]:
    """Return the name of the folder and the audit of a stored comparison as one zip.

    Its files are in a folder named after the comparison. Raises as `export`.
    """
    content = collect(db, comparison)
    folder: str = content["header"]["comparison"]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in build_files(content).items():
            archive.writestr(f"{folder}/{name}", body)
    return folder, packed.getvalue()


def build_files(content: dict[str, Any]) -> dict[str, bytes]:
    """Return the files of an audit by name.

    Raises:
        ValueError: a number of the content is not finite.
    """
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, indent=2) + "\n"
    # The HTML is rendered from the parsed text, so that both files have the same content.
    files = {PAGE: render(json.loads(text)).encode(), DATA: text.encode()}
    sums = [f"{hashlib.sha256(body).hexdigest()}  {name}\n" for name, body in files.items()]
    return {**files, SUMS: "".join(sums).encode()}


def write(files: dict[str, bytes], folder: Path) -> None:
    """Write the files into a folder in place of all that it has.

    Raises:
        UsageError: it cannot be written there.
    """
    with _whole_folder(folder) as place:
        for name, body in files.items():
            (place / name).write_bytes(body)


def require_free(folder: Path, *, force: bool) -> None:
    """Refuse a folder that has files, unless they are an audit's and shall be replaced.

    Raises:
        ConflictError: it is refused; nothing was changed.
    """
    if not folder.exists() and not folder.is_symlink():
        return
    if not folder.is_dir():
        raise ConflictError(f"{folder} is no folder.", remedy="Name another one with -o.")
    names = {path.name for path in folder.iterdir()}
    if not names:
        return
    if PAGE not in names or names - FILES:
        raise ConflictError(
            f"{folder} is not empty, and no audit: it has {sorted(names - FILES or names)[0]}.",
            remedy="Name a new folder with -o; --force replaces an audit only.",
        )
    if not force:
        raise ConflictError(
            f"{folder} has an audit already.", remedy="Name a new folder, or replace it: --force."
        )


@contextmanager
def _whole_folder(folder: Path) -> Iterator[Path]:
    """Yield a folder beside the target, which takes its place if the block raises nothing.

    Raises:
        UsageError: it cannot be written there.
    """
    target = Path(os.path.realpath(folder))
    mark = uuid.uuid4().hex[:8]
    place, old = (target.with_name(f".{target.name}.{mark}{end}") for end in ("", ".old"))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        place.mkdir()
        yield place
        _sync(place)
        if target.exists():
            target.rename(old)
        try:
            place.rename(target)
        except OSError:
            if old.exists():
                old.rename(target)
            raise
    except OSError as error:
        raise UsageError(
            f"{folder} cannot be written: {error.strerror or error}.",
            remedy="Name a folder with -o where you may write.",
        ) from error
    finally:
        shutil.rmtree(place, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)


def _sync(place: Path) -> None:
    """Write the files through to the disk before the folder gets its name."""
    for path in place.iterdir():
        with path.open("rb+") as written:
            os.fsync(written.fileno())
