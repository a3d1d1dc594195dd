"""Lending as a relation in first-order logic, and what is proved of it for every cap and every tree.

Independent of ``slotlending`` and of the reference model: nothing here imports them. That the relation is what the code
does is checked in ``checks/relation_check.py``.
"""
