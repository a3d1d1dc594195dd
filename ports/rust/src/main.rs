//! The adapter: speaks the port protocol (../PROTOCOL.md) on standard input and output.

mod protocol;

use std::io::{self, BufRead, Write};

fn main() -> io::Result<()> {
    let mut port = protocol::Port::default();
    let mut output = io::stdout().lock();
    for line in io::stdin().lock().split(b'\n') {
        writeln!(output, "{}", port.answer(&line?))?;
        output.flush()?;
    }
    Ok(())
}
