"""The pages: which steps measure each, and which function makes each of its tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import appends
import coedits
import made
import times
from columns import Made, Stored


@dataclass(frozen=True)
class Step:
    """A command whose standard output is kept.

    Attributes:
        command: `thinkeval …` or `python benchmarks/FOLDER/NAME.py …`, as a user types it;
            `$THINKEVAL_DATA` is the folder of the published data sets, `$GEMMA` that of a model
            that is not fetched, `SETS` and `EDITS` the ids that the step before printed.
        ends: exit codes that leave a complete output; benchmarks end with 1 when slow.
    """

    command: str
    ends: tuple[int, ...] = (0,)


@dataclass(frozen=True)
class Table:
    """How a table is made.

    Attributes:
        make: columns and rows, of the outputs of the steps and the tables stored before.
        steps: places of the steps that it is made from.
        named: the line below the table names their commands; else each row has its own, and those
            of steps that were not run stay.
    """

    make: Callable[[Sequence[str], Stored], Made]
    steps: tuple[int, ...]
    named: bool = True


@dataclass(frozen=True)
class Page:
    """How the tables of a page are measured.

    Attributes:
        minutes: about how long, on two quiet cores with nothing stored.
        steps: run in this order.
    """

    about: str
    minutes: int
    steps: tuple[Step, ...]
    tables: Mapping[str, Table]


# The tables are by the papers' rule (`--rule papers`): every chain with R ≠ 0 counts.
APP = "thinkeval sweep -g inkwell -m rome -m memit --axis append_loss=app"
ON_REAL_MODELS = (
    "thinkeval sweep -g world -m rome -m memit -m alphaedit -m fine_tuning --samples 0 --json"
)
"""Of the model and the rewrites that are added; tuned hyperparameters are used where there are."""
HALF = (
    "athens--is-a-city-on--africa",
    "buckingham-palace--stands-in-the-country--ireland",
    "cairo--speaks--greek",
    "delhi--is-a-city-on--africa",
    "eiffel-tower--stands-in-the-country--italy",
    "giza--is-a-city-on--asia",
    "kremlin--stands-on-the-continent--asia",
    "louvre--stands-on-the-continent--asia",
    "nanjing--speaks--japanese",
    "parthenon--stands-in-the-country--egypt",
    "roman-forum--stands-on-the-continent--asia",
    "seine--is-a-river-on--africa",
    "shanghai--is-a-city-on--europe",
)
"""Every second rewrite of world."""
ONE_A_FAMILY = (
    "athens--is-a-city-on--africa",
    "barcelona--is-a-city-on--africa",
    "buckingham-palace--stands-in-the-country--ireland",
    "cairo--speaks--greek",
    "cologne--speaks--french",
    "delhi--is-a-city-on--africa",
    "eiffel-tower--stands-in-the-country--italy",
    "kremlin--stands-on-the-continent--asia",
    "kyoto--speaks--mandarin",
    "nanjing--speaks--japanese",
    "roman-forum--stands-on-the-continent--asia",
)
"""A rewrite of each of the 11 families of world."""
FOUR = (
    "barcelona--is-a-city-on--africa",
    "buckingham-palace--stands-in-the-country--ireland",
    "cairo--speaks--greek",
    "eiffel-tower--stands-in-the-city--rome",
)
"""Rewrites of world that Gemma 3 270M knows at p ≥ .5, of different families."""
KNOWGIC = Step("thinkeval import $THINKEVAL_DATA/knowgic --name knowgic")

PAGES = {
    "knowgic": Page(
        "all methods on KnowGIC's 26 rewrites",
        5,
        (
            KNOWGIC,
            Step("thinkeval sweep -g knowgic --rule papers --json"),
            Step("thinkeval report -g knowgic --each -f json"),
        ),
        {
            "methods": Table(made.methods, (1,)),
            "steps": Table(made.steps, (1,)),
            "subject": Table(made.subject, (1, 2)),
        },
    ),
    "smollm2": Page(
        "nine methods on the 26 rewrites of world, on SmolLM2-135M",
        70,
        (
            Step("thinkeval import world"),
            Step(
                "thinkeval sweep -g world --model smollm2 -m rome -m memit -m alphaedit"
                " -m fine_tuning --samples 0 --json"
            ),
            Step("thinkeval report -g world --each -f json"),
            Step("thinkeval model tune smollm2 -g world --json"),
            Step(f"{ON_REAL_MODELS} --model smollm2 {' '.join(HALF)}"),
            Step("thinkeval report EDITS --each -f json"),
            Step(
                "thinkeval sweep -g world --model smollm2 -m none -m random_delta -m rect -m prune"
                " -m ike --samples 0 --drift-facts 60 --json"
            ),
            Step(
                "thinkeval sweep --coedit -g world --model smollm2 -m memit --rounds 3 --draws 1"
                f" --no-side-effects --samples 0 --json {' '.join(ONE_A_FAMILY)}"
            ),
            Step(
                "thinkeval sweep -g world --model smollm2 -m rome -m memit -m alphaedit"
                " -m fine_tuning --seed 0 --seed 1 --seed 2 --samples 0 --no-side-effects --json"
                f" {' '.join(ONE_A_FAMILY)}"
            ),
            Step("thinkeval report EDITS --each -f json"),
        ),
        {
            "methods": Table(made.methods, (1,)),
            "seeds": Table(made.seeds, (8, 9)),
            "others": Table(made.methods, (6,)),
            "rounds": Table(coedits.rounds, (7,)),
            "steps": Table(made.steps, (1,)),
            "edits": Table(made.counted, (1, 2)),
            "found": Table(made.found, (3,)),
            "tuned": Table(made.tuned, (2, 5)),
        },
    ),
    "forms": Page(
        "three methods on every second rewrite of world in all forms, on SmolLM2-135M",
        40,
        (
            Step("thinkeval import world"),
            Step(
                "thinkeval sweep -g world --model smollm2 -m rome -m memit -m fine_tuning"
                f" --samples 0 --forms all --drift-facts 60 --json {' '.join(HALF)}"
            ),
        ),
        {"forms": Table(made.forms, (1,)), "margins": Table(made.form_margins, (1,))},
    ),
    "gemma3": Page(
        "three methods on four rewrites of world, on Gemma 3 270M, which is not fetched",
        25,
        (
            Step("thinkeval import world"),
            Step(
                "thinkeval sweep -g world -m rome -m memit -m fine_tuning --samples 0 --json"
                f" --model $GEMMA {' '.join(FOUR)}"
            ),
            Step("thinkeval report -g world --each -f json"),
        ),
        {"methods": Table(made.effects, (2,))},
    ),
    "matched": Page(
        "the same at equal efficacy",
        8,
        (KNOWGIC, Step("thinkeval sweep -g knowgic --matched --rule papers --json")),
        {"matched": Table(made.matched, (1,)), "differences": Table(made.differences, (1,))},
    ),
    "co-edit": Page(
        "co-edits of the 26 rewrites, round by round, beside random facts",
        60,
        (
            KNOWGIC,
            Step(
                "thinkeval sweep --coedit -g knowgic --rounds 6 --draws 3 -m memit --rule papers"
                " --json"
            ),
            Step(
                "thinkeval sweep --coedit -g knowgic --rounds 6 --draws 1 -m alphaedit"
                " --rule papers --json"
            ),
            Step("python benchmarks/editing/coedit_choices.py --json"),
        ),
        {
            "rounds": Table(coedits.rounds, (1, 2)),
            "chosen": Table(coedits.chosen, (1, 2)),
            "six": Table(coedits.choices, (3,)),
        },
    ),
    "appended": Page(
        "answers appended on inkwell: bare, all answers as targets, APP",
        30,
        (
            Step("thinkeval graph rewrites inkwell --build append --json"),
            Step(
                "thinkeval sweep -g inkwell -m rome -m memit -m alphaedit -m fine_tuning"
                " --axis append_loss=none,all-answers,app --json"
            ),
            Step(f"{APP} --json"),
            *(Step(f"{APP} --axis {weight}=0 --json") for weight in ("alpha", "beta", "gamma")),
            Step(
                "thinkeval sweep -g inkwell -m rome --axis append_loss=none,app"
                " --axis neighbours=1,3,5,all --json"
            ),
            Step("thinkeval report --kind append -g inkwell --paired -f json"),
        ),
        {
            "methods": Table(appends.appended, (1,)),
            "paired": Table(appends.paired, (7,)),
            "without": Table(appends.without, (2, 3, 4, 5)),
            "neighbours": Table(appends.neighbours, (6,)),
        },
    ),
    "crawl": Page(
        "crawls of both organisms of hogwarts with five rules",
        4,
        (Step("python benchmarks/growth/crawl.py --json", (0, 1)),),
        {
            "rules": Table(made.crawls, (0,)),
            "unknown": Table(made.unknown, (0,)),
            "further": Table(made.further, (0,)),
        },
    ),
    "depedit": Page(
        "DepEdit's protocol on knowledge sets of atlas",
        10,
        (
            Step("thinkeval lab depedit build atlas --init shuffled --json"),
            Step("thinkeval lab depedit run SETS --json"),
            Step("thinkeval lab depedit build atlas --init shuffled --setting icq_dt --json"),
            Step("thinkeval lab depedit run SETS -s finetune -s memit --json"),
            Step(
                "thinkeval lab depedit build atlas --init shuffled --facts 6 --implications 3"
                " --updates 4 --json"
            ),
            Step("thinkeval lab depedit run SETS -s finetune -s mend -s mend_imp --json"),
        ),
        {
            "protocol": Table(made.protocol, (0, 1)),
            "wordings": Table(made.protocol, (2, 3)),
            "small": Table(made.protocol, (4, 5)),
        },
    ),
    "measured": Page(
        "what ThinkEval takes beside what one would run instead",
        90,
        (
            *(Step(command, (0, 1)) for command in times.BENCHMARKS),
            Step("python benchmarks/graph/imports.py --json"),
        ),
        {
            "ratios": Table(times.ratios, tuple(range(len(times.BENCHMARKS))), named=False),
            "imports": Table(made.imports, (len(times.BENCHMARKS),)),
        },
    ),
}
