//! The refusals of the rules. A refused call changes nothing.

use std::error::Error;
use std::fmt;

use crate::snapshot::{Job, Phase};

/// Why a call was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// R1, R8: a cap is at least 1.
    BadCap,
    /// R2: the pool still knows a run of this id.
    RunKnown {
        /// The id that was asked.
        run: String,
        /// What the run of that id is doing.
        phase: Phase,
    },
    /// R2: only a run in flight can be a parent.
    ParentNotInFlight {
        /// The parent that was named.
        parent: String,
    },
    /// R2: runs belong to leaf jobs, so no job with a known run lies above or below another.
    JobNotLeaf {
        /// The job that was named, or empty.
        job: Job,
    },
    /// R3: a run that waits cannot finish; it can be cancelled.
    NotAdmitted {
        /// The run that waits.
        run: String,
    },
    /// R3, R5: never asked, finished, cancelled or parked.
    NotKnown {
        /// The id that was named.
        run: String,
    },
}

impl Refused {
    /// The code of the refusal in the port protocol.
    pub fn code(&self) -> &'static str {
        match self {
            Refused::BadCap => "bad_cap",
            Refused::RunKnown { .. } => "run_known",
            Refused::ParentNotInFlight { .. } => "parent_not_in_flight",
            Refused::JobNotLeaf { .. } => "job_not_leaf",
            Refused::NotAdmitted { .. } => "not_admitted",
            Refused::NotKnown { .. } => "not_known",
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::BadCap => write!(f, "a cap is an integer of at least 1"),
            Refused::RunKnown { run, phase } => write!(f, "run {run:?} is known: {}", phase.name()),
            Refused::ParentNotInFlight { parent } => write!(f, "parent {parent:?} is not in flight"),
            Refused::JobNotLeaf { job } if job.is_empty() => write!(f, "a job is a path of at least one name"),
            Refused::JobNotLeaf { job } => write!(f, "job {job:?} is above or below a job that has a run"),
            Refused::NotAdmitted { run } => write!(f, "run {run:?} waits for a slot, so it cannot finish"),
            Refused::NotKnown { run } => write!(f, "run {run:?} is neither waiting nor in flight"),
        }
    }
}

impl Error for Refused {}
