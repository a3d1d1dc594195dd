"""Timed scenarios, for simulations: workloads of the posts and our own, too big to explore."""
