"""Many configurations, several at a time, each compared with the manifest; and graphs compared edge for edge."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path

from slotcheck.checks.subject import resolve_subject
from slotcheck.checks.tlc.behaviour import trace_of_outcome
from slotcheck.checks.tlc.config import ConfigError
from slotcheck.checks.tlc.graph import GraphComparison, GraphFormError, compare_graphs, explored, read_dot, replayed
from slotcheck.checks.tlc.manifest import Expected, differences
from slotcheck.checks.tlc.outcome import FAILED, HOLDS, VIOLATED, Outcome
from slotcheck.checks.tlc.run import MEMORY, Run, run_config
from slotcheck.checks.tlc.tool import JAR_SHA256, Tool
from slotcheck.checks.tlc.values import ValueFormError
from slotcheck.checks.trace import Trace
from slotcheck.pymodel.explore import Verdict
from slotcheck.pymodel.subject import Subject

__all__ = ["SPECIFICATION", "ConfigResult", "TlcReport", "check_specs", "subjects_for"]

SPECIFICATION = "specification"

_LENDING = "lend"  # the rule that the pool that ships follows


@dataclass
class ConfigResult:
    """What one configuration came to."""

    expected: Expected
    verdict: Verdict
    outcome: Outcome
    #: What differs from the manifest or between the graphs, or why nothing is known.
    why: list[str] = field(default_factory=list)
    trace: Trace | None = None
    graph: GraphComparison | None = None
    seconds: float = 0.0
    seconds_to_start: float = 0.0


@dataclass
class TlcReport:
    """What all came to."""

    parts: list[ConfigResult]
    tool: Tool | None = None
    #: Why nothing could be run.
    stopped: str | None = None

    @property
    def verdict(self) -> Verdict:
        """Violated if anything is; else undetermined if anything is, or nothing was run."""
        verdicts = {part.verdict for part in self.parts}
        if Verdict.VIOLATED in verdicts:
            return Verdict.VIOLATED
        if self.stopped or not verdicts or verdicts != {Verdict.HOLDS}:
            return Verdict.UNDETERMINED
        return Verdict.HOLDS


def subjects_for(rule: str) -> dict[str, Subject]:
    """The statements whose graphs must be that of the specification: the rule, and the pool where it follows it."""
    found: dict[str, Subject] = {f"rule:{rule}": resolve_subject(f"rule:{rule}", order="fifo")}
    if rule == _LENDING:
        found["pool"] = resolve_subject("pool", order="fifo")
    return found


def check_specs(
    tool: Tool,
    specs: Path,
    configs: Sequence[Expected],
    *,
    seconds: float,
    jobs: int = 2,
    memory: int = MEMORY,
    subjects: Callable[[str], Mapping[str, Subject]] = subjects_for,
    progress: Callable[[int], None] | None = None,
) -> TlcReport:
    """Run configurations and compare what comes out with what is expected.

    Args:
        seconds: for each run.
        jobs: how many at a time.
        subjects: the statements to compare a specification's graph with, by the rule it is of.
        progress: told how many are done.
    """
    results: dict[str, ConfigResult] = {}
    stop = threading.Event()
    with tempfile.TemporaryDirectory(prefix="slotcheck-tlc-") as folder, ThreadPoolExecutor(jobs) as threads:
        graphs = Path(folder)
        waiting: dict[Future[Run], Expected] = {}
        for each in configs:
            to = graphs if each.graph is not None else None
            future = threads.submit(
                run_config,
                tool,
                specs,
                each.module,
                each.name,
                seconds=seconds,
                memory=memory,
                graph_to=to,
                stop=stop,
            )
            waiting[future] = each
        try:
            while waiting:
                done, _ = wait(waiting, return_when=FIRST_COMPLETED)
                for future in done:
                    expected = waiting.pop(future)
                    results[expected.name] = _result(expected, future, subjects, tool.sha256 == JAR_SHA256)
                    if progress is not None:
                        progress(len(results))
        except BaseException:
            stop.set()  # else leaving would wait for the runs
            threads.shutdown(wait=False, cancel_futures=True)
            raise
    return TlcReport([results[each.name] for each in configs], tool)


def _result(
    expected: Expected, future: Future[Run], subjects: Callable[[str], Mapping[str, Subject]], known_tlc: bool
) -> ConfigResult:
    try:
        run = future.result()
    except ConfigError as error:
        return ConfigResult(expected, Verdict.UNDETERMINED, Outcome(FAILED, str(error)), [str(error)])
    result = judged(expected, run, known_tlc=known_tlc)
    if expected.graph is not None:
        _compare(result, run, subjects(expected.graph))
    return result


def judged(expected: Expected, run: Run, *, known_tlc: bool = True) -> ConfigResult:
    """A run beside what is expected of it; ``known_tlc``: by the TLC that the counts are pinned for."""
    outcome = run.outcome
    result = ConfigResult(expected, Verdict.HOLDS, outcome, seconds=run.seconds, seconds_to_start=run.seconds_to_start)
    if outcome.result == FAILED:
        result.verdict = Verdict.UNDETERMINED
        result.why.append(outcome.told)
        return result
    result.why += differences(expected, outcome, known_tlc=known_tlc)
    if result.why:
        result.verdict = Verdict.VIOLATED
    if outcome.result == VIOLATED:
        try:
            result.trace = trace_of_outcome(expected.module, outcome)
        except ValueFormError as error:
            result.verdict = Verdict.UNDETERMINED
            result.why.append(f"the counterexample is not understood: {error}")
    return result


def _compare(result: ConfigResult, run: Run, subjects: Mapping[str, Subject]) -> None:
    """Compare the graph of a run with those of the subjects; what comes out is added to the result."""
    if run.outcome.result != HOLDS or run.graph is None:
        if result.verdict is Verdict.HOLDS:
            result.verdict = Verdict.UNDETERMINED
        result.why.append("no whole graph of the specification, so nothing to compare")
        return
    try:
        of_spec = read_dot(run.graph)
    except (GraphFormError, ValueFormError) as error:
        result.verdict = Verdict.UNDETERMINED
        result.why.append(f"the graph is not understood: {error}")
        return
    finally:
        run.graph.unlink()
    statements = {SPECIFICATION: of_spec}
    for name, subject in subjects.items():
        statements[name] = {instance: explored(instance, subject) for instance in of_spec}
    result.graph = compare_graphs(result.expected.name, statements)
    if result.graph.equal:
        # The dump is TLC's, and so are the totals: one edge per step that it generated, first states aside.
        lost = run.outcome.generated - result.graph.instances - result.graph.edges[SPECIFICATION]
        if result.graph.states[SPECIFICATION] != run.outcome.distinct or lost:
            result.verdict = Verdict.UNDETERMINED
            result.why.append("the graph is not all that TLC says it searched")
        return
    result.verdict = Verdict.VIOLATED
    result.trace = next((replayed(result.graph, subject) for subject in subjects.values()), None)
    path = ", ".join(" ".join(map(str, action)) for action in result.graph.path)
    where = f"after {path}" if path else "at the start"
    result.why.append(f"the graphs differ in {result.graph.scenario}: {where}: {result.graph.difference}")
