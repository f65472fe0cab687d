"""Make a schedule for a bundled cluster, look at its numbers, and write the file that a runtime loads."""

import sys
from pathlib import Path

from syccl.collective import op_named
from syccl.pipeline import Options, synthesize
from syccl.program.msccl_xml import write_xml
from syccl.topology.catalog import load_topology

SIZE_BYTES = 16 * 2**20

topology = load_topology("a100x8")
made = synthesize(topology, op_named("allgather"), Options(size_bytes=SIZE_BYTES))

print(f"{made.demand.op.name} of {SIZE_BYTES} bytes over {topology.ranks} GPUs in {made.demand.chunks} chunks")
print(f"bound    {made.bound.seconds * 1e6:8.1f} us: no schedule is faster")
print(f"schedule {made.schedule_time_s * 1e6:8.1f} us")
if made.program is not None and made.program_time_s is not None:
    print(f"program  {made.program_time_s * 1e6:8.1f} us")
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(write_xml(made.program), encoding="utf-8")
