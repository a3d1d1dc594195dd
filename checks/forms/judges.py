"""The invariants once more, as functions that stand alone: a test or a program made of a trace carries the one it needs.

Each looks at snapshots in the form of `slotlending.Snapshot` and says what is wrong, or returns None. They import
nothing and call nothing of each other, since their source is copied into files of their own.
"""

# ruff: noqa: E501
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

__all__ = ["JUDGES"]


def unlent_within_cap(snapshot):
    """Runs that hold a slot unlent = pool slots taken."""
    unlent = sorted(run.run for run in snapshot.runs if run.token != "none" and not run.lent)
    if len(unlent) != snapshot.taken:
        return f"{snapshot.taken} pool slots are taken, but {unlent} hold a slot unlent"
    return None


def no_slot_leak(snapshot):
    """Pool slots taken = runs that have one."""
    heads = sorted(run.run for run in snapshot.runs if run.token == "pool")
    if len(heads) != snapshot.taken:
        return f"{snapshot.taken} pool slots are taken, but {heads} have one"
    return None


def level_within_cap(snapshot):
    """On each level, runs in flight <= pool slots taken."""
    for level in sorted({run.level for run in snapshot.runs}):
        here = sorted(run.run for run in snapshot.runs if run.level == level and run.phase == "in_flight")
        if len(here) > snapshot.taken:
            return f"{here} are in flight on level {level}, but only {snapshot.taken} pool slots are taken"
    return None


def in_flight_within_cap_times_levels(snapshot, levels):
    """Runs in flight <= pool slots taken x levels asked so far."""
    in_flight = sorted(run.run for run in snapshot.runs if run.phase == "in_flight")
    if len(in_flight) > snapshot.taken * levels:
        return f"{in_flight} are in flight, more than {snapshot.taken} pool slots taken x {levels} levels"
    return None


def taken_within_cap(snapshot):
    """Pool slots taken <= cap, where the cap was never lowered."""
    if snapshot.taken > snapshot.cap:
        return f"{snapshot.taken} of {snapshot.cap} pool slots are taken"
    return None


def max_in_flight(snapshot, most):
    """Without resize, runs in flight <= the runs on the cap longest disjoint downward paths."""
    in_flight = sorted(run.run for run in snapshot.runs if run.phase == "in_flight")
    if len(in_flight) > most:
        return f"{in_flight} are in flight, but the longest disjoint paths have only {most} runs"
    return None


def all_on_longest_paths_are_admitted(snapshot):
    """While only runs on the cap longest disjoint downward paths have asked, and none has ended, none waits."""
    if snapshot.waiting:
        return f"{list(snapshot.waiting)} wait, though there is a slot for every run on the longest paths"
    return None


def one_chain_per_slot(snapshot):
    """Every pool slot has one chain of loans, down the levels, and every run with a slot is on one."""
    on_chains = []
    for head in (run for run in snapshot.runs if run.token == "pool"):
        last = head
        on_chains.append(last.run)
        while last.lent:
            borrowers = [run for run in snapshot.runs if run.token == "loan" and run.parent == last.run]
            if len(borrowers) != 1 or borrowers[0].level <= last.level:
                return f"the slot of {last.run!r} is lent to {sorted(run.run for run in borrowers)}"
            last = borrowers[0]
            on_chains.append(last.run)
    holders = sorted(run.run for run in snapshot.runs if run.token != "none")
    if sorted(on_chains) != holders:
        return f"{holders} have a slot, but the chains of loans lead through {sorted(on_chains)}"
    return None


def no_lost_wake_up(snapshot):
    """No run waits while a pool slot is free, or while its own parent, in flight, holds its slot unlent."""
    if snapshot.waiting and snapshot.taken < snapshot.cap:
        return f"{list(snapshot.waiting)} wait, but only {snapshot.taken} of {snapshot.cap} pool slots are taken"
    runs = {run.run: run for run in snapshot.runs}
    for waiter in snapshot.waiting:
        parent = runs.get(runs[waiter].parent)
        if parent is not None and parent.phase == "in_flight" and parent.token != "none" and not parent.lent:
            return f"{waiter!r} waits, but its parent {parent.run!r} holds its slot unlent"
    return None


def relend_leaves_no_idle(snapshot):
    """With relend, no run holds its slot unlent while a child of it has another one."""
    runs = {run.run: run for run in snapshot.runs}
    for run in snapshot.runs:
        parent = runs.get(run.parent)
        if run.token != "none" and parent is not None and parent.token != "none" and not parent.lent:
            return f"{parent.run!r} holds its slot unlent while its child {run.run!r} has another slot"
    return None


def cap_respected(granted, snapshot):
    """No call hands out a pool slot that makes taken > cap."""
    got = [run for run, token in granted if token == "pool"]
    if got and snapshot.taken > snapshot.cap:
        return f"{got} got a pool slot, and now {snapshot.taken} of {snapshot.cap} are taken"
    return None


def grants_told(before, granted, relent, after):
    """What a call answers is exactly the difference it made."""
    had = {run.run: run.token for run in before.runs}
    got = sorted(
        (run.run, run.token) for run in after.runs if run.token != "none" and had.get(run.run, "none") == "none"
    )
    turned = sorted(run.run for run in after.runs if run.token == "loan" and had.get(run.run) == "pool")
    if sorted(granted) != got or sorted(relent) != turned:
        return f"the call answered {list(granted)}, {list(relent)}, but {got} got a slot and {turned} turned into loans"
    return None


def held_matches(snapshot, held):
    """Every job holds what the runs at or below it have of pool slots."""
    for job in sorted({run.job[:depth] for run in snapshot.runs for depth in range(1, len(run.job) + 1)}):
        truth = sum(run.token == "pool" and run.job[: len(job)] == job for run in snapshot.runs)
        if held(job) != truth:
            return f"job {job} holds {truth} pool slots, but the pool says {held(job)}"
    return None


def as_expected(expected, found):
    """An answer or a view is what the rules demand."""
    for name, value in expected.items():
        if found[name] != value:
            return f"{name} must be {value}, but is {found[name]}"
    return None


def as_view(snapshot):
    """A snapshot with its runs by id, to be compared field by field."""
    return {
        "cap": snapshot.cap,
        "taken": snapshot.taken,
        "runs": {run.run: (run.phase, run.token, run.lent, run.level, run.parent, run.job) for run in snapshot.runs},
        "waiting": tuple(snapshot.waiting),
        "children": {parent: tuple(children) for parent, children in snapshot.children},
        "lines": {node: tuple(line) for node, line in snapshot.lines},
    }


def refused(call):
    """The code of the refusal of a call; None if it is answered."""
    try:
        call()
    except Exception as error:
        if not hasattr(error, "code"):
            raise
        return error.code
    return None


def somebody_goes_on(snapshot, waits):
    """Of the runs in flight one at least waits for nothing. ``waits``: what each waits for besides slots."""
    in_flight = sorted(run.run for run in snapshot.runs if run.phase == "in_flight")
    if not any(run not in waits for run in in_flight):
        return (
            f"nothing goes on: {in_flight} are in flight and wait for others, {list(snapshot.waiting)} wait for a slot"
        )
    return None


def taken_at_most(snapshot, most):
    """No pool slot is handed out beyond the cap: no more are taken than were before."""
    if snapshot.taken > most:
        return (
            f"{snapshot.taken} pool slots are taken of {snapshot.cap}, and {most} would be if none had been handed out"
        )
    return None


def everybody_woken(snapshot, runs):
    """Every run in flight has gone on."""
    asleep = sorted(run.run for run in snapshot.runs if run.phase == "in_flight" and run.run not in runs)
    if asleep:
        return f"{asleep} have a slot, and nobody woke them"
    return None


def failed(tasks):
    """What tasks ended with, those aside that were cancelled."""
    ended = [(name, task) for name, task in tasks.items() if task.done() and not task.cancelled()]
    return [f"the task of {name!r} ended with {task.exception()!r}" for name, task in ended if task.exception()]


def named(snapshot):
    """A snapshot of the port's core with the names of its runs in their place."""

    def name(run):
        return run if run is None or isinstance(run, str) else run.name

    runs = [run._replace(run=name(run.run), parent=name(run.parent)) for run in snapshot.runs]
    return snapshot._replace(
        runs=frozenset(runs),
        waiting=tuple(map(name, snapshot.waiting)),
        children=frozenset((name(parent), tuple(map(name, children))) for parent, children in snapshot.children),
    )


#: By invariant, those that a snapshot alone is enough for.
JUDGES = {
    "UnlentWithinCap": unlent_within_cap,
    "NoSlotLeak": no_slot_leak,
    "LevelWithinCap": level_within_cap,
    "OneChainPerSlot": one_chain_per_slot,
    "NoLostWakeUp": no_lost_wake_up,
    "RelendLeavesNoIdle": relend_leaves_no_idle,
}
