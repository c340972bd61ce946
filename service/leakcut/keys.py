"""Facts that share a key, and the collateral of editing one: measured and stored."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...cypher import rows
from ...loaders.records import Fact, RewriteRequest, digest
from ..base.errors import UsageError
from ..scoring.resolved import Resolved
from ..scoring.runtime import Runtime

if TYPE_CHECKING:
    from ...cypher.run import Database


# A method that writes at the subject's last token (`editing.registry.writes_at_subject`) changes
# a model's answer about every fact of a key at once: facts of one key cannot be edited to values
# of their own together, and a fact that is not edited moves with the one that is. Keys are
# measured in the model; where none is at hand, one key a subject is assumed.

AnyFact = rows.FactRow | Fact
"""A stored fact, whose id is that in the database, or a record, whose id is that in its graph."""


@dataclass(frozen=True)
class Keys:
    """The groups of facts that share a key.

    Attributes:
        groups: ids of facts that are joined by a shared key, directly or over others; two or more.
        near: {id: ids of the other facts whose key is that of this fact}, of every fact.
    """

    groups: tuple[frozenset[str], ...]
    near: dict[str, tuple[str, ...]]

    @classmethod
    def of_groups(cls, groups: Iterable[Iterable[str]]) -> Keys:
        """Keys that are shared within these groups; groups of one fact are left out."""
        sets = sorted({frozenset(group) for group in groups}, key=sorted)
        kept = tuple(group for group in sets if len(group) > 1)
        return cls(kept, {fact: tuple(sorted(group - {fact})) for group in sets for fact in group})


def measure(runtime: Runtime, resolved: Resolved, facts: Sequence[AnyFact]) -> Keys:
    """Keys with a cosine above .95 at the last edited layer, of the unedited model.

    One forward pass over the facts' prompts; memoised as long as the model stays loaded.

    Args:
        resolved: names the model, and the hyperparameters with the edited layers.

    Raises:
        UsageError: the method edits no layer that its hyperparameters name.
        RequestError: the prompt of a fact has no place for its subject.
    """
    layers = getattr(resolved.hparams, "layers", None)
    if not layers:
        raise UsageError(
            f"the method '{resolved.request.method}' names no edited layer to measure keys at",
            remedy="Take a method that writes at the subject: rome, memit, alphaedit, rect, prune.",
        )
    known = list({fact.id: fact for fact in facts}.values())
    info = resolved.model.loaded.info
    asked = digest([(fact.id, fact.subject, fact.prompt) for fact in known])
    key = ("keys", info.digest, info.dtype, str(layers[-1]), asked)
    return runtime.memoised(key, lambda: _measured(resolved, known, layers[-1]))


def _measured(resolved: Resolved, facts: Sequence[AnyFact], layer: int) -> Keys:
    from ...editing.key_value.shared_keys import groups, similar_keys

    requests = [
        RewriteRequest(f.id, "", f.prompt, f.subject, f.relation, f.object, f.object) for f in facts
    ]
    loaded = resolved.model.loaded
    near = similar_keys(loaded.model, loaded.tokenizer, requests, layer)
    ids = [fact.id for fact in facts]
    return Keys(
        tuple(frozenset(ids[i] for i in group) for group in groups(near) if len(group) > 1),
        {id_: tuple(ids[j] for j in others) for id_, others in zip(ids, near, strict=True)},
    )


def by_subject(facts: Sequence[AnyFact]) -> Keys:
    """Return one key a subject, as holds of prompts that begin with it, without a model.

    Stricter than measured keys where a prompt has words before its subject.
    """
    of: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for fact in facts:
        of[fact.subject][fact.id] = None
    return Keys(
        tuple(frozenset(ids) for ids in of.values() if len(ids) > 1),
        {id_: tuple(other for other in ids if other != id_) for ids in of.values() for id_ in ids},
    )


def collateral(keys: Keys, p_pre: Mapping[str, float]) -> dict[str, float]:
    """Return the risk of editing: {fact: Σ of P before the edit over the other facts of its key}.

    Args:
        p_pre: {fact: its probability before the edit}; a fact without one, or with 0, is not known
            to the model and adds nothing.
    """
    return {
        id_: sum((p_pre.get(other, 0.0) for other in others), 0.0)
        for id_, others in keys.near.items()
    }


# Measured keys, stored with the facts of an edit's graph, so that every interface uses them.


def write(db: Database, edit: str, keys: Keys, facts: Iterable[str]) -> None:
    """Store the key of each fact; a fact that shares none has a key of its own."""
    names = {fact: min(group) for group in keys.groups for fact in group}
    found = [{"fact": fact, "group": names.get(fact, fact)} for fact in facts]
    db.write(rows.WrittenRow, "leakcut/write_keys", graph=edit, rows=found)


def read(db: Database, edit: str) -> Keys | None:
    """The keys of an edit's facts; None where none were measured."""
    found = db.read(rows.MeasuredKeyRow, "leakcut/keys", graph=edit)
    return Keys.of_groups(row.facts for row in found) if found else None
