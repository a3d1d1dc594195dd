"""The forms of a trace: what a person reads, pastes, steps through or runs."""
