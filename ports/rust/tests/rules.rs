//! The rules one by one, by the public interface.

use slotlending::{Answer, Order, Phase, Pool, Refused, Rules, Token};

fn pool(cap: u64) -> Pool {
    Pool::new(cap, Rules::default()).unwrap()
}

fn with(cap: u64, order: Order, relend: bool) -> Pool {
    Pool::new(cap, Rules { order, relend }).unwrap()
}

/// An answer in one line: `x:pool y:loan`, and `~z` for a run that was relent.
fn told(answer: Result<Answer, Refused>) -> String {
    let answer = answer.unwrap();
    let granted = answer.granted.iter().map(|grant| format!("{}:{}", grant.run, grant.token.name()));
    granted.chain(answer.relent.iter().map(|run| format!("~{run}"))).collect::<Vec<_>>().join(" ")
}

fn code(answer: Result<Answer, Refused>) -> &'static str {
    answer.unwrap_err().code()
}

#[test]
fn r1_a_cap_is_at_least_one() {
    assert_eq!(Pool::new(0, Rules::default()).err(), Some(Refused::BadCap));
    assert_eq!(code(pool(1).resize(0)), "bad_cap");
}

#[test]
fn r2_the_parents_slot_comes_before_a_pool_slot() {
    let mut pool = pool(2);
    assert_eq!(told(pool.ask("r", None, None)), "r:pool");
    assert_eq!(told(pool.ask("a", Some("r"), None)), "a:loan");
    assert_eq!(told(pool.ask("b", Some("r"), None)), "b:pool");
    assert_eq!(told(pool.ask("c", Some("r"), None)), "");
    assert_eq!(pool.snapshot().waiting, ["c"]);
    assert_eq!(pool.snapshot().children["r"], ["a", "b"]);
}

#[test]
fn r2_refusals_come_in_order_and_change_nothing() {
    let mut pool = pool(1);
    pool.ask("r", None, Some(&["app", "one"])).unwrap();
    pool.ask("w", None, None).unwrap();
    let before = pool.snapshot();
    assert_eq!(code(pool.ask("r", Some("nobody"), Some(&[]))), "run_known");
    assert_eq!(code(pool.ask("x", Some("nobody"), Some(&[]))), "parent_not_in_flight");
    assert_eq!(code(pool.ask("x", Some("w"), None)), "parent_not_in_flight");
    for job in [&[][..], &["app"], &["app", "one", "more"], &["w", "more"]] {
        assert_eq!(code(pool.ask("x", Some("r"), Some(job))), "job_not_leaf");
    }
    assert_eq!(code(pool.ask("app", None, None)), "job_not_leaf");
    assert_eq!(code(pool.finish("w")), "not_admitted");
    assert_eq!(code(pool.finish("x")), "not_known");
    assert_eq!(code(pool.cancel("x")), "not_known");
    assert_eq!(pool.snapshot(), before);
}

#[test]
fn r2_try_ask_waits_for_nothing() {
    let mut pool = pool(1);
    assert_eq!(told(pool.try_ask("r", None, None)), "r:pool");
    let before = pool.snapshot();
    assert_eq!(told(pool.try_ask("x", None, Some(&["a", "b"]))), "");
    assert_eq!(pool.snapshot(), before);
    assert_eq!(told(pool.try_ask("a", Some("r"), None)), "a:loan");
}

#[test]
fn r3_a_run_that_lends_is_parked_and_its_slot_comes_back_up_the_chain() {
    let mut pool = pool(1);
    for (run, parent) in [("r", None), ("a", Some("r")), ("x", Some("a")), ("s", None)] {
        pool.ask(run, parent, None).unwrap();
    }
    assert_eq!(told(pool.finish("r")), "");
    assert_eq!(told(pool.finish("a")), "");
    assert_eq!(pool.snapshot().runs["a"].phase, Phase::Parked);
    assert_eq!(code(pool.finish("a")), "not_known");
    assert_eq!(code(pool.cancel("a")), "not_known");
    assert_eq!(code(pool.ask("y", Some("a"), None)), "parent_not_in_flight");
    assert_eq!(told(pool.finish("x")), "s:pool");
    assert_eq!(pool.snapshot().runs.len(), 1);
}

#[test]
fn r3_children_of_an_ended_run_keep_level_and_place_and_lose_their_parent() {
    let mut pool = pool(2);
    pool.ask("r", None, None).unwrap();
    for run in ["a", "b", "c"] {
        pool.ask(run, Some("r"), None).unwrap();
    }
    pool.finish("r").unwrap();
    let state = pool.snapshot();
    assert_eq!(state.runs["a"].parent.as_deref(), Some("r")); // the borrower of its slot
    assert_eq!((state.runs["b"].parent.as_deref(), state.runs["b"].level), (None, 2));
    assert_eq!((state.waiting, state.runs["c"].parent.as_deref()), (vec!["c".to_string()], None));
    assert_eq!(told(pool.finish("a")), "c:pool");
}

#[test]
fn r4_a_loan_goes_to_the_longest_waiting_child() {
    let mut pool = pool(1);
    for (run, parent) in [("r", None), ("a", Some("r")), ("s", None), ("b", Some("r")), ("c", Some("r"))] {
        pool.ask(run, parent, None).unwrap();
    }
    assert_eq!(told(pool.finish("a")), "b:loan");
    assert_eq!(told(pool.cancel("b")), "c:loan");
    assert_eq!(told(pool.cancel("c")), "");
    assert_eq!(told(pool.finish("r")), "s:pool");
}

#[test]
fn r5_a_cancelled_waiter_leaves_both_queues() {
    let mut pool = pool(1);
    for (run, parent) in [("r", None), ("a", Some("r")), ("b", Some("r")), ("c", Some("r"))] {
        pool.ask(run, parent, None).unwrap();
    }
    assert_eq!(told(pool.cancel("b")), "");
    assert_eq!(told(pool.finish("a")), "c:loan");
    assert_eq!(told(pool.ask("b", Some("r"), None)), ""); // forgotten, so it may be asked again
}

/// Two jobs on one slot: `big` has two runs waiting, then `small` comes.
fn two_jobs(order: Order) -> Vec<String> {
    let mut pool = with(1, order, false);
    for (run, job) in [("b0", "big"), ("b1", "big"), ("b2", "big"), ("s1", "small"), ("s2", "small")] {
        pool.ask(run, None, Some(&[job])).unwrap();
    }
    let mut served = vec!["b0".to_string()];
    while let Some(grant) = pool.finish(served.last().unwrap()).unwrap().granted.pop() {
        served.push(grant.run);
    }
    served
}

#[test]
fn r6_orders() {
    assert_eq!(two_jobs(Order::Served), ["b0", "b1", "s1", "b2", "s2"]);
    assert_eq!(two_jobs(Order::Oldest), ["b0", "b1", "b2", "s1", "s2"]);
    assert_eq!(two_jobs(Order::Fifo), ["b0", "b1", "b2", "s1", "s2"]);
}

#[test]
fn r6_the_job_that_holds_fewest_goes_first_at_every_node() {
    let mut pool = with(2, Order::Oldest, false);
    for (run, job) in [("a", ["x", "1"]), ("b", ["x", "2"]), ("c", ["x", "1"]), ("d", ["y", "1"]), ("e", ["x", "3"])] {
        pool.ask(run, None, Some(&job)).unwrap();
    }
    assert_eq!(told(pool.finish("a")), "d:pool"); // x holds 1, y holds 0
    assert_eq!(told(pool.finish("b")), "c:pool"); // below x nobody holds: the oldest
}

#[test]
fn r6_served_shows_its_lines() {
    let mut pool = pool(1);
    for (run, job) in [("a", ["x", "1"]), ("b", ["x", "2"]), ("c", ["y", "1"]), ("d", ["x", "1"])] {
        pool.ask(run, None, Some(&job)).unwrap();
    }
    let lines = pool.snapshot().lines;
    assert_eq!(lines[&vec![]], ["x", "y"]);
    assert_eq!(lines[&vec!["x".to_string()]], ["2", "1"]);
    assert_eq!(lines.len(), 3);
}

#[test]
fn r8_raising_serves_and_lowering_revokes_nothing() {
    let mut pool = pool(1);
    for run in ["a", "b", "c", "d"] {
        pool.ask(run, None, None).unwrap();
    }
    assert_eq!(told(pool.resize(3)), "b:pool c:pool");
    assert_eq!(told(pool.resize(1)), "");
    assert_eq!(told(pool.finish("a")), "");
    assert_eq!(told(pool.finish("b")), "");
    assert_eq!(told(pool.finish("c")), "d:pool");
}

#[test]
fn r13_a_waiting_parent_lends_to_the_child_admitted_first() {
    let mut pool = with(2, Order::Served, true);
    pool.ask("r", None, None).unwrap();
    for run in ["a", "b"] {
        pool.ask(run, Some("r"), None).unwrap();
    }
    pool.ask("s", None, None).unwrap();
    assert_eq!(told(pool.finish("a")), "s:pool ~b");
    assert_eq!(pool.snapshot().runs["b"].token, Some(Token::Loan));
}

#[test]
fn a_pool_without_runs_remembers_nothing() {
    let mut pool = pool(1);
    let empty = pool.snapshot();
    for round in 0..3 {
        let run = format!("run {round}");
        pool.ask(&run, None, Some(&["deep", "er", &run])).unwrap();
        pool.finish(&run).unwrap();
    }
    assert_eq!(pool.snapshot(), empty);
}
