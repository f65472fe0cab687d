"""Shapes of an answer."""
