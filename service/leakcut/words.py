"""A leak cut in words: headline, limits, other cuts, and the next command.

The same for command line and page.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Collection, Sequence
from typing import Any

from ..base.formatting import number, percent, pluralize
from ..graphs.datasets import OWN
from ..models.edit import Measure, Score
from ..models.leakcut import CoEditIn, CutFact, CutIn, CutOut
from ..models.options import flags_of
from ..reports.formats import Column, Table
from ..scoring.request import posted
from ..scoring.runtime import as_option

MEASURE: Measure = "likelihood"
"""The measure that co-edits choose by."""

ROUNDS: int = CoEditIn.model_fields["rounds"].default
"""Facts that a co-edit tries: one a round."""

KEYS = {
    "measured": "at most one fact of each measured key is edited",
    "subject": "at most one fact a subject is edited, and no other fact about {subject}",
    "off": "several facts of one subject may be edited",
}
"""Description of each way to group facts."""

MEANING = (
    "closes: leaking chains through the fact; alone: those that no other fact of the cut closes;"
    " IFR after: expected with the fact and those above it;"
    " collateral: summed probability before the edit of the n facts that share its key, which an"
    " edit of it may move."
)


def facts_table(
    facts: Sequence[CutFact], link: Callable[[CutFact], str] | None = None
) -> Table[CutFact]:
    """Return the facts of a cut; without columns of probabilities where the graph has none.

    Args:
        link: address of a fact's page.
    """
    columns: list[Column[CutFact]] = [
        Column("fact", lambda f: f"{f.subject} {f.relation} {f.object}", link=link),
        Column("closes", lambda f: f.closes),
        Column("alone", lambda f: f.alone, optional=2),
        Column("of IFR", lambda f: f.share, optional=1),
        Column("IFR after", lambda f: f.expected),
        Column("collateral", lambda f: f.collateral, optional=3),
        Column("n", lambda f: f.n_collateral, optional=3),
        Column("pre", lambda f: f.pre, optional=4),
        Column("post", lambda f: f.post, optional=4),
    ]
    if any(fact.says_post for fact in facts):
        columns.append(Column("answer now", lambda f: f.says_post, optional=1))
        columns.append(Column("answer before", lambda f: f.says_pre, optional=4))
    if not any(fact.pre is not None for fact in facts):
        measured = ("of IFR", "IFR after", "pre", "post")
        columns = [column for column in columns if column.header not in measured]
    return Table("facts", "What else to edit", columns, facts, MEANING)


def headline(cut: CutOut) -> str:
    """Return the headline: facts needed, chains that they close, IFR left."""
    whole = cut.chains_leaking
    if not whole and not cut.facts:
        return f"Nothing to cut: {_no_leak(cut)}."
    if not cut.facts:
        chains = f"any of the {_leaking(cut)}" if whole > 1 else f"the one chain that {_leak(cut)}"
        return f"No allowed fact closes {chains}."
    one = len(cut.facts) == 1
    facts = f"{pluralize(len(cut.facts), 'further fact')} close{'s' if one else ''}"
    open_chains = len({tuple(path.entities) for path in cut.open if path.entities})
    if not whole:
        return f"{pluralize(len(cut.facts), 'further fact')} {_proofs(cut)} ({_proof(cut)})."
    if open_chains:
        what = f"{whole - open_chains} of the {_leaking(cut)}"
    elif whole == 1:
        what = f"the one chain that {_leak(cut)}"
    else:
        what = f"all {_leaking(cut)}"
    expected = ""
    if cut.expected is not None:
        expected = f"; IFR {number(cut.ifr)} → about {number(cut.expected)} if each takes"
    if cut.rules is not None and not cut.rules.why:
        what += f", and {_proofs(cut)}"
    return f"{facts} {what} ({_proof(cut)}){expected}."


def limits(cut: CutOut) -> str:
    """Return a sentence about the facts that could not be chosen."""
    options = cut.options
    said = [KEYS[cut.keys].format(subject=cut.subject)]
    if options.only_subject:
        said.append(f"only facts about {cut.subject}")
    if options.not_subject:
        said.append(f"no fact about {cut.subject}")
    if options.lock:
        said.append(f"locked: {', '.join(options.lock)}")
    text = "; ".join(said)
    return f"{text[0].upper()}{text[1:]}."


def fact_text(cut: CutOut, fact: str) -> str:
    """A fact that is named by its id, in words."""
    return " ".join(cut.names[fact]) if fact in cut.names else fact


def others(cut: CutOut) -> list[tuple[str, str]]:
    """(facts of the cut that another one leaves out, those it takes instead), one a cut."""
    own = {fact.id for fact in cut.facts}
    return [
        (_listed(cut, own - set(other)), _listed(cut, set(other) - own))
        for other in cut.alternatives
    ]


def promise(cut: CutOut, n: int) -> str:
    """Return what editing the first n facts of a cut together should do, in a sentence."""
    one = n == 1
    facts = "this fact" if one else f"these {n} facts"
    after = cut.facts[n - 1].expected
    if after is None or cut.ifr is None:
        return f"Editing {facts} too closes {'one way' if one else 'ways'} to {cut.target_true}."
    takes = "it takes" if one else "each takes"
    return (
        f"Editing {facts} too should lower IFR from {number(cut.ifr)} to about {number(after)},"
        f" if {takes}."
    )


def together(cut: CutOut, score: Score, n: int) -> str:
    """Return the command that edits the first n facts of a cut in one round, and scores that."""
    return shlex.join([*_coedit(cut, score), "--rounds", "1", "--per-round", str(n)])


def next_step(cut: CutOut, score: Score | None = None) -> tuple[str, str]:
    """Return the next step in words, and the command for it.

    Co-edits begin with an edit that replaces an object by an editing method. Of a forgotten fact,
    a comparison of two states, and a rewrite that was written out, the same cut is printed instead.

    Args:
        score: of the edit whose cut it is, for its options.
    """
    if cut.edit is None:
        return ("Edit it, and try what then leaks:", shlex.join(_coedit(cut, score)))
    whole = bool(cut.target_new) and ":" not in (cut.method or "")
    if not whole or cut.rewrite.startswith(OWN):
        return (
            "List them with their keys and costs:",
            shlex.join(["thinkeval", "lab", "leakcut", cut.edit]),
        )
    if cut.measure != MEASURE:
        words = ["thinkeval", "lab", "leakcut", cut.edit, "--measure", MEASURE]
        return ("Co-edits choose by likelihood; the facts that they would try:", shlex.join(words))
    return (_trial(cut), shlex.join(_coedit(cut, score)))


def asked(cut: CutOut) -> dict[str, Any]:
    """The options of a cut as a co-edit takes them, so that it lists the same facts."""
    return cut.options.model_dump(
        mode="json",
        exclude={"rules", "budget", "alternatives"},
        exclude_defaults=True,
    )


def _trial(cut: CutOut) -> str:
    if len(cut.facts) == 1:
        return "Edit it too, and score again:"
    them = f"up to {ROUNDS} of them" if len(cut.facts) > ROUNDS else "them"
    return f"Try {them}, one a round, and score again:"


def _coedit(cut: CutOut, score: Score | None) -> list[str]:
    words = ["thinkeval", "lab", "coedit", cut.rewrite, "-g", cut.graph]
    edit = posted(score) if score else {}
    if cut.method and cut.model:
        words += ["-m", cut.method, "--model", edit.get("model") or as_option(cut.model)]
    for name in ("seed", "chat", "bare", "max_steps", "revision", "hparams", "dtype"):
        if name in edit:
            words += [flags_of(name, CoEditIn.model_fields[name])[0], str(edit[name])]
    for name, value in asked(cut).items():
        flag = flags_of(name, CutIn.model_fields[name])[0]
        if name == "lock":
            words += [word for lock in value for word in (flag, lock)]
        elif value is True:
            words.append(flag)
        elif name not in ("seconds", "max_steps"):
            words += [flag, str(value)]
    return words


def _listed(cut: CutOut, facts: Collection[str]) -> str:
    return "; ".join(sorted(fact_text(cut, fact) for fact in facts))


def _no_leak(cut: CutOut) -> str:
    if not cut.paths:
        return f"no chain leads from {cut.subject} to {cut.target_true} besides the edited fact"
    if cut.known < cut.paths:
        if not cut.known:
            return f"the model knows 0 of {pluralize(cut.chains or cut.paths, 'chain')}"
        return (
            f"of {pluralize(cut.chains or cut.paths, 'chain')} none that the model knew keeps more"
            f" than {percent(cut.options.leak)} of its reliability"
        )
    return (
        f"of {pluralize(cut.chains, 'chain')} none keeps more than {percent(cut.options.leak)} of"
        " its reliability"
    )


def _proofs(cut: CutOut) -> str:
    """Return the words for the proofs by rules that the cut breaks."""
    s = "s" if len(cut.facts) == 1 else ""
    stay = sum(not path.entities for path in cut.open)
    return f"break{s} {f'all but {stay}' if stay else 'every one'} of the proofs by rules"


def _leak(cut: CutOut) -> str:
    """Return the condition of a chain to be cut, after "chains that" or "the one chain that"."""
    s = "s" * (cut.chains_leaking == 1)
    if cut.edit is None:
        return f"lead{s} to {cut.target_true}"
    return f"keep{s} more than {percent(cut.options.leak)}"


def _leaking(cut: CutOut) -> str:
    """The chains to be cut, as a part of those that survive."""
    n, alive = cut.chains_leaking, cut.surviving
    if cut.edit is None or alive is None or alive < n:
        return f"{pluralize(n, 'chain')} that {_leak(cut)}"
    return f"{n} of {pluralize(alive, 'surviving chain')} that {_leak(cut)}"


def _proof(cut: CutOut) -> str:
    """Return the words on optimality: proved fewest or cheapest, or the proved bound."""
    fewest = "fewest" if not cut.options.collateral else "cheapest"
    among = " of what is allowed" if cut.open else ""
    if cut.optimal:
        return f"proved {fewest}{among}"
    if fewest == "fewest":
        least = math.ceil(cut.bound * cut.options.efficacy - 1e-6)
        return f"not proved fewest in {cut.options.seconds:g} s: at least {least} are needed"
    return f"not proved cheapest: cost {number(cut.cost)}, at least {number(cut.bound)}"
