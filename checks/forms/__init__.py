"""The forms of a trace: each made from the same trace, and each replayed or read back before it is written."""
