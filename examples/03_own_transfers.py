"""Write a schedule by hand, let syccl verify it, show what it finds in a wrong one, and lower it to a program.

The schedule is an AllGather on a ring of four GPUs: in step k, GPU i hands on to GPU i + 1 what GPU i - k began with.
"""

from dataclasses import replace

import numpy as np

from syccl.collective import Demand, op_named
from syccl.lowering.lower import lower, program_of
from syccl.lowering.tasks import Wiring
from syccl.program.msccl_xml import write_xml
from syccl.program.targets import EXECUTOR
from syccl.program.verify import verify_program
from syccl.schedule import Schedule, Transfers
from syccl.schedule.verify import verify_schedule
from syccl.simulate.cost import protocol_named
from syccl.topology import Kind, Link, Node, Topology

N = 4
SIZE_BYTES = 2**20

links = [Link(i, (i + 1) % N, 50_000_000_000, 700_000) for i in range(N)]  # bytes per second, picoseconds
ring = Topology("ring", tuple(Node(f"gpu{i}", Kind.GPU) for i in range(N)), tuple(links))

step, src = (column.ravel().astype(np.int32) for column in np.mgrid[0 : N - 1, 0:N])
transfers = Transfers(
    chunk=(src - step) % N,
    src=src,
    dst=(src + 1) % N,
    route=src,  # the route of number i is the link that leaves GPU i
    reduce=np.zeros(len(src), dtype=np.bool_),
    stage=step,
    order=step * N + src,
)
demand = Demand(op_named("allgather"), ranks=N, chunks=N)
routes = tuple((i,) for i in range(N))
schedule = Schedule(ring, demand, routes, transfers, maker="by hand")
print(f"by hand: {len(verify_schedule(schedule))} findings")

columns = {name: getattr(transfers, name)[:-1] for name in Transfers.__dataclass_fields__}
for finding in verify_schedule(replace(schedule, transfers=Transfers(**columns))):
    print(f"without its last transfer: {finding.message}")

protocol = protocol_named("Simple")
lowered = lower(schedule, Wiring(1), protocol, EXECUTOR, size_bytes=SIZE_BYTES)
if lowered is not None:
    program = program_of(lowered, protocol, name="ring")
    findings = verify_program(program, size_bytes=SIZE_BYTES)
    print(f"its program: {len(findings)} findings, {lowered.seconds * 1e6:.1f} us")
    print(write_xml(program).splitlines()[0])
