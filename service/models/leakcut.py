"""Requests and results of leak cuts and co-edits: the same for CLI, REST, web UI and client.

Facts are named by their id within the data set, which is the same in all graphs of it.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from ...cypher.rows.leakcut import Retention
from .edit import AnsweredFact, EditedFact, EditIn, Measure, Name
from .experiment import Result
from .notebook import InOneLine
from .options import Option

KeyKind = Literal["auto", "subject", "off"]
"""Facts that cannot be edited together: those of one measured key, of one subject, or none."""

Choose = Literal["listed", "budget", "cut", "random", "share"]
"""Choice of a round's facts: those of the leak cut of the edit alone that lower IFR most, any
facts that do, a whole cut, or a control."""

FactName = Annotated[str, Field(min_length=1, max_length=500)]


class CutIn(BaseModel):
    """The facts that a leak cut may use, and the chains that it has to break."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    leak: float = Field(
        default=0.1, ge=0, lt=1, description="Paths with R'/R above this are to be cut."
    )
    max_steps: int = Field(default=5, ge=1, le=5, description="Longest chain.")
    lock: tuple[FactName, ...] = Field(
        default=(),
        max_length=1000,
        description="Facts that must not be edited: ids, or names of their subjects.",
    )
    only_subject: bool = Field(default=False, description="Edit facts about the subject only.")
    not_subject: bool = Field(
        default=False,
        description="Edit no fact about the subject; with `only_subject` no fact is left.",
    )
    keys: KeyKind = Field(
        default="auto",
        description="At most one fact of each key: auto (measured, for methods that write at the"
        " subject's last token), subject (one a subject), off.",
    )
    collateral: float = Field(
        default=0.0,
        ge=0,
        le=1000,
        description="Cost of a fact's collateral: its cost is (1 + this · collateral) / efficacy.",
    )
    efficacy: float = Field(
        default=0.95, gt=0, le=1, description="Expected efficacy of editing a fact."
    )
    rules: bool = Field(
        default=False, description="Also cut every proof by the data set's If-Then rules."
    )
    budget: Annotated[int | None, Field(ge=1, le=50)] = Field(
        default=None, description="Also the curve of IFR against 1 to this many facts."
    )
    alternatives: int = Field(
        default=10, ge=0, le=10, description="Cuts of the same cost that are listed."
    )
    seconds: float = Field(default=5.0, gt=0, le=600, description="Longest time of the solver.")


class CutFact(AnsweredFact):
    """A fact of a cut."""

    id: str = Field(description="Id of the fact within the data set.")
    prompt: str = Field(description="The fact's cloze, with `{}` for the subject.")
    closes: int = Field(description="Chains through it that are to be cut.")
    alone: int = Field(description="Chains with a path that no other fact of the cut closes.")
    share: float | None = Field(
        description="Fraction of IFR that goes through it; null without probabilities."
    )
    expected: float | None = Field(
        default=None,
        description="IFR that is expected after editing this fact and those above it; null"
        " without probabilities.",
    )
    collateral: float = Field(
        description="Summed pre-edit probability of the facts that share its key."
    )
    n_collateral: int = Field(description="Number of those facts.")
    cost: float = Field(description="(1 + weight · collateral) / expected efficacy.")


class OpenPath(BaseModel):
    """A path that no allowed fact closes; `why` gives the reason."""

    entities: list[str] = Field(
        description="Names from subject to old object; none of a proof by rules."
    )
    facts: list[str] = Field(description="Ids of the facts on it.")
    why: str = Field(description="The reason that rules out all of them.")


class BudgetPoint(BaseModel):
    """Expected IFR after editing `m` facts."""

    m: int = Field(description="Number of facts edited.")
    facts: list[str] = Field(
        description="Ids of the facts, chosen greedily; fewer than m where no other fact lowers"
        " IFR, or locks and groups allow none."
    )
    ifr: float = Field(description="Expected IFR after editing `facts`.")
    bound: float = Field(description="No choice of m facts has a lower IFR than this.")
    exact: float | None = Field(description="The lowest IFR; null where it was not computed.")
    random: float | None = Field(
        description="Mean IFR of random choices of m facts under the same constraints."
    )
    random_low: float | None = Field(description="Least IFR of the random choices.")
    random_high: float | None = Field(description="Greatest IFR of the random choices.")
    share: float | None = Field(
        description="Expected IFR after editing the m facts through which most of IFR passes."
    )


class BudgetOut(BaseModel):
    """The curve of expected IFR against the number of facts edited."""

    ifr: float = Field(
        description="Indirect fact recovery, 0 to 1: mean retention of the surviving chains; null"
        " where undefined."
    )
    points: list[BudgetPoint] = Field(description="The curve, by number of facts.")
    draws: int = Field(description="Random choices for each m.")
    note: str | None = Field(default=None, description="Which exact values are missing, and why.")


class RuleCutOut(BaseModel):
    """The proofs by If-Then rules that a cut has to break too."""

    rules: int = Field(description="Number of rules.")
    atoms: int = Field(description="Number of atoms of the AND-OR graph.")
    groundings: int = Field(description="Number of groundings of the AND-OR graph.")
    facts: list[str] = Field(
        default=[], description="Facts of the cut without which it would still close every chain."
    )
    why: str | None = Field(default=None, description="Reason where there is no such graph.")


class CutOut(InOneLine, EditedFact):
    """A leak cut: the cheapest facts whose change closes every path that leaks."""

    edit: str | None = Field(
        description="The scored edit whose paths leak; null: a rewrite of the unedited graph."
    )
    graph: str = Field(description="Id of the graph.")
    model: str | None = Field(description="Name of the model; null for an unedited graph.")
    method: str | None = Field(
        description="Name of the editing method; null for an unedited graph."
    )
    measure: Measure | None = Field(
        description="Measure of the probabilities; null for an unedited graph."
    )
    options: CutIn = Field(description="The options that it was computed with.")
    paths: int = Field(
        description="Number of paths of at least one fact besides the edited one. Of a chain with"
        " parallel facts each choice of facts is a path."
    )
    known: int = Field(description="Number of the paths that the model knew before the edit.")
    leaking: int = Field(description="Number of the known paths that are to be cut.")
    chains: int = Field(
        default=0,
        description="Number of chains as the score counts them: the paths of the same entities are"
        " one.",
    )
    chains_leaking: int = Field(default=0, description="Chains that have a path that is to be cut.")
    surviving: int | None = Field(
        default=None,
        description="Number of chains that survive as the score counts them; null without a score.",
    )
    ifr: float | None = Field(description="IFR as scored; null without a score.")
    expected: float | None = Field(
        description="IFR after editing the cut, expected from its efficacy; null without scores."
    )
    facts: list[CutFact] = Field(description="The facts of the cut, most closed paths first.")
    cost: float = Field(description="Cost of the cut.")
    bound: float = Field(description="No cut costs less than this.")
    optimal: bool = Field(description="True if cost and bound are equal: no cheaper cut exists.")
    seconds: float = Field(description="Duration in seconds.")
    keys: Literal["measured", "subject", "off"] = Field(
        description="Origin of the facts that cannot be edited together: measured, subject, off."
    )
    open: list[OpenPath] = Field(
        default=[], description="Paths that stay, as locks and keys forbid all of their facts."
    )
    alternatives: list[list[str]] = Field(default=[], description="Other cuts of the same cost.")
    more: bool = Field(
        default=False, description="True if there may be further cuts of the same cost."
    )
    names: dict[str, tuple[str, str, str]] = Field(
        default={},
        description="subject, relation and object of each fact that is named by its id alone.",
    )
    rules: RuleCutOut | None = Field(
        default=None, description="The proofs by If-Then rules; null where they were not asked for."
    )
    budget: BudgetOut | None = Field(
        default=None, description="IFR by number of facts edited; null where it was not asked for."
    )


class CoEditIn(EditIn):
    """An edit, and the facts to edit with it until little of the old fact is left."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"graph": "hogwarts", "rewrite": "harry-potter--studied-at", "rounds": 2}]
        }
    )

    samples: Annotated[int, Option(limited=True, recorded="probe.samples")] = Field(
        default=0, ge=0, le=200, description="Generations a prompt; 0 measures likelihood only."
    )
    method: Annotated[Name, Option(("--method", "-m"))] = Field(
        default="memit", description="Editing method."
    )
    cut: CutIn = Field(default=CutIn(), description="Facts that may be edited; chains to cut.")
    choose: Choose = Field(
        default="listed",
        description="A round adds: listed (of the leak cut of the edit alone, the facts that lower"
        " IFR most), budget (of all facts on the chains, those that lower IFR most), cut (a whole"
        " leak cut), random or share (controls).",
    )
    per_round: int = Field(default=1, ge=1, le=50, description="Facts that a round adds.")
    rounds: int = Field(default=4, ge=1, le=20, description="Rounds at most.")
    new: dict[FactName, Annotated[str, Field(min_length=1, max_length=400)]] = Field(
        default_factory=dict,
        max_length=1000,
        description="New objects of facts, by the fact's id; default: one that leads nowhere.",
    )
    anchors: bool | None = Field(
        default=None,
        description="Also edit the other facts about co-edited subjects to the objects they have,"
        " by one joint target vector a key, so that they are kept; default: by methods that have"
        " joint targets.",
    )
    objective: str | None = Field(
        default=None,
        max_length=400,
        description='The objective of a round, as "ifr<=.1,preservation>=.95".',
    )
    draw: int = Field(default=0, ge=0, le=2**31 - 1, description="Seed of `choose: random`.")


class CoEditFact(BaseModel):
    """A further fact that a round edits."""

    id: str = Field(description="Id of the fact within the data set.")
    subject: str = Field(description="Subject of the fact.")
    relation: str = Field(description="Relation of the fact.")
    object: str = Field(description="Object of the fact.")
    prompt: str = Field(description="The fact's cloze, with `{}` for the subject.")
    target_new: str = Field(description="New object of the edited fact.")
    source: Literal["given", "rule", "relation", "entity", "unknown", "shared"] = Field(
        description="Source of the new object: given, rule (it follows from the edit), relation"
        " (another object of the relation that leads nowhere), entity (another entity of the graph"
        " that leads nowhere), unknown (the model's answer for a fact that it does not know),"
        " shared (given to another fact too, as no other is left)."
    )
    added: int = Field(description="Round that edited it first.")
    old_pre: float | None = Field(
        default=None, description="Probability of its old object before this round."
    )
    old_post: float | None = Field(
        default=None, description="Probability of its old object after this round."
    )
    new_pre: float | None = Field(
        default=None, description="Probability of its new object before this round."
    )
    new_post: float | None = Field(
        default=None, description="Probability of its new object after this round."
    )


class RoundOut(Retention):
    """One point of the frontier: the edit and its co-edits, together from the unedited model."""

    number: int = Field(description="Number of the round; 0: the edit alone.")
    edit: str = Field(description="Id of the stored edit.")
    facts: int = Field(description="Number of facts edited, the rewrite's own included.")
    anchors: int = Field(
        default=0, description="Number of facts that were edited to the object they have."
    )
    coedits: list[CoEditFact] = Field(default=[], description="The further facts that it edits.")
    ifr: float | None = Field(
        description="Indirect fact recovery, 0 to 1: mean retention of the surviving chains; null"
        " where undefined."
    )
    ifr_low: float | None = Field(
        default=None, description="Lower end of IFR's 95 % interval; null where it is exact."
    )
    ifr_high: float | None = Field(
        default=None, description="Upper end of IFR's 95 % interval; null where it is exact."
    )
    n_chains: int = Field(description="Number of chains that IFR is taken over.")
    leaking: int = Field(
        description="Chains with R'/R above the request's `leak`; `surviving` as the score counts"
        " them."
    )
    surviving: int = Field(description="Number of chains that survive, as the score counts them.")
    efficacy: float | None = Field(description="Efficacy of the first request.")
    coedit_efficacy: float | None = Field(
        default=None, description="Mean efficacy of the co-edits; null without any."
    )
    n_coedits: int = Field(default=0, description="Number of co-edits that the mean is taken over.")
    preservation: float | None = Field(
        description="Preservation over all neighbours, edited ones too: the mean of p_post/p_pre."
    )
    n_preservation: int = Field(description="Number of facts that Preservation is taken over.")
    preservation_unedited: float | None = Field(
        description="Neighbours kept, over those that were not edited: the mean of min(r, 1/r),"
        " r = p_post/p_pre, so that a rise counts as a change too."
    )
    n_preservation_unedited: int = Field(description="Number of facts that it is taken over.")
    opened: int = Field(
        default=0,
        description="co-edits whose new object leads to the old one in the edit's graph; 0 but"
        " for an error.",
    )
    meets: bool | None = Field(
        default=None, description="True if the objective holds; null without one."
    )
    reaches: bool = Field(
        default=True, description="True if efficacy is at least .9 of the edit alone."
    )
    seconds: float = Field(default=0.0, description="Duration in seconds.")


class CoEditOut(Result):
    """The frontier of a co-edit: leakage left against knowledge lost, round by round."""

    rewrite: str = Field(description="Id of the rewrite request.")
    subject: str = Field(description="Subject of the fact.")
    relation: str = Field(description="Relation of the fact.")
    target_true: str = Field(description="Old object of the edited fact.")
    target_new: str = Field(description="New object of the edited fact.")
    model: str = Field(description="Name of the model.")
    method: str = Field(description="Name of the editing method.")
    measure: Measure = Field(
        description="The measure: likelihood, p (share of sampled answers), or likelihood_norm."
    )
    rounds: list[RoundOut] = Field(description="The points of the frontier, the edit alone first.")
    chosen: int = Field(
        description="Number of the round that was chosen: the first that meets the objective or,"
        " without one, the one of lowest IFR whose efficacy is at least .9 of the edit alone and"
        " whose Preservation over facts not edited is at least .9."
    )
    met: bool | None = Field(description="True if the objective was met; null without one.")
    stopped: str = Field(description="Reason why there is no further round.")
    sequential: bool = Field(description="True if the method edits one fact after the other.")
    refused: list[str] = Field(
        default=[],
        description="Objects that were refused as a chain would open, and facts without a safe"
        " object.",
    )
