"""Write ``docs/imported-files.md``, what real files become: ``python -m tests.topology.importers.page``."""

from __future__ import annotations

from pathlib import Path

from syccl.bounds import lower_bound
from syccl.collective import op_named
from syccl.errors import InputError
from syccl.symmetry.automorphisms import find_group
from syccl.symmetry.dimensions import islands
from syccl.topology import Kind, merged
from syccl.topology.catalog import read_topology
from syccl.topology.check import disconnected_parts
from syccl.topology.importers import import_text, kind_of

REPOSITORY = Path(__file__).parents[3]
DATA = REPOSITORY.parent / "shared" / "data" / "topologies"
PAGE = REPOSITORY / "docs" / "imported-files.md"
SIZE = 2**30

HEAD = """\
# What real files become

Files that other tools wrote or people pasted, read by `syccl topo import`, or by `--topo` itself where they are edge
lists in JSON (kind `json`). This page is generated, and a test compares it where the files are at hand. *Order* is that
of the symmetry group found, *allgather* the lower bound of an allgather of 1 GiB over the GPUs of the file, *notes* how
many things were assumed or not understood; the command prints them with their lines. A file without a topology is
refused, with the reason.

| file | kind | GPUs | NICs | switches | order | allgather, us | notes |
|---|---|---:|---:|---:|---:|---:|---:|
"""


def files() -> list[Path]:
    """All files with topologies, in order of folder and name."""
    kinds = {".txt", ".xml", ".json", ".yml", ".yaml", ".csv", ".topo", ".conf", ".cfg", ".md"}
    return sorted(
        p for p in DATA.rglob("*.*") if p.suffix in kinds and p.name not in {"INDEX.md", "EXPECTED.md", "README.md"}
    )


def row(path: Path) -> str:
    """One line of the table, or of refusals."""
    name = path.relative_to(DATA).as_posix()
    text = path.read_text(encoding="utf-8")
    try:
        if path.parent.name == "bench":
            kind, notes, topology = "json", 0, read_topology(text, source=path.name)
        else:
            found = import_text(text, source=path.name)
            kind, notes, topology = str(kind_of(text)), len(found.notes), found.topology
    except InputError as error:
        reason = str(error).split("; --kind is one of")[0].removeprefix(f"{path.name}:").strip(": 0123456789")
        return f"| {name} | refused: {reason} |"
    group = find_group(topology)
    bound = "-"
    if topology.ranks > 1 and not disconnected_parts(topology):
        joined = merged(topology)
        seconds = lower_bound(
            joined, op_named("allgather"), size_bytes=SIZE, group=find_group(joined), islands=islands(joined)
        ).bandwidth_s
        bound = f"{seconds * 1e6:.1f}"
    counts = [sum(node.kind is kind_of_node for node in topology.nodes) for kind_of_node in (Kind.NIC, Kind.SWITCH)]
    return f"| {name} | {kind} | {topology.ranks} | {counts[0]} | {counts[1]} | {group.order} | {bound} | {notes} |"


def page() -> str:
    """The whole page."""
    rows = [row(path) for path in files()]
    read = [line for line in rows if "| refused: " not in line]
    refused = [line for line in rows if "| refused: " in line]
    table = "\n".join(read)
    reasons = "\n".join(line.replace("| refused: ", "| ") for line in refused)
    return f"{HEAD}{table}\n\n## Refused\n\n| file | why |\n|---|---|\n{reasons}\n"


def main() -> None:
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
