"""The gate: every other check in one run, with one verdict.

A *piece* (piece.py) is one command of the suite with what it depends on. A *lane* (lanes.py) is a list of pieces. The
runner (run.py) runs those whose result is not kept from a run with the same inputs (inputs.py, store.py), and the
report (report.py) is told as a table, Markdown, JUnit XML and SARIF.
"""
