"""The command line: ``slotcheck``.

Exit codes: 0 holds, 1 violated, 2 bad input, 3 undetermined.
"""

from __future__ import annotations

import click

from slotcheck.checks.command import EXIT_CODES, Commands

__all__ = ["EXIT_CODES", "main"]

#: In which module each command is, under its name with ``_command``. They are imported when they are used: what one
#: stands on (solvers, graphs) takes longer to import than another takes to answer.
_MODULES = {
    "asyncio": "aio_command",
    "bench": "bench_command",
    "check": "check_command",
    "compare": "compare_command",
    "fairness": "fairness_command",
    "gate": "gate_command",
    "mutate": "mutate_command",
    "mutants": "mutants_command",
    "port": "port_command",
    "prove": "prove_command",
    "race": "race_command",
    "replay": "replay_command",
    "scenarios": "scenarios_command",
    "show": "show_command",
    "simulate": "simulate_command",
    "size": "size_command",
    "tlc": "tlc_command",
    "vectors": "vectors_command",
}


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]}, modules=_MODULES)
@click.version_option(package_name="slotcheck")
def main() -> None:
    """Verify slot lending: a tree of tasks shares one pool of slots without deadlock and within its bounds.

    Exit codes: 0 holds, 1 violated, 2 bad input, 3 undetermined.
    """
