"""Systematic mutation: every small change to the code that decides about slots must be caught.

`cosmic-ray` makes the changes, one at a time, in a copy (session.py); statements that are left out are a kind of our own
(operators.py); a short program decides whether a change is seen (kill.py). What survives is listed with the reason why
it changes nothing (equivalent.json), or is a hole in the suite.
"""
