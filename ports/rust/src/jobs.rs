//! The jobs that have known runs, as a tree, and R6: which waiter gets a freed pool slot.
//!
//! Every node, the root and the leaf jobs included, has the queue of the runs that wait at or below it, by arrival; the
//! root's is the pool's queue. Every node but the root stands in its parent's line as long as its queue is not empty,
//! under the key `(held, place)`. The place is what the tie-break says: under `served` a number drawn when the node
//! joins the line and again when it goes to the end, under `oldest` the arrival of the first in its queue.
//!
//! Each call but [`Jobs::pick`] costs O(log n) for each node from the leaf to the root; so does a pick, downwards.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use slab::Slab;

use crate::fault::{self, Fault};
use crate::refused::Refused;
use crate::snapshot::{Job, Order};

/// Where a node is in the tree, as long as a known run lies at or below it.
pub(crate) type NodeKey = usize;
/// Where a run is in the pool, as long as it is known.
pub(crate) type RunKey = usize;
/// When a run started to wait: a number that only grows.
pub(crate) type Arrival = u64;

#[derive(Default)]
struct Node {
    name: String,
    up: Option<NodeKey>,
    below: HashMap<String, NodeKey>,
    /// Known runs of this very job.
    runs: usize,
    /// Pool slots charged to runs at or below, parked ones included.
    held: u64,
    queue: BTreeMap<Arrival, RunKey>,
    place: u64,
    /// The nodes below that have a run waiting, least first.
    line: BTreeSet<(u64, u64, NodeKey)>,
}

pub(crate) struct Jobs {
    order: Order,
    nodes: Slab<Node>,
    root: NodeKey,
    places: u64,
}

impl Jobs {
    pub(crate) fn new(order: Order) -> Jobs {
        let mut nodes = Slab::new();
        let root = nodes.insert(Node::default());
        Jobs { order, nodes, root, places: 0 }
    }

    /// Refuses a job that is empty, or above or below a job that has a known run (R2).
    pub(crate) fn judge(&self, job: &[&str]) -> Result<(), Refused> {
        let refused = || Refused::JobNotLeaf { job: job.iter().map(ToString::to_string).collect() };
        let mut node = &self.nodes[self.root];
        for (depth, &name) in job.iter().enumerate() {
            match node.below.get(name) {
                Some(&key) => node = &self.nodes[key],
                None => return Ok(()),
            }
            if node.runs > 0 && depth + 1 < job.len() {
                return Err(refused());
            }
        }
        if job.is_empty() || !node.below.is_empty() { Err(refused()) } else { Ok(()) }
    }

    /// One more known run of this job, which was judged.
    pub(crate) fn enter(&mut self, job: &[&str]) -> NodeKey {
        let mut key = self.root;
        for &name in job {
            key = match self.nodes[key].below.get(name) {
                Some(&below) => below,
                None => {
                    let node = Node { name: name.to_string(), up: Some(key), ..Node::default() };
                    let below = self.nodes.insert(node);
                    self.nodes[key].below.insert(name.to_string(), below);
                    below
                }
            };
        }
        self.nodes[key].runs += 1;
        key
    }

    /// One more known run of the job at this node.
    pub(crate) fn enter_at(&mut self, key: NodeKey) -> NodeKey {
        self.nodes[key].runs += 1;
        key
    }

    /// One known run of this job fewer. A node without known runs is forgotten.
    pub(crate) fn leave(&mut self, mut key: NodeKey) {
        self.nodes[key].runs -= 1;
        while let Node { runs: 0, up: Some(up), ref below, .. } = self.nodes[key]
            && below.is_empty()
        {
            let gone = self.nodes.remove(key);
            self.nodes[up].below.remove(&gone.name);
            key = up;
        }
    }

    /// The run of this job starts to wait.
    pub(crate) fn queue(&mut self, key: NodeKey, run: RunKey, arrival: Arrival) {
        for key in self.upwards(key) {
            let place = if self.order == Order::Oldest { arrival } else { self.next_place() };
            self.update(key, |node| {
                if node.queue.is_empty() {
                    node.place = place;
                }
                node.queue.insert(arrival, run);
            });
        }
    }

    /// The run of this job waits no longer. `served`: because it was granted a pool slot.
    pub(crate) fn unqueue(&mut self, key: NodeKey, arrival: Arrival, served: bool) {
        for key in self.upwards(key) {
            let end = self.next_place();
            let order = self.order;
            self.update(key, |node| {
                node.queue.remove(&arrival);
                match (order, node.queue.first_key_value()) {
                    (Order::Oldest, Some((&oldest, _))) => node.place = oldest,
                    (Order::Served, Some(_)) if served && !fault::is(Fault::LineKept) => node.place = end,
                    _ => {} // nobody waits there now, or nobody moves
                }
            });
        }
    }

    /// The waiter whom the next pool slot goes to (R6).
    pub(crate) fn pick(&self) -> Option<RunKey> {
        let mut node = &self.nodes[self.root];
        while let Some(&(_, _, key)) = node.line.first() {
            node = &self.nodes[key];
        }
        node.queue.first_key_value().map(|(_, &run)| run)
    }

    /// The job has taken a pool slot.
    pub(crate) fn charge(&mut self, key: NodeKey) {
        for key in self.upwards(key) {
            self.update(key, |node| node.held += 1);
        }
    }

    /// A pool slot of the job has come back.
    pub(crate) fn uncharge(&mut self, key: NodeKey) {
        for key in self.upwards(key) {
            self.update(key, |node| node.held -= 1);
        }
    }

    /// The waiting runs in order of arrival.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = RunKey> {
        self.nodes[self.root].queue.values().copied()
    }

    /// The path of the job.
    pub(crate) fn path(&self, key: NodeKey) -> Job {
        let mut path: Job = self.upwards(key).into_iter().map(|key| self.nodes[key].name.clone()).collect();
        path.pop(); // the root has no name
        path.reverse();
        path
    }

    /// The lines of the order `served`.
    pub(crate) fn lines(&self) -> BTreeMap<Job, Vec<String>> {
        let mut lines = BTreeMap::new();
        if self.order == Order::Served {
            for (key, node) in self.nodes.iter().filter(|(_, node)| !node.line.is_empty()) {
                let mut line: Vec<_> = node.line.iter().map(|&(_, place, key)| (place, key)).collect();
                line.sort_unstable();
                let names = line.into_iter().map(|(_, key)| self.nodes[key].name.clone());
                lines.insert(self.path(key), names.collect());
            }
        }
        lines
    }

    fn next_place(&mut self) -> u64 {
        self.places += 1;
        self.places
    }

    /// The nodes from this one to the root.
    fn upwards(&self, key: NodeKey) -> Vec<NodeKey> {
        std::iter::successors(Some(key), |&key| self.nodes[key].up).collect()
    }

    /// Changes a node, and puts it where it then belongs in its parent's line.
    fn update(&mut self, key: NodeKey, change: impl FnOnce(&mut Node)) {
        let node = &mut self.nodes[key];
        let before = (node.held, node.place, key);
        change(node);
        let after = (node.held, node.place, key);
        let waits = !node.queue.is_empty();
        if let (Some(up), true) = (node.up, self.order != Order::Fifo) {
            let line = &mut self.nodes[up].line;
            line.remove(&before);
            if waits {
                line.insert(after);
            }
        }
    }
}
