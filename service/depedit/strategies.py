"""The strategies of establish-and-update: the base class, and one class for each.

A strategy decides how a set is established, how it is updated and how questions are answered. The
base class edits nothing and gives the model's answers; a subclass overrides a part of it, and the
first paragraph of its docstring is its summary in the help. A strategy never changes the model: it
returns effects, which `service.depedit.protocol` applies and reverts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random as Generator
from typing import TYPE_CHECKING, ClassVar

from ...loaders.knowledge_sets import QA, Copy, KnowledgeSet
from ...loaders.records import SUBJECT_SLOT, RewriteRequest
from ...loaders.rule_records import Rule
from ..base.errors import NotFoundError
from .editor import request
from .questions import Conclusion, believed, closed, decided, derived, fact

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ...editing.deltas import EditEffect
    from ..models.depedit import Question
    from .editor import Editor


def names() -> tuple[str, ...]:
    """All strategies, sorted."""
    return tuple(sorted(STRATEGIES))


def get(name: str) -> type[Strategy]:
    """The strategy of that name.

    Raises:
        NotFoundError: no such strategy; suggests similar names.
    """
    if name not in STRATEGIES:
        raise NotFoundError("strategy", name, names(), listing="thinkeval lab depedit run --help")
    return STRATEGIES[name]


def summary(name: str) -> str:
    """Summary of a strategy: the first paragraph of its docstring, on one line."""
    return " ".join((get(name).__doc__ or "").split("\n\n")[0].split())


@dataclass(frozen=True, slots=True)
class Bed:
    """Environment of a strategy.

    Attributes:
        editor: gives the editor of a name, cached.
        ask: greedy answers of the current model to complete questions.
        seed: random seed of the strategy.
    """

    knowledge: KnowledgeSet
    db: Database
    editor: Callable[[str], Editor]
    ask: Callable[[Sequence[str]], list[str]]
    seed: int = 0


class Strategy:
    """Base class: no edits, answers of the model.

    Attributes:
        EDITOR: the default editor; None for none.
        WRAPS: whether the user may choose the editor.
    """

    EDITOR: ClassVar[str | None] = None
    WRAPS: ClassVar[bool] = False

    def __init__(self, bed: Bed, editor: str | None = None) -> None:
        self.bed = bed
        self.knowledge = bed.knowledge
        name = editor or self.EDITOR
        self.editor = bed.editor(name) if name and name != "base" else None

    def establish(self) -> EditEffect | None:
        """The effect that establishes the set's facts; None for no change."""
        if self.editor is None:
            return None
        return self.editor.establish(self.to_establish())

    def update(self, copy: Copy) -> EditEffect | None:
        """The effect that updates the established model to a copy."""
        if self.editor is None:
            return None
        return self.editor.update(self.to_update(copy), tuple(self.to_establish()))

    def answers(self, questions: Sequence[Question], copy: Copy | None) -> list[str]:
        """Answer the questions of a phase, with the phase's effects applied to the model.

        Args:
            copy: the copy of phase update; None in phase establish.
        """
        return self.bed.ask([question.asked for question in questions])

    def to_establish(self) -> list[RewriteRequest]:
        """The requests of phase establish: the specific and the unrelated facts."""
        return [request(qa) for qa in (*self.knowledge.specific, *self.knowledge.unrelated)]

    def to_update(self, copy: Copy) -> list[RewriteRequest]:
        """The requests of a copy: its updates."""
        return [request(qa) for qa in copy.updates]

    def facts(self, copy: Copy | None) -> tuple[QA, ...]:
        """The specific facts, updated to a copy."""
        return self.knowledge.specific if copy is None else self.knowledge.after(copy)


class Base(Strategy):
    """The model as it is: nothing is established, nothing updated.

    The baseline; its consistency is 1 by construction.
    """


class Finetune(Strategy):
    """Fine-tuning on the facts, and on the updates again from there.

    FINETUNE (DepEdit, section 5.2; De Cao et al. 2021).
    """

    EDITOR = "finetune"


class FinetuneRule(Strategy):
    """Fine-tuning with the rule among the facts: its conclusion is learnt after its premises.

    The rule is one more request: "If [Person A] was born in [City A], and … then" is the prompt,
    the conclusion its target.

    FINETUNE_RULE (DepEdit, section 5.3.2).
    """

    EDITOR = "finetune"

    def to_establish(self) -> list[RewriteRequest]:
        """The facts and the rule."""
        return [*super().to_establish(), rule_request(self.knowledge.rule)]


def rule_request(rule: Rule) -> RewriteRequest:
    """The rule as a prompt and its continuation; the prompt's first variable is the subject."""
    premises, _, conclusion = rule.text().rpartition(" then ")
    start, end = premises.index("["), premises.index("]") + 1
    return RewriteRequest(
        id=f"rule {rule.id}",
        dataset="",
        prompt=f"{premises[:start]}{SUBJECT_SLOT}{premises[end:]} then",
        subject=premises[start:end],
        relation="rule",
        target_true="",
        target_new=conclusion.rstrip("."),
    )


class Memit(Strategy):
    """MEMIT on all facts at once, and on all updates at once on top of it.

    MEMIT (Meng et al. 2023).
    """

    EDITOR = "memit"


class Mend(Strategy):
    """MEND's one step for all updates, on a model that fine-tuning established.

    Its hypernetwork is trained on the graph's facts without those of the set
    (`service.depedit.editor`), in batches of the size of an update. On an organism it can apply a
    few updates (the paper's sets of six facts for MEND_IMP have four); twenty break the model.

    MEND (Mitchell et al. 2022), as DepEdit applies it (appendix B).
    """

    EDITOR = "mend"


class MendImp(Strategy):
    """MEND trained to propagate edits to implications: its loss includes −log P(a_I | q_I).

    Otherwise like `mend`. A training edit changes a premise that is a fact of the graph, and the
    target is the rule's new conclusion; no fact of the set is used for training.

    MEND_IMP (DepEdit, section 6.2 and equation 3).
    """

    EDITOR = "mend_imp"


UNRELATED = 2
"""Unrelated facts before a question; the paper does not give their number."""


class Derive(Strategy):
    """The premises as they are now, and two unrelated facts, before the question of an implication.

    Their order is random. Other questions are unchanged. Any editor may edit the facts into the
    model as well; by default none does.

    DERIVE (DepEdit, section 6.2): can it infer the conclusion from premises in the prompt?
    """

    WRAPS = True

    def answers(self, questions: Sequence[Question], copy: Copy | None) -> list[str]:
        """The model's answers, with the premises before each question of an implication."""
        facts = {qa.key: qa for qa in self.facts(copy)}
        premises = {i.qa.key: i.premises for i in self.knowledge.implications}
        premises |= {i.qa.key: i.premises for i in (copy.updated if copy else ())}
        texts = []
        for question in questions:
            key = (question.subject, question.relation)
            stated: list[QA] = []
            if question.role == "implication":
                stated = [facts[premise] for premise in premises[key] if premise in facts]
            texts.append(self._with(stated, question) if stated else question.asked)
        return self.bed.ask(texts)

    def _with(self, stated: list[QA], question: Question) -> str:
        draw = Generator(f"{self.bed.seed}|{question.id}")
        unrelated = self.knowledge.unrelated
        sentences = [*stated, *draw.sample(unrelated, min(UNRELATED, len(unrelated)))]
        draw.shuffle(sentences)
        return " ".join([*map(sentence, sentences), question.asked])


def sentence(qa: QA) -> str:
    """A fact as a sentence, with its prompt."""
    return f"{qa.prompt.replace(SUBJECT_SLOT, qa.subject, 1)} {qa.object}."


class Random(Strategy):
    """Random answers, drawn from the objects of the established facts and of the updates so far.

    Each question of each phase has its own random seed. No model is used.

    The trivial baseline (DepEdit, section 5.2).
    """

    def answers(self, questions: Sequence[Question], copy: Copy | None) -> list[str]:
        """A random object for each question."""
        facts = (*self.knowledge.specific, *self.knowledge.unrelated)
        seen = (*facts, *(copy.updates if copy else ()))
        candidates = sorted({qa.object for qa in seen})
        return [Generator(f"{self.bed.seed}|{q.id}").choice(candidates) for q in questions]


class Forwchain(Strategy):
    """Forward chaining: conclusions of the updates are edited with them.

    The established model is asked for the other premises (an answer that is no name of the set is
    ignored). The rule then gives the conclusions (`cypher/depedit/derive`), which the editor
    edits together with the updates; if its conclusion is also a premise, to the fixpoint. The
    copy's listed implications are not used. Phase establish is the editor's.

    FORWCHAIN (DepEdit, section 6.3).
    """

    EDITOR = "finetune"
    WRAPS = True

    def to_update(self, copy: Copy) -> list[RewriteRequest]:
        """The updates and their conclusions."""
        updated = {qa.key for qa in copy.updates}
        others = [qa for qa in self.knowledge.specific if qa.key not in updated]
        answers = self.bed.ask([qa.question for qa in others])
        new = [fact(qa) for qa in copy.updates]
        known = new + believed(self.knowledge, others, answers)
        conclusions = closed(self.bed.db, self.knowledge.rule, new, known)
        follow = [self._worded(one) for one in conclusions if one.key not in updated]
        return super().to_update(copy) + [request(qa) for qa in follow]

    def _worded(self, conclusion: Conclusion) -> QA:
        """The conclusion in the wording of the same implication, or of the set's first."""
        mine = {i.qa.key: i.qa for i in self.knowledge.implications}
        like = mine.get(conclusion.key) or self.knowledge.implications[0].qa
        return QA(
            conclusion.subject, conclusion.relation, conclusion.object, like.prompt, like.asked
        )


class Backchain(Strategy):
    """Backward chaining: an implication is answered by proving it from the model's own answers.

    The model is asked for the facts of the rule's premises; the rule's conclusion from its
    answers is the answer (`cypher/depedit/derive`). Of several conclusions the one with most
    proofs is used, of equally many the first by the premises' names. Without a proof the model's
    own answer is used.

    BACKCHAIN (DepEdit, section 6.3).
    """

    EDITOR = "finetune"
    WRAPS = True

    def answers(self, questions: Sequence[Question], copy: Copy | None) -> list[str]:
        """The model's answers; for implications the proved conclusions."""
        facts = self.facts(copy)
        texts = [question.asked for question in questions] + [qa.question for qa in facts]
        answers = self.bed.ask(texts)
        known = believed(self.knowledge, facts, answers[len(questions) :])
        proved = decided(derived(self.bed.db, self.knowledge.rule, known, known))
        own = answers[: len(questions)]
        for i, question in enumerate(questions):
            conclusion = proved.get((question.subject, question.relation))
            if question.role == "implication" and conclusion is not None:
                own[i] = conclusion.object
        return own


STRATEGIES: dict[str, type[Strategy]] = {
    "backchain": Backchain,
    "base": Base,
    "derive": Derive,
    "finetune": Finetune,
    "finetune_rule": FinetuneRule,
    "forwchain": Forwchain,
    "memit": Memit,
    "mend": Mend,
    "mend_imp": MendImp,
    "random": Random,
}
"""Strategies by the name that a request gives."""
