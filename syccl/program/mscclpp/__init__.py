"""Execution plans of MSCCL++: their form, what its executor makes of them, and whether they are right."""
