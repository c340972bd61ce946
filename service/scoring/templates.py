"""Context templates: sampled once for each state of a model and each method, and kept in the cache.

They depend on the unedited model, the seed and the method's hyperparameters alone, so that all
edits, sweeps and processes of a machine share them. `editing.key_value.templates` samples them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

from ...editing.atomic_write import whole_file
from ...loaders.records import digest
from .. import NUMBERS_VERSION
from .runtime import Runtime, RuntimeModel

FOLDER = "templates"
"""Of the cache; a file for each key."""

Templates: TypeAlias = tuple[tuple[str, ...], ...]
"""In groups, as `editing.deltas.EditEffect` has them."""


def key_of(model: RuntimeModel, method: str, hparams: Any, seed: int) -> str | None:
    """Digest of all that the templates depend on; None where the method samples none."""
    lengths = getattr(hparams, "context_template_length_params", None)
    if lengths is None:
        return None
    info, fixed = model.loaded.info, hparams.context_templates
    return digest(
        [info.digest, info.dtype, info.device, method, lengths, fixed, seed, NUMBERS_VERSION]
    )


def stored(runtime: Runtime, key: str | None) -> Templates | None:
    """The templates of earlier edits, of this process or of the cache; None without them.

    A damaged file counts as none: `keep` replaces it.
    """
    if key is None:
        return None
    if key not in runtime.templates:
        found = read(runtime.settings.cache / FOLDER / f"{key}.json")
        if found is not None:
            runtime.templates[key] = found
    return runtime.templates.get(key)


def read(path: Path) -> Templates | None:
    """The templates of a file; None if it is missing or damaged, as its digest tells."""
    with suppress(OSError, ValueError, TypeError, KeyError, RecursionError):
        found = json.loads(path.read_bytes())
        templates = tuple(tuple(group) for group in found["templates"])
        if found["digest"] == digest(templates):
            return templates
    return None


def keep(runtime: Runtime, key: str | None, templates: Sequence[Sequence[str]]) -> None:
    """Keep the templates that an edit returned, unless they are known.

    In this process alone where the cache cannot be written: an edit does not fail for it.
    """
    if key is None or not templates or key in runtime.templates:
        return
    runtime.templates[key] = tuple(tuple(group) for group in templates)
    about = {"templates": templates, "digest": digest(runtime.templates[key])}
    path = runtime.settings.cache / FOLDER / f"{key}.json"
    with suppress(OSError), whole_file(path) as out:
        out.write_text(json.dumps(about), encoding="utf-8")
