"""What a parent does with its slot once it has children: the rules of SEMANTICS 6, written from the text.

Independent of ``slotlending``: nothing here imports it, so that agreement means something.
"""

from slotcheck.pymodel.rules.help import Help, HelpInline
from slotcheck.pymodel.rules.hold import Hold
from slotcheck.pymodel.rules.lend import Lend
from slotcheck.pymodel.rules.per_level import PerLevel
from slotcheck.pymodel.rules.permit import BuildPermit, Permit, PermitOutcome, PermitState, Present
from slotcheck.pymodel.rules.refuse import Refuse
from slotcheck.pymodel.rules.release import Release
from slotcheck.pymodel.rules.retake import Retake
from slotcheck.pymodel.rules.rule import Rule
from slotcheck.pymodel.rules.state import Outcome, Refusal, Run, StackState, State

__all__ = [
    "RULES",
    "BuildPermit",
    "Help",
    "HelpInline",
    "Hold",
    "Lend",
    "Outcome",
    "PerLevel",
    "Permit",
    "PermitOutcome",
    "PermitState",
    "Present",
    "Refusal",
    "Refuse",
    "Release",
    "Retake",
    "Rule",
    "Run",
    "StackState",
    "State",
]

#: The rules by name.
RULES: dict[str, Rule] = {
    rule.name: rule for rule in (Hold(), Release(), Retake(), PerLevel(), Help(), HelpInline(), Refuse(), Lend())
}
