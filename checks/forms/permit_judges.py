"""The invariants of permits as functions that stand alone, as those of pools in ``judges.py``.

Each looks at snapshots in the form of `slotlending.permit.PermitSnapshot`.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

__all__ = ["PERMIT_JUDGES"]


def permit_order(snapshot):
    """No run waits for a slot while it holds a permit."""
    for permit in snapshot.permits:
        if permit.holder in snapshot.waiting:
            return f"{permit.holder!r} waits for a slot while it holds the permit of {permit.component!r}"
    return None


def permit_exclusive(snapshot):
    """A permit has one holder, and no body of its component is on but that of its holder."""
    holders = {permit.component: permit.holder for permit in snapshot.permits}
    if len(holders) != len(snapshot.permits):
        return "a component has two permits"
    for run in snapshot.present:
        if run.working and run.component is not None and holders.get(run.component) not in (None, run.run):
            return (
                f"the body of {run.run!r} is on, and {holders[run.component]!r} holds the permit of {run.component!r}"
            )
    return None


def no_permit_lost(snapshot):
    """No run queues on a free permit."""
    for permit in snapshot.permits:
        if permit.queue and permit.holder is None:
            return f"{list(permit.queue)} queue on the permit of {permit.component!r}, which nobody holds"
    return None


def holder_present(snapshot):
    """Who holds a permit or queues on it is a present run of its component."""
    components = {run.run: run.component for run in snapshot.present}
    for permit in snapshot.permits:
        for run in (permit.holder, *permit.queue):
            if run is not None and components.get(run) != permit.component:
                return f"{run!r} holds or queues on the permit of {permit.component!r}, and is no present run of it"
    return None


def works_under_permit(snapshot):
    """A body of a component is on only with its permit and a slot."""
    holders = {permit.component: permit.holder for permit in snapshot.permits}
    in_flight = {run.run for run in snapshot.runs if run.phase == "in_flight"}
    for run in snapshot.present:
        under_permit = run.component is None or holders.get(run.component) == run.run
        if run.working and not (under_permit and run.run in in_flight):
            return f"the body of {run.run!r} is on, without the permit of {run.component!r} and a slot"
    return None


def ended_holds_no_slot(snapshot, over):
    """A run that is over holds no slot, parked ones aside."""
    present = {run.run for run in snapshot.present}
    known = {run.run for run in snapshot.runs if run.phase != "parked"}
    still = sorted(run for run in over if run in present or run in known)
    if still:
        return f"{still} are over, and still present or known to the pool"
    return None


def somebody_goes_on_under_permits(snapshot, waits):
    """Some run can go on: its body waits for nothing, or it was handed its permit and waits for no slot."""
    in_flight = {run.run for run in snapshot.runs if run.phase == "in_flight"}
    holders = {permit.holder for permit in snapshot.permits}
    for run in snapshot.present:
        handed_over = run.component is not None and not run.working
        if handed_over and run.run in holders and run.run not in snapshot.waiting:
            return None
        if not handed_over and run.run in in_flight and run.run not in waits:
            return None
    return f"nothing goes on: {sorted(run.run for run in snapshot.present)} are present"


def as_permit_view(snapshot):
    """What a snapshot has of permits, to be compared field by field."""
    return {
        "present": {
            run.run: (run.component, run.key, run.lineage, run.parent, run.job, run.working) for run in snapshot.present
        },
        "permits": {permit.component: (permit.holder, tuple(permit.queue), permit.memo) for permit in snapshot.permits},
    }


#: By invariant, those that a snapshot alone is enough for.
PERMIT_JUDGES = {
    "PermitOrder": permit_order,
    "PermitExclusive": permit_exclusive,
    "NoPermitLost": no_permit_lost,
    "HolderPresent": holder_present,
    "WorksUnderPermit": works_under_permit,
}
