//! The conformance vectors of ../vectors, piped through the adapter as the checker would.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use serde_json::{Value, json};

/// The adapter's answers to these lines.
fn answers(script: String) -> Vec<Value> {
    let mut port = Command::new(env!("CARGO_BIN_EXE_slotlending-port"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the adapter starts");
    let mut input = port.stdin.take().unwrap();
    let writer = thread::spawn(move || input.write_all(script.as_bytes()));
    let output = port.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// What is compared of an answer: of a refusal its code, of a greeting the protocol, of lines their set.
fn compared(mut answer: Value) -> Value {
    if let Some(answers) = answer.as_array_mut() {
        return answers.drain(..).map(compared).collect();
    }
    if let Some(code) = answer.pointer("/error/code") {
        return code.clone();
    }
    if let Some(protocol) = answer.get("protocol") {
        return json!({ "protocol": protocol });
    }
    if let Some(children) = answer.get_mut("children").and_then(Value::as_object_mut) {
        children.retain(|_, runs| runs != &json!([]));
    }
    if let Some(lines) = answer.get_mut("lines").and_then(Value::as_array_mut) {
        lines.retain(|line| line["line"] != json!([]));
        lines.sort_by_key(|line| line["node"].to_string());
    }
    answer
}

#[test]
fn vectors() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../vectors");
    let paths = fs::read_dir(&folder).expect("the vectors are there").map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = paths.filter(|path| path.extension().is_some_and(|end| end == "jsonl")).collect();
    files.sort();
    assert!(!files.is_empty(), "no vectors in {}", folder.display());
    for file in files {
        let script = fs::read_to_string(&file).unwrap();
        let lines: Vec<Value> = script.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let answers = answers(script);
        assert_eq!(answers.len(), lines.len(), "{}", file.display());
        for (number, (line, answer)) in lines.into_iter().zip(answers).enumerate() {
            let place = format!("{}, line {}: {line}", file.display(), number + 1);
            assert_eq!(compared(answer), compared(line["expect"].clone()), "{place}");
        }
    }
}
