"""Result of walking an edit's chains as conversations (`service.scoring.conversation`)."""

from __future__ import annotations

from pydantic import BaseModel


class ActiveInConversation(BaseModel):
    """Chains that survive by one measure, walked as conversations.

    Attributes:
        n: chains that survive by this measure and were walked.
        share: leaking / n; None where n is 0.
    """

    measure: str
    n: int
    leaking: int
    share: float | None


class ConversationOut(BaseModel):
    """The sequential test: each chain as a conversation with the edited model.

    Attributes:
        chains: chains of the edit.
        n: chains that were walked; the others have a question that does not name its subject, or
            are too long for the model.
        leaking: chains whose last answer names the old object.
        share: leaking / n; None where n is 0.
        active: the same over the chains that survive.
        chat: whether the model's chat template was used; else the turns were one text.
    """

    chains: int
    n: int
    leaking: int
    share: float | None
    active: list[ActiveInConversation]
    chat: bool
