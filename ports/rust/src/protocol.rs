//! The port protocol, version 1: one request in, one answer out, as JSON.

use serde_json::{Map, Value, json};
use slotlending::{Answer, Order, Pool, Refused, Rules, Snapshot, Token};

const FEATURES: [&str; 10] =
    ["try_ask", "cancel", "resize", "relend", "jobs", "state", "batch", "served", "oldest", "fifo"];

/// What a request is answered with instead of what it asked for.
struct Refusal {
    code: &'static str,
    message: String,
}

impl From<Refused> for Refusal {
    fn from(refused: Refused) -> Refusal {
        Refusal { code: refused.code(), message: refused.to_string() }
    }
}

fn bad_request(message: impl Into<String>) -> Refusal {
    Refusal { code: "bad_request", message: message.into() }
}

type Request = Map<String, Value>;

/// One conversation: the pool of the last `reset`, if there was one.
#[derive(Default)]
pub struct Port {
    pool: Option<Pool>,
}

impl Port {
    /// The answer to one line. Whatever the line holds, there is one.
    pub fn answer(&mut self, line: &[u8]) -> Value {
        told(match serde_json::from_slice(line) {
            Ok(Value::Object(request)) => self.carry_out(&request),
            Ok(_) => Err(bad_request("a request is an object")),
            Err(error) => Err(bad_request(error.to_string())),
        })
    }

    fn carry_out(&mut self, request: &Request) -> Result<Value, Refusal> {
        match text(request, "op")? {
            "hello" => Ok(json!({"name": "slotlending (Rust)", "protocol": 1, "features": FEATURES})),
            "batch" => match request.get("ops") {
                Some(Value::Array(ops)) => Ok(ops.iter().map(|op| told(self.one_of_batch(op))).collect()),
                _ => Err(bad_request("ops is an array of requests")),
            },
            op => self.act(op, request),
        }
    }

    fn one_of_batch(&mut self, request: &Value) -> Result<Value, Refusal> {
        let request = request.as_object().ok_or_else(|| bad_request("a request is an object"))?;
        self.act(text(request, "op")?, request)
    }

    fn act(&mut self, op: &str, request: &Request) -> Result<Value, Refusal> {
        if op == "reset" {
            self.pool = Some(Pool::new(cap(request)?, rules(request)?)?);
            return Ok(difference(&Answer::default()));
        }
        let pool = self.pool.as_mut().ok_or_else(|| bad_request("there is no pool before the first reset"))?;
        let answer = match op {
            "ask" | "try_ask" => {
                let (run, parent, job) = (text(request, "run")?, optional_text(request, "parent")?, job(request)?);
                let ask = if op == "ask" { Pool::ask } else { Pool::try_ask };
                ask(pool, run, parent, job.as_deref())?
            }
            "finish" => pool.finish(text(request, "run")?)?,
            "cancel" => pool.cancel(text(request, "run")?)?,
            "resize" => pool.resize(cap(request)?)?,
            "state" => return Ok(state(&pool.snapshot())),
            _ => return Err(bad_request(format!("no op {op:?}"))),
        };
        Ok(difference(&answer))
    }
}

// -- members of a request ------------------------------------------------------------------------------------------

/// A member that is there: absent and null are the same.
fn member<'a>(request: &'a Request, name: &str) -> Option<&'a Value> {
    request.get(name).filter(|value| !value.is_null())
}

fn text<'a>(request: &'a Request, name: &str) -> Result<&'a str, Refusal> {
    optional_text(request, name)?.ok_or_else(|| bad_request(format!("{name} is missing")))
}

fn optional_text<'a>(request: &'a Request, name: &str) -> Result<Option<&'a str>, Refusal> {
    let text = |value: &'a Value| value.as_str().ok_or_else(|| bad_request(format!("{name} is a string")));
    member(request, name).map(text).transpose()
}

fn job(request: &Request) -> Result<Option<Vec<&str>>, Refusal> {
    let Some(value) = member(request, "job") else { return Ok(None) };
    let names = value.as_array().and_then(|names| names.iter().map(Value::as_str).collect());
    Ok(Some(names.ok_or_else(|| bad_request("job is an array of strings"))?))
}

/// What is there and is no integer >= 1 is a bad cap, whatever its type.
fn cap(request: &Request) -> Result<u64, Refusal> {
    let cap = request.get("cap").ok_or_else(|| bad_request("cap is missing"))?;
    Ok(cap.as_u64().ok_or(Refused::BadCap)?)
}

fn rules(request: &Request) -> Result<Rules, Refusal> {
    let order = match optional_text(request, "order")?.unwrap_or("fewest_held") {
        "fifo" => Order::Fifo,
        "fewest_held" => match optional_text(request, "tie")?.unwrap_or("served") {
            "served" => Order::Served,
            "oldest" => Order::Oldest,
            _ => return Err(bad_request("tie is served or oldest")),
        },
        _ => return Err(bad_request("order is fewest_held or fifo")),
    };
    let relend = match member(request, "relend") {
        None => false,
        Some(value) => value.as_bool().ok_or_else(|| bad_request("relend is true or false"))?,
    };
    Ok(Rules { order, relend })
}

// -- answers -------------------------------------------------------------------------------------------------------

fn told(answer: Result<Value, Refusal>) -> Value {
    answer.unwrap_or_else(|Refusal { code, message }| json!({"error": {"code": code, "message": message}}))
}

fn difference(answer: &Answer) -> Value {
    let granted: Value =
        answer.granted.iter().map(|grant| json!({"run": grant.run, "token": grant.token.name()})).collect();
    json!({"granted": granted, "relent": answer.relent})
}

fn state(snapshot: &Snapshot) -> Value {
    let runs: Map<String, Value> = snapshot
        .runs
        .iter()
        .map(|(id, run)| {
            let told = json!({
                "phase": run.phase.name(), "token": run.token.map_or("none", Token::name), "lent": run.lent,
                "level": run.level, "parent": run.parent, "job": run.job,
            });
            (id.clone(), told)
        })
        .collect();
    let lines: Value = snapshot.lines.iter().map(|(node, line)| json!({"node": node, "line": line})).collect();
    json!({
        "cap": snapshot.cap, "taken": snapshot.taken, "runs": runs,
        "waiting": snapshot.waiting, "children": snapshot.children, "lines": lines,
    })
}
