"""Running TLC: each run in a folder of its own, within a time limit, several at a time."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import IO, NamedTuple

from slotcheck.checks.tlc.config import Config, ConfigError, judge_config, read_config, read_definitions
from slotcheck.checks.tlc.messages import read_messages
from slotcheck.checks.tlc.outcome import FAILED, Outcome, judge_output
from slotcheck.checks.tlc.tool import Tool

__all__ = ["MEMORY", "Run", "run_config"]

MEMORY = 2_000  # MiB of heap

_STARTED = "@!@!@STARTMSG 2189"  # TLC computes initial states: the Java runtime is up and the modules are read
_TAIL = 2_000  # characters
_GLANCE = 0.1  # seconds between looks at the clock
_GRACE = 5.0  # seconds for the end of what an ended run said


class Run(NamedTuple):
    """One run of one configuration."""

    name: str
    config: Config
    outcome: Outcome
    #: From the start to the first state, and to the end.
    seconds_to_start: float
    seconds: float
    #: The state graph, if it was asked for and TLC searched all of it; the caller removes it.
    graph: Path | None = None


def run_config(
    tool: Tool,
    specs: Path,
    module: str,
    name: str,
    *,
    seconds: float,
    memory: int = MEMORY,
    graph_to: Path | None = None,
    more: tuple[str, ...] = (),
    stop: threading.Event | None = None,
) -> Run:
    """Run one configuration of the modules in a folder.

    Args:
        seconds: after which it is ended, and failed.
        graph_to: a folder for the state graph in DOT.
        more: further arguments for TLC. None of them can make a run hold that would not: what is judged is what TLC
            says. For the tests of just that.
        stop: once it is set, the run is ended, and failed.

    Raises:
        ConfigError: it would check nothing, or less than it seems to.
    """
    config = read_config(_read(specs / f"{name}.cfg"))
    definitions = read_definitions(specs, module)
    judge_config(config, definitions)
    folder = Path(tempfile.mkdtemp(prefix=f"slotcheck-{name}-"))
    try:
        for path in (*specs.glob("*.tla"), specs / f"{name}.cfg"):
            shutil.copy(path, folder)
        arguments = ["-tool", "-deadlock", "-workers", "1", "-fp", "0", "-metadir", str(folder / "states")]
        graph = None if graph_to is None else graph_to / f"{name}.dot"
        if graph is not None:
            arguments += ["-dump", "dot,actionlabels", str(graph)]
        arguments += [*more, "-config", f"{name}.cfg", module]
        said = _run(tool, folder, tuple(arguments), seconds, memory, stop or threading.Event())
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if said.failed is not None:
        outcome = Outcome(FAILED, said.failed)
    else:
        messages = read_messages(said.output)
        outcome = judge_output(messages, config, definitions, said.exit_code, _outside(said.output))
    if graph is not None and not graph.is_file():
        graph = None
    return Run(name, config, outcome, said.seconds_to_start, said.seconds, graph)


class _Said(NamedTuple):
    """How a run went."""

    output: str
    exit_code: int | None
    #: Why it said nothing, or not all.
    failed: str | None
    seconds_to_start: float
    seconds: float


def _run(
    tool: Tool, folder: Path, arguments: tuple[str, ...], seconds: float, memory: int, stop: threading.Event
) -> _Said:
    command = tool.command(folder, arguments, memory=memory)
    began = time.monotonic()
    try:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=tool.environment(folder, memory=memory),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        return _Said("", None, f"cannot run {command[0]}: {error}", 0.0, 0.0)
    lines: list[str] = []
    started: list[float] = []
    assert process.stdout is not None
    reader = threading.Thread(target=_read_lines, args=(process.stdout, lines, started), daemon=True)
    reader.start()
    failed = None
    try:
        while failed is None:
            try:
                process.wait(_GLANCE)
                break
            except subprocess.TimeoutExpired:
                if stop.is_set():
                    failed = "interrupted"
                elif time.monotonic() - began > seconds:
                    failed = f"not done after {seconds:g} s"
    finally:
        if process.poll() is None:
            _kill(process)
            process.wait()
    reader.join(_GRACE)
    took = time.monotonic() - began
    return _Said("".join(lines), process.returncode, failed, started[0] - began if started else took, took)


def _kill(process: subprocess.Popen[str]) -> None:
    """End a run with all that it started: a ``tlc`` on the PATH is a script that starts Java."""
    if hasattr(os, "killpg"):
        os.killpg(process.pid, signal.SIGKILL)  # a session of its own, so a group of its own
    else:
        process.kill()


def _read_lines(stream: IO[str], lines: list[str], started: list[float]) -> None:
    with stream:
        for line in stream:
            lines.append(line)
            if not started and line.startswith(_STARTED):
                started.append(time.monotonic())


def _outside(output: str) -> str:
    """What was said outside of messages, without the parser's list of files: the reason of a crash is in it."""
    rest = re.sub(r"@!@!@STARTMSG.*?@!@!@ENDMSG[^\n]*\n", "", output, flags=re.DOTALL)
    told = [line for line in rest.splitlines() if not line.startswith(("Parsing file", "Semantic processing"))]
    return "\n".join(told)[-_TAIL:]


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError as error:
        raise ConfigError(f"cannot read {path.name}: {error.strerror}") from error
