"""Make a schedule from Python and look at its numbers."""

from pathlib import Path

from syccl.collective import op_named
from syccl.pipeline import Options, synthesize
from syccl.program.msccl_xml import write_xml
from syccl.topology.catalog import load_topology

SIZE_BYTES = 16 * 2**20

topology = load_topology(str(Path(__file__).with_name("own_cluster.yaml")))
made = synthesize(topology, op_named("allgather"), Options(size_bytes=SIZE_BYTES))

print(f"{made.demand.op.name} of {SIZE_BYTES} bytes over {topology.ranks} GPUs in {made.demand.chunks} chunks")
print(
    f"no schedule is faster than {made.bound.seconds * 1e6:.1f} us; this one takes {made.schedule_time_s * 1e6:.1f} us"
)
if made.program is not None and made.program_time_s is not None:
    text = write_xml(made.program)
    print(f"its program takes {made.program_time_s * 1e6:.1f} us and is a file of {len(text.splitlines())} lines")
