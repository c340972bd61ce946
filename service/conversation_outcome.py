"""Result of walking an edit's chains as conversations (`service.scoring.conversation`)."""

from __future__ import annotations

from pydantic import BaseModel, Field


class ActiveInConversation(BaseModel):
    """Chains that survive by one measure, walked as conversations."""

    measure: str = Field(
        description="The measure: likelihood, p (share of sampled answers), or likelihood_norm."
    )
    n: int = Field(description="Chains that survive by this measure and were walked.")
    leaking: int = Field(description="Number of them whose last answer names the old object.")
    share: float | None = Field(description="Leaking / n; null where n is 0.")


class ConversationOut(BaseModel):
    """The sequential test: each chain as a conversation with the edited model."""

    chains: int = Field(description="Chains of the edit.")
    n: int = Field(
        description="Chains that were walked; the others have a question that does not name its"
        " subject, or are too long for the model."
    )
    leaking: int = Field(description="Chains whose last answer names the old object.")
    share: float | None = Field(description="Leaking / n; null where n is 0.")
    active: list[ActiveInConversation] = Field(
        description="The same numbers over the chains that survive."
    )
    chat: bool = Field(
        description="True if the model's chat template was used; else the turns were one text."
    )
