"""Filling a shape in."""
