"""Synthesis of collective-communication schedules for GPU clusters."""

__version__ = "0.1.0"
