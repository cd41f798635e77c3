"""An answer with its reason, for questions whose answers somebody will want to understand.

XLA's passes answer so where they decide about fusions (`FusionDecision`).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Decision:
    """A yes, or a no with its reason, as XLA's FusionDecision; true where it is a yes.

    Attributes:
        reason: why it is not, as the end of the sentence "it is not, since ..."; empty where it is.
    """

    reason: str = ""

    def __bool__(self) -> bool:
        return not self.reason


YES = Decision()
"""It is done."""


def no(reason: str) -> Decision:
    """The decision against something, for a reason."""
    return Decision(reason)


def unless(refused: object, reason: str) -> Decision:
    """The decision for something, or against it for a reason if that reason's condition holds."""
    return Decision(reason) if refused else YES
