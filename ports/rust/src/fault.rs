//! Mistakes to try out the checker with, one of them at a time, named by the environment variable `SLOTLENDING_FAULT`.
//!
//! Without the feature `faults` every question below is the constant `false`, and the compiler drops what it guards.

/// A mistake as a port might make it.
#[derive(Clone, Copy)]
#[cfg_attr(not(feature = "faults"), allow(dead_code))]
pub(crate) enum Fault {
    /// R5: the slot of a cancelled borrower goes to the pool instead of to its lender.
    CancelToPool,
    /// R4: a loan that comes back to a parked lender stops there, and its slot is never seen again.
    ParkedLeaks,
    /// R4: a run that gets a pool slot leaves the pool's queue and stays in its parent's.
    StaysInQueue,
    /// R8: raising the cap serves one waiter, however many slots came free.
    ResizeWakesOne,
    /// R13: the child that was admitted last goes on loan, not the first.
    RelendsLast,
    /// R6: a job keeps its place in the line after a grant.
    LineKept,
}

#[cfg(not(feature = "faults"))]
pub(crate) const fn is(_: Fault) -> bool {
    false
}

#[cfg(feature = "faults")]
pub(crate) fn is(fault: Fault) -> bool {
    use std::sync::LazyLock;
    static CHOSEN: LazyLock<Option<String>> = LazyLock::new(|| std::env::var("SLOTLENDING_FAULT").ok());
    let name = match fault {
        Fault::CancelToPool => "cancel_to_pool",
        Fault::ParkedLeaks => "parked_leaks",
        Fault::StaysInQueue => "stays_in_queue",
        Fault::ResizeWakesOne => "resize_wakes_one",
        Fault::RelendsLast => "relends_last",
        Fault::LineKept => "line_kept",
    };
    CHOSEN.as_deref() == Some(name)
}
