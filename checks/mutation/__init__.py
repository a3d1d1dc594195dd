"""Systematic mutation: every small change to the code that decides about slots must be seen by a check.

`cosmic-ray` makes the changes, one at a time, in a copy (session.py): it is kept, it runs any command as its test, and
its sessions go on where they were stopped. Statements that are left out are a kind of change of our own (operators.py).
A short program decides whether a change is seen (killer.py), and by what: the checks first, the cheapest before the
others (sight.py), then the unit tests. What survives is listed with the reason why nobody could see it
(equivalent.json), or it is a hole in the suite.
"""
