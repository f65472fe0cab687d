"""Many jobs on one fabric: what they put on links, and how they slow each other down."""

from syccl.traffic.flows import Flow, ecmp_choice, flows_of, link_seconds
from syccl.traffic.jobs import Collective, Job, read_jobs
from syccl.traffic.pairs import direct_pairs, plan_pairs, ring_pairs
from syccl.traffic.simulate import Load, Progress, simulate

__all__ = [
    "Collective",
    "Flow",
    "Job",
    "Load",
    "Progress",
    "direct_pairs",
    "ecmp_choice",
    "flows_of",
    "link_seconds",
    "plan_pairs",
    "read_jobs",
    "ring_pairs",
    "simulate",
]
