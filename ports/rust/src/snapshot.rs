//! What a pool is told, answers and shows, as plain values.

use std::collections::BTreeMap;

/// The path of a job from the root of the job tree.
pub type Job = Vec<String>;

/// Who gets a freed pool slot (R6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The job that holds the fewest slots first; jobs that hold as many stand in a line.
    #[default]
    Served,
    /// The job that holds the fewest slots first; among jobs that hold as many, the one whose run has waited longest.
    Oldest,
    /// The run that has waited longest, whatever its job.
    Fifo,
}

/// What is fixed when a pool is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Who gets a freed pool slot.
    pub order: Order,
    /// Whether a slot that comes back to a waiting parent is used again at once (R13).
    pub relend: bool,
}

/// What a run has its slot as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token {
    /// A slot of the pool.
    Pool,
    /// Its parent's slot.
    Loan,
}

impl Token {
    /// The word of the port protocol.
    pub fn name(self) -> &'static str {
        match self {
            Token::Pool => "pool",
            Token::Loan => "loan",
        }
    }
}

/// How far a known run has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It has asked and has no slot yet.
    Waiting,
    /// It has a slot and has not finished.
    InFlight,
    /// It finished while its slot was lent; the slot stays with the loan.
    Parked,
}

impl Phase {
    /// The word of the port protocol.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Waiting => "waiting",
            Phase::InFlight => "in_flight",
            Phase::Parked => "parked",
        }
    }
}

/// A run that got a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The run.
    pub run: String,
    /// What it has its slot as. Relending can change that later (R13).
    pub token: Token,
}

/// The difference that a call made to who has which slot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The runs that got a slot, in the order of the hand-off. The caller wakes them.
    pub granted: Vec<Grant>,
    /// The runs whose pool slot went back to the pool while they go on, on loan from their parent (R13).
    pub relent: Vec<String>,
}

/// One known run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunState {
    /// How far it has come.
    pub phase: Phase,
    /// What it has its slot as; none while it waits.
    pub token: Option<Token>,
    /// Whether its slot is out on loan to a child.
    pub lent: bool,
    /// 1 for a run asked without a parent, its parent's level + 1 otherwise.
    pub level: u64,
    /// The run whose slot it may borrow or borrows; none without one, or once that has finished.
    pub parent: Option<String>,
    /// Its job.
    pub job: Job,
}

/// The whole state of a pool. It holds orders and never counters or times: equal pasts that matter, equal snapshots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// How many slots there are.
    pub cap: u64,
    /// Pool slots that are out.
    pub taken: u64,
    /// Every known run by id.
    pub runs: BTreeMap<String, RunState>,
    /// The waiting runs in order of arrival.
    pub waiting: Vec<String>,
    /// For each run with children that have a slot: these, in order of admission.
    pub children: BTreeMap<String, Vec<String>>,
    /// Under [`Order::Served`], for each node of the job tree with a run waiting below it: its line.
    pub lines: BTreeMap<Job, Vec<String>>,
}
