"""The check of a port: lending in another language, driven over its standard input and output.

The protocol is told in ``ports/PROTOCOL.md``. From below: `process` (lines in and out of a process that may do
anything), `client` (requests and answers), `messages` (what they look like), `graph` and `tour` (every edge in one
walk), `drive` (a script of requests beside the answers that the reference rule demands), `levels` (which scripts),
`vectors` (the same as files), `check` (all of it, and counterexamples), `report`.
"""
