"""Measured times of programs that are known, and what the simulator says with a cost profile."""
