//! Slot lending: a tree of tasks shares one pool of slots without deadlock and without losing its bound.
//!
//! A plain semaphore makes a tree of tasks hang: parents hold every slot while they wait for children that need one.
//! Giving the slot back before waiting loses the bound. Lending keeps both: **a parent keeps its slot and lends it to
//! one child at a time.**
//!
//! ```
//! use slotlending::{Pool, Rules, Token};
//!
//! let mut pool = Pool::new(1, Rules::default())?;
//! assert_eq!(pool.ask("walk", None, None)?.granted[0].token, Token::Pool);
//! assert_eq!(pool.ask("file", Some("walk"), None)?.granted[0].token, Token::Loan);
//! assert!(pool.ask("other", None, None)?.granted.is_empty()); // it waits
//! pool.finish("file")?;
//! assert_eq!(pool.finish("walk")?.granted[0].run, "other");
//! # Ok::<(), slotlending::Refused>(())
//! ```
//!
//! The pool is a state machine without clock, thread or lock. A call is one step, and its [`Answer`] says who got a
//! slot: the caller wakes those. Share it between threads behind one mutex. Run ids and names of jobs are strings.

mod fault;
mod jobs;
mod pool;
mod refused;
mod snapshot;

pub use pool::Pool;
pub use refused::Refused;
pub use snapshot::{Answer, Grant, Job, Order, Phase, Rules, RunState, Snapshot, Token};
