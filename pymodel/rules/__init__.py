"""What a parent does with its slot once it has children: the rules of SEMANTICS 6, written from the text.

Independent of ``slotlending``: nothing here imports it, so that agreement means something.
"""

from slotcheck.pymodel.rules.hold import Hold
from slotcheck.pymodel.rules.lend import Lend
from slotcheck.pymodel.rules.release import Release
from slotcheck.pymodel.rules.rule import Rule
from slotcheck.pymodel.rules.state import Outcome, Refusal, Run, State

__all__ = ["RULES", "Hold", "Lend", "Outcome", "Refusal", "Release", "Rule", "Run", "State"]

#: The rules by name.
RULES: dict[str, Rule] = {rule.name: rule for rule in (Lend(), Hold(), Release())}
