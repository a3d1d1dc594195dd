"""Judgement, outside what is judged.

``invariants`` and ``witnesses`` say what should be true and seen; ``ledger`` and ``judge`` bind that to a subject and
to an exploration; ``conformance`` and ``histories`` keep a subject in lockstep with the reference; ``diagnosis`` tells
why nothing goes on; ``check`` runs it all; ``cli`` is the command line.
"""
