"""C4P: a path for every connection, planned at once, instead of hashes that collide."""

from syccl.traffic.c4p.connections import Connection, Ways, connections_of, ways_of
from syccl.traffic.c4p.least import Cut, least_load
from syccl.traffic.c4p.plan import PathPlan, Paths, Piece, busiest, plan_paths
from syccl.traffic.c4p.replan import Replanned, replan

__all__ = [
    "Connection",
    "Cut",
    "PathPlan",
    "Paths",
    "Piece",
    "Replanned",
    "Ways",
    "busiest",
    "connections_of",
    "least_load",
    "plan_paths",
    "replan",
    "ways_of",
]
