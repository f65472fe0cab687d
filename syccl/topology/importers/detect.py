"""Which importer a file is for shows from its content."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath

from syccl.errors import InputError
from syccl.topology.edge_list import read_edge_list
from syccl.topology.importers.astra import import_astra, looks_like_astra
from syccl.topology.importers.draft import Assumed, Imported
from syccl.topology.importers.nccl_model import import_nccl
from syccl.topology.importers.nccl_text import looks_like_nccl
from syccl.topology.importers.ns3 import import_ns3, looks_like_ns3
from syccl.topology.importers.smi_model import import_smi
from syccl.topology.importers.smi_text import looks_like_smi
from syccl.topology.importers.synthesizers import import_synthesizer, looks_like_synthesizer
from syccl.topology.importers.tables import import_edges, import_matrix, looks_like_edges, looks_like_matrix
from syccl.topology.yaml_file import read_yaml


@dataclass(frozen=True)
class _Importer:
    what: str
    looks_like: Callable[[str], bool]
    run: Callable[..., Imported]
    assumes: bool = False
    """Whether the importer takes values for what the file does not state."""


_IMPORTERS = {
    "nccl-xml": _Importer("topology XML of NCCL or RCCL", looks_like_nccl, import_nccl, assumes=True),
    "synthesizer": _Importer("JSON of TE-CCL, TACCL or msccl-tools", looks_like_synthesizer, import_synthesizer),
    "ns3": _Importer("ns-3 file of SimAI or ASTRA-sim", looks_like_ns3, import_ns3),
    "astra": _Importer("network YAML of ASTRA-sim", looks_like_astra, import_astra),
    "smi": _Importer("nvidia-smi topo -m or rocm-smi --showtopo", looks_like_smi, import_smi, assumes=True),
    "edges": _Importer("CSV of edges, TACOS's too", looks_like_edges, import_edges),
    "matrix": _Importer("matrix of bandwidths in GB/s", looks_like_matrix, import_matrix),
}
KINDS: dict[str, str] = {name: importer.what for name, importer in _IMPORTERS.items()}
"""What each kind of foreign file is, by the name of the kind, in the order in which they are recognised."""

_NO_RATES = "no bandwidth is stated; describe the fabric in YAML (docs/topology-format.md)"
_NO_GPUS = "switches and hosts of a fabric without their GPUs; describe the servers and the fabric in YAML"
_REFUSED = (
    ("<graphs", "a graph file of NCCL: rings and trees, not links; give the topology (NCCL_TOPO_DUMP_FILE)"),
    ('"logical-dims"', f"logical dimensions of ASTRA-sim: {_NO_RATES}"),
    ("Podsize", "a topology of htsim: tiers, not links; describe it in YAML with a fabric of leaves and spines"),
    ("SwitchName=", f"a topology of Slurm: {_NO_RATES}"),
    ("BlockName=", f"a topology of Slurm: {_NO_RATES}"),
    ("cluster_default:", f"a topology of Slurm: {_NO_RATES}"),
    ("Switchguid", f"output of ibnetdiscover: {_NO_GPUS}"),
    ("switchguid", f"output of ibnetdiscover: {_NO_GPUS}"),
    ("CA type:", "output of ibstat: ports of one host, not links; paste `nvidia-smi topo -m` of it"),
    ("xp_link", f"a torus of OpenSM: {_NO_RATES}"),
    ("GpuIDList", f"nodes of an NVLink domain in NetQ: {_NO_RATES}"),
    ("compounded_links", f"a graph of NetQ: {_NO_GPUS}"),
    ("CliqueId", "NVLink domains of nvidia-smi -q, not links; paste `nvidia-smi topo -m`"),
    ("allreduce,:", "bus bandwidths of SimAI, not links; give its topology"),
    ("Node-", "efficiencies of SimAI, not links; give its topology"),
    ("switches:", f"a model of topograph: {_NO_RATES}"),
    ("nvidia.com/gpu", f"labels of Kubernetes: {_NO_RATES}"),
    ("network_layers", f"layers of topograph: {_NO_RATES}"),
    ("NetworkNodes", f"a cloud's account of its network: {_NO_RATES}"),
    ("CACHE COHERANCY", "coherency tables of amd-smi do not say which links there are; paste `rocm-smi --showtopo`"),
)
"""What some files are that are not read, by a mark in them."""
_OWN = "a topology of syccl already; give it to --topo as it is"


def kind_of(text: str) -> str | None:
    """Return the kind of foreign file that a text is, or None."""
    return next((name for name, importer in _IMPORTERS.items() if importer.looks_like(text)), None)


def _is_own(text: str) -> bool:
    """Return whether a text needs no importer."""
    for read in (read_edge_list, read_yaml):
        with contextlib.suppress(InputError):
            read(text, source="topology")
            return True
    return False


def import_text(text: str, *, source: str, kind: str | None = None, assumed: Assumed | None = None) -> Imported:
    """Return the topology that a foreign file states, with notes on what is not certain.

    Parameters
    ----------
    text
        The file's text.
    source
        What to call the file in errors; its stem names the topology.
    kind
        One of ``KINDS``; None to tell it from the content.
    assumed
        Values for what the file does not state.

    Raises
    ------
    InputError
        When the kind is not recognised, or the file is not what its kind asks for.
    """
    found = kind or kind_of(text)
    if found is None:
        known = _OWN if _is_own(text) else next((why for mark, why in _REFUSED if mark in text), None)
        kinds = ", ".join(f"{name} ({what})" for name, what in KINDS.items())
        msg = f"{source}: {known}" if known else f"{source}: not recognised; --kind is one of {kinds}"
        raise InputError(msg)
    importer = _IMPORTERS[found]
    name = PurePath(source).stem
    extra = {"assumed": assumed or Assumed()} if importer.assumes else {}
    try:
        return importer.run(text, source=source, name=name, **extra)
    except InputError as error:
        if source in str(error):
            raise
        msg = f"{source}: {error}"
        raise InputError(msg) from None
