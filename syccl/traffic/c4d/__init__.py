"""C4D: which part of a cluster is slow or hangs, from what its connections and ranks took."""

from syccl.traffic.c4d.diagnose import Diagnosis, Fault, diagnose, ways_joined
from syccl.traffic.c4d.records import Operations, Timings, read_records
from syccl.traffic.c4d.suspects import Suspect

__all__ = ["Diagnosis", "Fault", "Operations", "Suspect", "Timings", "diagnose", "read_records", "ways_joined"]
