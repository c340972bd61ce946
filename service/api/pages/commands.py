"""Commands that repeat a score: `thinkeval` on the command line, `curl` over REST."""

from __future__ import annotations

import json
import shlex
from typing import Any

from pydantic.fields import FieldInfo

from thinkeval.service.graphs.datasets import OWN
from thinkeval.service.request_options import option_of, words_of
from thinkeval.service.schemas import EditOptions, Score
from thinkeval.service.scoring.runtime import as_option


def commands(score: Score, base: str) -> list[tuple[str, str]]:
    """(label, command) pairs; `base` is the service's address, without a slash at its end."""
    if "comparison" in score.provenance:
        return _of_comparison(score, base)
    body = posted(score)
    # A single quote would end the shell's quoting, so it is written as JSON escapes it.
    text = json.dumps(body, ensure_ascii=False).replace("'", "\\u0027")
    return [
        ("Score it again, on the command line", _command(body)),
        ("Its chains, on the command line", f"thinkeval chains {score.edit} --surviving"),
        (
            "Score it again, over REST (answers at once: it is stored)",
            f"curl -s -X POST {base}/v1/edits -H 'Content-Type: application/json' -d '{text}'",
        ),
        ("The score, over REST", f"curl -s {base}/v1/edits/{score.edit}/score"),
    ]


def _of_comparison(score: Score, base: str) -> list[tuple[str, str]]:
    """The commands of an edit that a comparison of two states scored."""
    states = score.provenance["comparison"]
    words = ["thinkeval", "compare", states["before"]["word"], states["after"]["word"]]
    words += ["--graph", score.dataset]
    words += ["--forget", _fact(score)] if score.kind == "forget" else ["--rewrite", score.rewrite]
    return [
        ("Compare the states again, on the command line", shlex.join(words)),
        ("Its chains, on the command line", f"thinkeval chains {score.edit} --surviving"),
        ("The score, over REST", f"curl -s {base}/v1/edits/{score.edit}/score"),
    ]


def _fact(score: Score) -> str:
    return f"{score.subject}|{score.relation}|{score.target_true}"


def posted(score: Score) -> dict[str, Any]:
    """What to post to score this edit again; options at their default are left out."""
    rewrite: Any = score.rewrite
    if score.rewrite.startswith(OWN):
        rewrite = {
            "subject": score.subject,
            "prompt": score.prompt,
            "relation": score.relation,
            "target_true": score.target_true,
        }
        if score.target_new:
            rewrite["target_new"] = score.target_new
    wanted = {
        "graph": score.dataset,
        "rewrite": rewrite,
        "model": as_option(score.model),
        "method": score.method,
    }
    return wanted | {
        name: value
        for name, field in EditOptions.model_fields.items()
        if (value := _recorded(score, name, field)) is not None
        and value != field.get_default(call_default_factory=True)
    }


def _recorded(score: Score, name: str, field: FieldInfo) -> Any:
    """The value that an edit was scored with; None where its record does not have it."""
    path = option_of(field).recorded
    if path is None:
        return None
    probe = score.provenance.get("probe", {})
    if name == "samples" and "p" not in probe.get("measures", ()):
        return 0
    value: Any = score.provenance | {"options": score.options.model_dump()}
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return bool(value) if field.annotation is bool else value


def _command(body: dict[str, Any]) -> str:
    rewrite = body["rewrite"]
    words = ["thinkeval", "score"]
    if isinstance(rewrite, str):
        words.append(rewrite)
    elif "target_new" not in rewrite:
        fact = "|".join(rewrite[name] for name in ("subject", "relation", "target_true"))
        words += ["--forget", fact]
    else:
        for key, value in rewrite.items():
            words += [f"--{key.replace('_', '-')}", value]
    given = {name: value for name, value in body.items() if name != "rewrite"}
    return shlex.join([*words, *words_of(EditOptions, given)])
