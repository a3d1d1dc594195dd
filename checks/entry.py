"""Where the command line begins: in a process of its own, so that a subject that ends its process ends no verdict.

A subject is imported and called in the process that checks it, and may end that at any moment, without a word and with
exit code 0. So the commands run in a child. It says when it has come to a verdict; without that word the exit code is
that of *undetermined*, whatever the child ended with.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys

from slotcheck.checks.ending import end_with_parent, interruptible

__all__ = ["command", "run"]

_SAID = b"."
_GRACE = 20  # seconds; the gate, which has its own processes to end and a report to write, takes the longest
_UNDETERMINED = 3  # as `slotcheck.checks.command` has it, which takes a while to import


def run() -> None:
    """``slotcheck`` as it is installed."""
    if not hasattr(os, "fork"):
        from slotcheck.checks.cli import main

        main()
    reading, writing = os.pipe()
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _check(writing, parent)
    os.close(writing)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: _pass_on(child, number))
    overdue: list[int] = []

    def end(number: int, _: object) -> None:
        overdue.append(number)
        _kill(child)

    signal.signal(signal.SIGALRM, end)
    _, status = os.waitpid(child, 0)
    os.set_blocking(reading, False)  # a process that the child left behind may hold the other end open
    try:
        said = os.read(reading, 1) == _SAID
    except BlockingIOError:
        said = False
    code = os.waitstatus_to_exitcode(status)
    if said and code >= 0:  # a second Ctrl-C may end it after its word
        sys.exit(code)
    ended = f"with exit code {code}" if code >= 0 else f"by signal {-code}"
    told = f"slotcheck: the process that checked was ended {ended}, before a verdict; the subject may have ended it"
    if overdue:
        told = f"slotcheck: interrupted, and the process that checked did not end within {_GRACE} s"
    print(f"{told}: undetermined", file=sys.stderr)
    sys.exit(_UNDETERMINED)


def command() -> None:
    """A command in this process, which another one started to wait for it."""
    interruptible()
    end_with_parent(signal.SIGKILL)  # an interrupt may be lost, and nobody is left to see to it
    from slotcheck.checks.cli import main

    main(prog_name="slotcheck")


def _check(writing: int, parent: int) -> None:
    """In the child: run the command, and say so when it has ended by itself."""
    os.setpgid(0, 0)  # Ctrl-C goes to the parent, which passes it on: once
    try:
        interruptible()
        end_with_parent(signal.SIGKILL)  # an interrupt may be lost, and nobody is left to see to it
        if os.getppid() != parent:
            sys.exit(_UNDETERMINED)  # it has ended already
        # Imported here and not above: that takes a second, in which Ctrl-C is to be told like at any other time.
        from slotcheck.checks.cli import main

        main()
    except SystemExit:
        sys.stdout.flush()
        os.write(writing, _SAID)
        raise
    except KeyboardInterrupt:
        print("slotcheck: interrupted, so undetermined", file=sys.stderr)
        os.write(writing, _SAID)
        sys.exit(_UNDETERMINED)


def _pass_on(child: int, number: int) -> None:
    """It has some seconds to end: an interrupt may come where it is lost, and then it would wait for its workers."""
    with contextlib.suppress(ProcessLookupError):  # it has just ended
        os.kill(child, number)
    signal.alarm(_GRACE)


def _kill(child: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)


if __name__ == "__main__":
    run()
