"""State a cluster of one's own in YAML, make a schedule (no program), keep it as JSON, and check what was kept."""

from pathlib import Path

from syccl.collective import op_named
from syccl.pipeline import Options, synthesize
from syccl.schedule.json_file import read_json, write_json
from syccl.schedule.verify import verify_schedule
from syccl.topology.catalog import load_topology

SIZE_BYTES = 16 * 2**20

topology = load_topology(str(Path(__file__).with_name("own_cluster.yaml")))
print(f"{topology.name}: {topology.ranks} GPUs, {len(topology.links)} links")

made = synthesize(topology, op_named("allreduce"), Options(size_bytes=SIZE_BYTES, want_program=False))
print(f"bound {made.bound.seconds * 1e6:.1f} us, schedule {made.schedule_time_s * 1e6:.1f} us")

text = write_json(made.schedule, made_by={"size_bytes": SIZE_BYTES})
findings = verify_schedule(read_json(text, source="own.json"))
print("correct" if not findings else "\n".join(str(finding) for finding in findings))
