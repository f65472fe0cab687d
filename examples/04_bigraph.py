"""AllReduce on EFLOPS's BiGraph: halving-doubling in the order of servers, and with its mapping of ranks (HDRM).

Prints for both how many flows of servers the busiest link between switches has in any step, and the time of the
schedule; with two names of files it writes both, for `syccl verify`, `compare` and `paths`.
"""

import sys
from pathlib import Path

from syccl.baselines.halving import halving_schedule, hdrm_order, most_flows
from syccl.schedule.json_file import write_json
from syccl.schedule.verify import verify_schedule
from syccl.simulate.schedule_time import schedule_time
from syccl.symmetry.dimensions import islands
from syccl.topology.catalog import read_topology
from syccl.topology.generate import Wanted, generate

SIZE_BYTES = 2**26

topology = read_topology(generate("bigraph", Wanted(dims=(2, 2))).text, source="bigraph")
servers = islands(topology)
orders = {"plain": None, "hdrm": hdrm_order(topology, servers)}
for (name, order), path in zip(orders.items(), [*sys.argv[1:3], None, None], strict=False):
    schedule = halving_schedule(topology, servers, order=order, maker=name)
    if schedule is None:
        sys.exit(f"{topology.name}: the number of servers is no power of two")
    seconds = schedule_time(schedule, size_bytes=SIZE_BYTES).seconds
    flows = max(most_flows(schedule, servers))
    print(f"{name}: {len(verify_schedule(schedule))} findings, {flows} flows on a link, {seconds * 1e6:.1f} us")
    if path is not None:
        Path(path).write_text(write_json(schedule, made_by={"order": name}), encoding="utf-8")
