"""A leak cut in words: headline, what limits it, other cuts, and the next command.

The same for command line and page.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Collection

from thinkeval.service.formatting import number, several
from thinkeval.service.leakcut.schemas import CutOut
from thinkeval.service.scoring.runtime import as_option

KEYS = {
    "measured": "at most one fact of each measured key is edited",
    "subject": "at most one fact a subject is edited, and no other fact about {subject}",
    "off": "several facts of one subject may be edited",
}
"""What each way to group facts allows."""

MEANING = (
    "closes: leaking chains through the fact; alone: those that no other fact of the cut closes;"
    " collateral: summed probability before the edit of the n facts that share its key, which an"
    " edit of it may move."
)


def headline(cut: CutOut) -> str:
    """How many further facts close how many chains, and what is left of IFR."""
    whole = cut.leaking
    if not whole and not cut.facts:
        return f"Nothing to cut: {_no_leak(cut)}."
    if not cut.facts:
        chains = f"any of the {whole} chains" if whole > 1 else "the one chain"
        return f"No allowed fact closes {chains} that {_leak(cut, one=whole == 1)}."
    one = len(cut.facts) == 1
    facts = f"{several(len(cut.facts), 'further fact')} close{'s' if one else ''}"
    open_chains = sum(bool(path.entities) for path in cut.open)
    closed = whole - open_chains
    if not whole:
        return f"{several(len(cut.facts), 'further fact')} {_proofs(cut)} ({_proof(cut)})."
    if open_chains:
        what = f"{closed} of the {whole} chains that {_leak(cut)}"
    elif whole == 1:
        what = f"the one chain that {_leak(cut, one=True)}"
    else:
        what = f"all {whole} chains that {_leak(cut)}"
    expected = ""
    if cut.expected is not None:
        expected = f"; expected IFR {number(cut.expected)} after {number(cut.ifr)}"
    if cut.rules is not None and not cut.rules.why:
        what += f", and {_proofs(cut)}"
    return f"{facts} {what} ({_proof(cut)}){expected}."


def limits(cut: CutOut) -> str:
    """What could not be chosen."""
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


def command(cut: CutOut) -> str:
    """The command that edits the facts as well, and measures again; or the one that lists them.

    Co-edits begin with an edit that replaces an object by an editing method. Of a forgotten fact,
    and of a comparison of two states, the same cut is printed instead.
    """
    if cut.edit and (not cut.target_new or ":" in (cut.method or "")):
        return shlex.join(["thinkeval", "leakcut", cut.edit])
    words = ["thinkeval", "coedit", cut.rewrite, "-g", cut.graph]
    if cut.method and cut.model:
        words += ["-m", cut.method, "--model", as_option(cut.model)]
    for name in cut.options.lock:
        words += ["--lock", name]
    words += ["--only-subject"] * cut.options.only_subject
    words += ["--not-subject"] * cut.options.not_subject
    return shlex.join(words)


def _listed(cut: CutOut, facts: Collection[str]) -> str:
    return "; ".join(sorted(fact_text(cut, fact) for fact in facts))


def _no_leak(cut: CutOut) -> str:
    if not cut.paths:
        return f"no chain leads from {cut.subject} to {cut.target_true} besides the edited fact"
    if cut.known is not None and cut.known < cut.paths:
        if not cut.known:
            return f"the model knows 0 of {several(cut.paths, 'chain')}"
        return (
            f"of the {cut.known} of {several(cut.paths, 'chain')} that the model knew none keeps"
            f" more than {cut.options.leak:g} of its reliability"
        )
    return (
        f"of {several(cut.paths, 'chain')} none keeps more than {cut.options.leak:g} of its"
        " reliability"
    )


def _proofs(cut: CutOut) -> str:
    """What is left of the proofs by rules."""
    s = "s" if len(cut.facts) == 1 else ""
    stay = sum(not path.entities for path in cut.open)
    return f"break{s} {f'all but {stay}' if stay else 'every one'} of the proofs by rules"


def _leak(cut: CutOut, *, one: bool = False) -> str:
    if cut.edit is None:
        return f"lead{'s' * one} to {cut.target_true}"
    return f"still leak{'s' * one}"


def _proof(cut: CutOut) -> str:
    """Whether fewer facts could do, as far as that was proved."""
    fewest = "fewest" if not cut.options.collateral else "cheapest"
    among = " of what is allowed" if cut.open else ""
    if cut.optimal:
        return f"proved {fewest}{among}"
    if fewest == "fewest":
        least = math.ceil(cut.bound * cut.options.efficacy - 1e-6)
        return f"not proved fewest in {cut.options.seconds:g} s: at least {least} are needed"
    return f"not proved cheapest: cost {number(cut.cost)}, at least {number(cut.bound)}"
