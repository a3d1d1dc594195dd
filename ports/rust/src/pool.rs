//! The pool: who gets a slot, and what becomes of it.

use std::collections::{BTreeMap, HashMap};

use slab::Slab;

use crate::fault::{self, Fault};
use crate::jobs::{Arrival, Jobs, NodeKey, RunKey};
use crate::refused::Refused;
use crate::snapshot::{Answer, Grant, Phase, Rules, RunState, Snapshot, Token};

struct Run {
    id: String,
    phase: Phase,
    token: Option<Token>,
    level: u64,
    parent: Option<RunKey>,
    job: NodeKey,
    /// The child that has this run's slot on loan.
    borrower: Option<RunKey>,
    /// When it started to wait, if it waits; when it was admitted, if it has a slot.
    since: u64,
    /// Its waiting children by arrival.
    queue: BTreeMap<Arrival, RunKey>,
    /// Its children with a slot, parked ones too, by admission.
    children: BTreeMap<u64, RunKey>,
}

/// The shared slots of a tree of runs. See the crate's documentation for an example.
///
/// Every run in flight or parked has a slot: one of the pool, or its parent's on loan. So each pool slot heads a chain:
/// the run that took it, its borrower, that run's borrower, and so on down the tree. Exactly one run of a chain, the
/// last, holds the slot unlent. Hence runs that hold a slot unlent = slots taken <= cap, and, a chain having at most one
/// run a level, runs in flight <= cap x levels.
///
/// A call costs O(log n) plus as much for each grant and each level of its job; nothing walks the waiting runs.
pub struct Pool {
    cap: u64,
    /// Pool slots that are out = runs with a pool token.
    taken: u64,
    rules: Rules,
    runs: Slab<Run>,
    /// The known runs by id.
    known: HashMap<String, RunKey>,
    jobs: Jobs,
    /// The last arrival or admission.
    clock: u64,
}

impl Pool {
    /// A pool of `cap` slots (R1). Order and relending are fixed from here on.
    ///
    /// # Errors
    /// [`Refused::BadCap`] if the cap is 0.
    pub fn new(cap: u64, rules: Rules) -> Result<Pool, Refused> {
        judge_cap(cap)?;
        let jobs = Jobs::new(rules.order);
        Ok(Pool { cap, taken: 0, rules, runs: Slab::new(), known: HashMap::new(), jobs, clock: 0 })
    }

    /// Asks for a slot (R2). The answer grants it to the run at once, or the run waits for a later grant.
    ///
    /// The job is the parent's if none is named, and without a parent a job of the run's own id.
    ///
    /// # Errors
    /// [`Refused::RunKnown`], [`Refused::ParentNotInFlight`], [`Refused::JobNotLeaf`]: the first that applies.
    pub fn ask(&mut self, run: &str, parent: Option<&str>, job: Option<&[&str]>) -> Result<Answer, Refused> {
        self.admit(run, parent, job, true)
    }

    /// As [`Pool::ask`]; but where the run would have to wait, nothing is granted and nothing changes.
    ///
    /// # Errors
    /// As [`Pool::ask`].
    pub fn try_ask(&mut self, run: &str, parent: Option<&str>, job: Option<&[&str]>) -> Result<Answer, Refused> {
        self.admit(run, parent, job, false)
    }

    /// The run has ended (R3). Its slot goes on at once, or stays with its borrower until the loan comes back.
    ///
    /// # Errors
    /// [`Refused::NotAdmitted`] while it waits, [`Refused::NotKnown`] if it is not in flight otherwise.
    pub fn finish(&mut self, run: &str) -> Result<Answer, Refused> {
        let key = self.find(run)?;
        if self.runs[key].phase == Phase::Waiting {
            return Err(Refused::NotAdmitted { run: run.to_string() });
        }
        let mut answer = Answer::default();
        self.end(key, &mut answer);
        Ok(answer)
    }

    /// The run will not go on (R5): a waiting run leaves both queues, one in flight gives its slot on as if it had
    /// finished. None of its children is cancelled: a structured front end cancels those first.
    ///
    /// # Errors
    /// [`Refused::NotKnown`] if it is neither waiting nor in flight.
    pub fn cancel(&mut self, run: &str) -> Result<Answer, Refused> {
        let key = self.find(run)?;
        let mut answer = Answer::default();
        if self.runs[key].phase == Phase::Waiting {
            self.unqueue(key, false);
            self.forget(key);
            return Ok(answer);
        }
        if fault::is(Fault::CancelToPool) {
            self.runs[key].token = Some(Token::Pool);
        }
        self.end(key, &mut answer);
        Ok(answer)
    }

    /// Changes the cap (R8). Raising it serves waiters in the same step; lowering it takes nothing away.
    ///
    /// # Errors
    /// [`Refused::BadCap`] if the cap is 0.
    pub fn resize(&mut self, cap: u64) -> Result<Answer, Refused> {
        judge_cap(cap)?;
        self.cap = cap;
        let mut answer = Answer::default();
        self.serve(&mut answer);
        Ok(answer)
    }

    /// The whole state. It costs as much as there are known runs.
    pub fn snapshot(&self) -> Snapshot {
        let id = |&key: &RunKey| self.runs[key].id.clone();
        let with_children = self.runs.iter().filter(|(_, run)| !run.children.is_empty());
        Snapshot {
            cap: self.cap,
            taken: self.taken,
            runs: self.runs.iter().map(|(_, run)| (run.id.clone(), self.show(run))).collect(),
            waiting: self.jobs.waiting().map(|key| id(&key)).collect(),
            children: with_children.map(|(_, run)| (run.id.clone(), run.children.values().map(id).collect())).collect(),
            lines: self.jobs.lines(),
        }
    }

    fn show(&self, run: &Run) -> RunState {
        RunState {
            phase: run.phase,
            token: run.token,
            lent: run.borrower.is_some(),
            level: run.level,
            parent: run.parent.map(|parent| self.runs[parent].id.clone()),
            job: self.jobs.path(run.job),
        }
    }

    // -- asking ------------------------------------------------------------------------------------------------

    fn admit(
        &mut self,
        run: &str,
        parent: Option<&str>,
        job: Option<&[&str]>,
        may_wait: bool,
    ) -> Result<Answer, Refused> {
        let parent = self.judge(run, parent, job)?;
        let mut answer = Answer::default();
        if let Some(token) = self.token_at_once(parent) {
            let key = self.enter(run, parent, job);
            self.hand_over(key, token, &mut answer);
        } else if may_wait {
            let key = self.enter(run, parent, job);
            self.wait(key);
        }
        Ok(answer)
    }

    /// R2's refusals in its order, and then the parent. Nothing changes.
    fn judge(&self, run: &str, parent: Option<&str>, job: Option<&[&str]>) -> Result<Option<RunKey>, Refused> {
        if let Some(&key) = self.known.get(run) {
            return Err(Refused::RunKnown { run: run.to_string(), phase: self.runs[key].phase });
        }
        let lender = match parent {
            None => None,
            Some(id) => {
                let found = self.known.get(id).copied().filter(|&key| self.runs[key].phase == Phase::InFlight);
                Some(found.ok_or_else(|| Refused::ParentNotInFlight { parent: id.to_string() })?)
            }
        };
        match (job, lender) {
            (Some(job), _) => self.jobs.judge(job)?,
            (None, None) => self.jobs.judge(&[run])?,
            (None, Some(_)) => {} // its job has a run, so it is a leaf
        }
        Ok(lender)
    }

    /// R2.1 and R2.2: the slot that a new run of this parent takes at once, if there is one.
    fn token_at_once(&self, parent: Option<RunKey>) -> Option<Token> {
        if parent.is_some_and(|parent| self.runs[parent].borrower.is_none()) {
            Some(Token::Loan)
        } else if self.taken < self.cap {
            Some(Token::Pool)
        } else {
            None
        }
    }

    fn enter(&mut self, run: &str, parent: Option<RunKey>, job: Option<&[&str]>) -> RunKey {
        let node = match (job, parent) {
            (Some(job), _) => self.jobs.enter(job),
            (None, None) => self.jobs.enter(&[run]),
            (None, Some(parent)) => self.jobs.enter_at(self.runs[parent].job),
        };
        let key = self.runs.insert(Run {
            id: run.to_string(),
            phase: Phase::Waiting,
            token: None,
            level: parent.map_or(1, |parent| self.runs[parent].level + 1),
            parent,
            job: node,
            borrower: None,
            since: 0,
            queue: BTreeMap::new(),
            children: BTreeMap::new(),
        });
        self.known.insert(run.to_string(), key);
        key
    }

    /// R2.3: the run waits in two queues at once, its parent's and the pool's.
    fn wait(&mut self, key: RunKey) {
        let arrival = self.tick();
        let run = &mut self.runs[key];
        run.since = arrival;
        let (parent, job) = (run.parent, run.job);
        if let Some(parent) = parent {
            self.runs[parent].queue.insert(arrival, key);
        }
        self.jobs.queue(job, key, arrival);
    }

    // -- slots that go out -------------------------------------------------------------------------------------

    /// The run, in no queue (any more), has its slot from now on.
    fn hand_over(&mut self, key: RunKey, token: Token, answer: &mut Answer) {
        let admission = self.tick();
        let run = &mut self.runs[key];
        run.phase = Phase::InFlight;
        run.token = Some(token);
        run.since = admission;
        answer.granted.push(Grant { run: run.id.clone(), token });
        let (parent, job) = (run.parent, run.job);
        if let Some(parent) = parent {
            self.runs[parent].children.insert(admission, key);
        }
        match token {
            Token::Pool => {
                self.taken += 1;
                self.jobs.charge(job);
            }
            Token::Loan => self.lend(key),
        }
    }

    /// The run has its parent's slot.
    fn lend(&mut self, borrower: RunKey) {
        let lender = self.runs[borrower].parent.expect("only a child is on loan");
        self.runs[lender].borrower = Some(borrower);
    }

    /// A waiting run gets a slot: it leaves both queues in this step (R4).
    fn grant(&mut self, key: RunKey, token: Token, answer: &mut Answer) {
        self.unqueue(key, token == Token::Pool);
        self.hand_over(key, token, answer);
    }

    /// Hands out the free pool slots one by one, the order asked anew for each (R6, R7, R8).
    fn serve(&mut self, answer: &mut Answer) {
        while self.taken < self.cap
            && let Some(waiter) = self.jobs.pick()
        {
            self.grant(waiter, Token::Pool, answer);
            if fault::is(Fault::ResizeWakesOne) {
                break;
            }
        }
    }

    /// A waiting run leaves both queues.
    fn unqueue(&mut self, key: RunKey, served: bool) {
        let Run { parent, job, since, .. } = self.runs[key];
        self.jobs.unqueue(job, since, served);
        if let Some(parent) = parent
            && !(served && fault::is(Fault::StaysInQueue))
        {
            self.runs[parent].queue.remove(&since);
        }
    }

    // -- slots that come back ----------------------------------------------------------------------------------

    /// R3: a run in flight has ended. Its children lose their parent, its borrower aside.
    fn end(&mut self, key: RunKey, answer: &mut Answer) {
        let run = &mut self.runs[key];
        let borrower = run.borrower;
        let queue = std::mem::take(&mut run.queue);
        let children = std::mem::take(&mut run.children);
        for (since, child) in queue.into_iter().chain(children) {
            if Some(child) == borrower {
                self.runs[key].children.insert(since, child);
            } else {
                self.runs[child].parent = None;
            }
        }
        if borrower.is_some() {
            self.runs[key].phase = Phase::Parked;
        } else {
            self.give_back(key, answer);
        }
    }

    /// R4: the slot of a run that has ended, and holds it unlent, goes back to where it came from.
    fn give_back(&mut self, mut key: RunKey, answer: &mut Answer) {
        while self.runs[key].token == Some(Token::Loan) {
            let lender = self.forget(key).expect("only a child is on loan");
            self.runs[lender].borrower = None;
            if self.runs[lender].phase == Phase::InFlight {
                return self.loan_returned(lender, answer);
            }
            if fault::is(Fault::ParkedLeaks) {
                self.forget(lender);
                return;
            }
            key = lender; // parked: it gives its own slot back in turn
        }
        self.return_slot(key);
        self.forget(key);
        self.serve(answer);
    }

    /// An open lender has its slot back: its longest-waiting child gets it, or (R13) it relends, or it holds it.
    fn loan_returned(&mut self, lender: RunKey, answer: &mut Answer) {
        let Run { queue, children, .. } = &self.runs[lender];
        if let Some((_, &child)) = queue.first_key_value() {
            self.grant(child, Token::Loan, answer);
        } else if self.rules.relend
            && let Some((_, &child)) = if fault::is(Fault::RelendsLast) {
                children.last_key_value()
            } else {
                children.first_key_value() // on a pool slot, as all are: the one on loan has just ended
            }
        {
            self.return_slot(child);
            self.runs[child].token = Some(Token::Loan);
            self.lend(child);
            answer.relent.push(self.runs[child].id.clone());
            self.serve(answer);
        }
    }

    /// The run's pool slot comes back, uncharged before anybody is served (R4).
    fn return_slot(&mut self, key: RunKey) {
        self.taken -= 1;
        self.jobs.uncharge(self.runs[key].job);
    }

    /// The pool remembers the run no longer. Its parent, if it has one.
    fn forget(&mut self, key: RunKey) -> Option<RunKey> {
        let run = self.runs.remove(key);
        self.known.remove(&run.id);
        self.jobs.leave(run.job);
        if let Some(parent) = run.parent {
            self.runs[parent].children.remove(&run.since);
        }
        run.parent
    }

    // -- small parts -------------------------------------------------------------------------------------------

    /// A run that is waiting or in flight.
    fn find(&self, run: &str) -> Result<RunKey, Refused> {
        let found = self.known.get(run).copied().filter(|&key| self.runs[key].phase != Phase::Parked);
        found.ok_or_else(|| Refused::NotKnown { run: run.to_string() })
    }

    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }
}

fn judge_cap(cap: u64) -> Result<(), Refused> {
    if cap == 0 { Err(Refused::BadCap) } else { Ok(()) }
}
