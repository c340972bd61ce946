"""A stored co-edit as every surface shows it: three rounds of the demo's rewrite."""

from __future__ import annotations

from typing import Any

from thinkeval.service.leakcut.schemas import CoEditFact, CoEditOut, RoundOut

HOGWARTS = "Hogwarts School of Witchcraft and Wizardry"
ILVERMORNY = "Ilvermorny School of Witchcraft and Wizardry"
ID = "coedit-memit-harry-potter-0123456789"


def fact(id: str, subject: str, added: int, **values: Any) -> CoEditFact:
    """A co-edit of `subject | studied at`."""
    usual = {
        "object": HOGWARTS, "prompt": "{} studied at", "target_new": "Beauxbatons Academy",
        "source": "relation", "old_pre": 0.98, "old_post": 0.01, "new_pre": 0.001, "new_post": 0.95,
    }  # fmt: skip
    own = {"id": id, "subject": subject, "relation": "studied at", "added": added}
    return CoEditFact.model_validate(usual | own | values)


def row(number: int, **values: Any) -> RoundOut:
    """A round; what is not given is that of a round which installs everything."""
    usual = {
        "edit": f"memit-harry-potter-{number}", "facts": number + 1, "ifr": 0.4, "n_chains": 103,
        "leaking": 76, "surviving": 83, "efficacy": 0.986, "preservation": 1.0,
        "n_preservation": 61, "preservation_unedited": 0.99, "n_preservation_unedited": 106,
        "subject_retention": 0.97, "n_subject_retention": 11,
    }  # fmt: skip
    return RoundOut.model_validate(usual | values | {"number": number})


def coedit(**values: Any) -> CoEditOut:
    """Three rounds; round 1 is chosen, round 2 lost the first edit."""
    ron = "hogwarts-ron"
    rounds = [
        row(0),
        row(
            1, ifr=0.061, ifr_low=0.02, ifr_high=0.11, leaking=9, surviving=12, preservation=0.95,
            preservation_unedited=0.94, coedit_efficacy=0.95, n_coedits=1,
            coedits=[fact(ron, "Ron Weasley", 1)], coedited_retention=0.8, n_coedited_retention=4,
        ),
        row(
            2, ifr=0.016, leaking=0, surviving=2, preservation=0.6, preservation_unedited=0.55,
            efficacy=0.265, reaches=False, coedit_efficacy=0.9, n_coedits=2,
            coedits=[
                fact(ron, "Ron Weasley", 1, new_post=0.9),
                fact("hogwarts-hermione", "Hermione Granger", 2, new_post=0.9, source="given"),
            ],
        ),
    ]  # fmt: skip
    usual = {
        "id": ID, "graph": "hogwarts", "rewrite": "harry-potter--studied-at--ilvermorny",
        "subject": "Harry Potter", "relation": "studied at", "target_true": HOGWARTS,
        "target_new": ILVERMORNY, "model": "organism-gpt2-seed0", "method": "memit",
        "measure": "likelihood", "request": {"rewrite": "harry-potter", "method": "memit"},
        "rounds": rounds, "chosen": 1, "met": None, "stopped": "no chain leaks",
        "sequential": False,
    }  # fmt: skip
    return CoEditOut.model_validate(usual | values)
