"""The workloads of the posts that no file can hold: made here, with their sources."""

from __future__ import annotations

from slotcheck.pymodel.scenario import Op, RunSpec, Scenario

__all__ = ["busy_jobs", "chain_of_work", "files_and_chunks", "flat", "live_components", "tree_walk"]


def flat(*jobs: tuple[str, int, int, int], name: str = "flat") -> Scenario:
    """Jobs of runs without children, each (name, when they ask, how many, ms each)."""
    runs = [
        RunSpec(f"{job}{number}", job=(job,), at_ms=at_ms, work_ms=work_ms)
        for job, at_ms, count, work_ms in jobs
        for number in range(1, count + 1)
    ]
    return Scenario(name, tuple(runs))


def busy_jobs(count: int) -> Scenario:
    """So many jobs of 50 runs of 10 ms, and after 5 ms a job of 8 (SEMANTICS R6)."""
    return flat(*((f"busy{number}_", 0, 50, 10) for number in range(count)), ("late", 5, 8, 10))


def files_and_chunks(files: int, chunks: int = 2) -> Scenario:
    """A walk over files, each with chunks that do the work (the first post's compare.py)."""
    runs = [RunSpec("walk")]
    for file in range(files):
        runs.append(RunSpec(f"file{file}", "walk"))
        runs += [RunSpec(f"file{file}_{chunk}", f"file{file}") for chunk in range(chunks)]
    return Scenario("files and chunks", tuple(runs))


def tree_walk(branches: int, depth: int, *, late: bool = False) -> Scenario:
    """A walk of a full tree: every node is fetched (10 ms) before its children are known (the third post).

    Args:
        branches: children of each inner node.
        depth: the levels below the root.
        late: a node ends when it is fetched and its children ask then, as entries of a queue do; otherwise it asks for
            them and waits.
    """
    body = (Op("work"),) if late else (Op("work"), Op("spawn all"), Op("wait all"))
    runs = [RunSpec("n", None, body)]
    level = ["n"]
    for _ in range(depth):
        below = [(f"{node}_{child}", node) for node in level for child in range(branches)]
        runs += [RunSpec(name, node, body, late) for name, node in below]
        level = [name for name, _ in below]
    return Scenario("tree walk", tuple(runs))


def chain_of_work(pieces: int) -> Scenario:
    """One run that does so many pieces of work one after the other."""
    return Scenario("one by one", (RunSpec("walk", None, (Op("work"),) * pieces),))


def live_components(small_starts_ms: int) -> Scenario:
    """The engine's own test: an update mounts two live components, each with a run that mounts tasks of 10 ms.

    The run of the big one borrows the update's slot and asks for 400 tasks at once; that of the small one is in flight
    too, on a pool slot, and asks for its 40 some ms later, when the pool has filled. Each is a job of its own (R10).
    """
    small = (Op("work"), Op("spawn all"), Op("wait all"))
    runs = [
        RunSpec("update", job=("app", "update")),
        RunSpec("big", "update", job=("app", "big")),
        RunSpec("small", "update", small, job=("app", "small"), work_ms=small_starts_ms),
        *(RunSpec(f"big{task}", "big") for task in range(400)),
        *(RunSpec(f"small{task}", "small") for task in range(40)),
    ]
    return Scenario("live components", tuple(runs))
