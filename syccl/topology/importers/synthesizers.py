"""Inputs of other synthesizers: TE-CCL's and TACCL's JSON, the link tables of msccl-tools.

These files name a machine whose links stand in the other tool's source; the numbers here restate those.
"""

from __future__ import annotations

import json
from typing import NoReturn

from syccl.errors import InputError
from syccl.topology.importers.draft import Draft, Imported
from syccl.topology.model import Kind
from syccl.units import clipped

_GB = 10**9
_US = 10**6
_DGX1_DOUBLE = ((0, 1), (0, 4), (1, 3), (2, 3), (2, 6), (4, 5), (5, 7), (6, 7))
_DGX1_SINGLE = ((0, 2), (0, 3), (1, 2), (1, 5), (3, 7), (4, 6), (4, 7), (5, 6))
"""Pairs of GPUs of a DGX-1 with two NVLinks and with one, as SCCL, TACCL and TE-CCL number them."""
_DGX1 = (*((one, other, 2) for one, other in _DGX1_DOUBLE), *((one, other, 1) for one, other in _DGX1_SINGLE))
_MOST = 4096

Json = dict[str, object]


def looks_like_synthesizer(text: str) -> bool:
    """Return whether a JSON text is an input of TE-CCL, TACCL or msccl-tools."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(data, dict) and _kind(data) is not None


def _kind(data: Json) -> str | None:
    """Return which tool's input a JSON object is."""
    if "TopologyParams" in data:
        return "te-ccl"
    if "gpus_per_node" in data and "alpha" in data:
        return "taccl"
    if "internode_sketch" in data:
        return "taccl sketch"
    links = data.get("links")
    if "switches" not in data or not isinstance(links, list) or not links:
        return None
    square = all(isinstance(row, list) and len(row) == len(links) for row in links)
    return "msccl-tools" if square and isinstance(links[0][0], int) else None


def import_synthesizer(text: str, *, source: str, name: str) -> Imported:
    """Return the machine that an input of TE-CCL, TACCL or msccl-tools names.

    Raises
    ------
    InputError
        When the file names a machine whose links are not known here, or holds no topology.
    """
    data = json.loads(text)
    kind = _kind(data)
    if kind == "te-ccl":
        return _teccl(data["TopologyParams"], source, name)
    if kind == "taccl":
        return _taccl(data, source, name)
    if kind == "taccl sketch":
        _fail(
            source,
            "internode_sketch",
            "a sketch of TACCL says how to communicate, not over which links; give its topology",
        )
    return _msccl(data, source, name)


def _fail(source: str, field: str, problem: str) -> NoReturn:
    msg = f"{source}: {field}: {problem}"
    raise InputError(msg)


def _whole(data: Json, field: str, source: str, default: int = 1) -> int:
    value = data.get(field, default)
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= _MOST:
        _fail(source, field, f"{clipped(value)} is not a whole number from 1 to {_MOST}")
    return value


def _real(data: Json, field: str, source: str) -> float:
    value = data.get(field)
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < 1e6:
        _fail(source, field, f"{clipped(value)} is not a number from 0 up")
    return float(value)


def _teccl(data: object, source: str, name: str) -> Imported:
    if not isinstance(data, dict):
        _fail(source, "TopologyParams", f"{clipped(data)} is not an object")
    machine, chassis = str(data.get("name")), _whole(data, "chassis", source)
    alpha = data.get("alpha", [0.0, 0.0])
    if not (isinstance(alpha, list) and all(isinstance(a, int | float) and 0 <= a < 1 for a in alpha) and alpha):
        _fail(source, "TopologyParams.alpha", f"{clipped(alpha)} is not two latencies in seconds")
    inside = round(alpha[0] * 1e12)
    draft = Draft()
    if machine == "DGX1" and chassis == 1:
        _cube_mesh(draft, 0, 25 * _GB, inside)
    elif machine == "NDv2":
        _ndv2(draft, chassis)
    elif machine == "DGX2" and chassis == 2:
        _dgx2(draft)
    elif machine == "Mesh" and chassis == 1:
        _mesh(draft, _whole(data, "side_length", source), inside)
    else:
        known = "DGX1 of 1 chassis, NDv2 of any, DGX2 of 2, Mesh of 1"
        _fail(source, "TopologyParams.name", f"{clipped(machine)} of {chassis} chassis is not known; {known} are")
    return draft.done(name)


def _gpus(draft: Draft, count: int, server: str) -> list[int]:
    start = sum(node.kind is Kind.GPU for node in draft.nodes)
    return [draft.add(f"gpu{start + i}", Kind.GPU, server) for i in range(count)]


def _cube_mesh(draft: Draft, server: int, rate: int, latency_ps: int) -> list[int]:
    gpus = _gpus(draft, 8, f"server{server}")
    for one, other, lanes in _DGX1:
        draft.cable(gpus[one], gpus[other], lanes * rate, latency_ps)
    return gpus


def _ndv2(draft: Draft, chassis: int) -> None:
    """Add servers joined by one NIC each: GPU 0 sends and GPU 1 receives."""
    servers = [_cube_mesh(draft, i, 25 * _GB, 700_000) for i in range(chassis)]
    if chassis == 2:
        for one, other in ((0, 1), (1, 0)):
            draft.wire(servers[one][0], servers[other][1], 12_500_000_000, 1_300_000)
    elif chassis > 2:
        switch = draft.add("switch", Kind.SWITCH)
        for gpus in servers:
            draft.wire(gpus[0], switch, 12_500_000_000, 1_300_000)
            draft.wire(switch, gpus[1], 12_500_000_000, 1_300_000)


def _dgx2(draft: Draft) -> None:
    """Add two servers of 16 GPUs; over the network odd GPUs send, the even ones before them receive."""
    servers = []
    for server in range(2):
        gpus = _gpus(draft, 16, f"server{server}")
        switch = draft.add(f"nvswitch{server}", Kind.SWITCH, f"server{server}")
        for gpu in gpus:
            draft.cable(gpu, switch, 125 * _GB, 350_000)
        servers.append(gpus)
    for one, other in ((0, 1), (1, 0)):
        for sender in range(1, 16, 2):
            draft.wire(servers[one][sender], servers[other][sender - 1], 12_500_000_000, 2_600_000)


def _mesh(draft: Draft, side: int, latency_ps: int) -> None:
    gpus = _gpus(draft, side * side, "")
    for one in range(len(gpus)):
        for other in (one + 1, one + side):
            if other < len(gpus):
                draft.cable(gpus[one], gpus[other], 100 * _GB, latency_ps)
    draft.note(0, "as in TE-CCL's code the last GPU of a row is joined to the first of the next")


def _taccl(data: Json, source: str, name: str) -> Imported:
    """Return one server of TACCL: its 1 MB files state us per MB, the others hundredths of us per chunk."""
    machine = str(data.get("name", ""))
    size = machine.rpartition("_")[2]
    per_chunk = {"1KB": 2**10, "32KB": 2**15}.get(size)
    if per_chunk is None and size != "1MB":
        _fail(source, "name", f"{clipped(machine)} does not end in the size that its times are for: 1KB, 32KB or 1MB")
    scale = 1.0 if per_chunk is None else 0.01
    megabytes = 1.0 if per_chunk is None else per_chunk / 2**20
    betas = data.get("node_betas_list")
    if not (isinstance(betas, list) and betas and all(isinstance(b, int | float) and b > 0 for b in betas)):
        _fail(source, "node_betas_list", f"{clipped(betas)} is not a list of times per chunk")
    latency = round(_real(data, "alpha", source) * scale * _US)
    rates = [round(megabytes * 2**20 / (beta * scale) * _US) for beta in betas]
    gpus, nics = _whole(data, "gpus_per_node", source), _whole(data, "nics_per_node", source)
    remote = round(megabytes * 2**20 / (_real(data, "remote_beta", source) * scale) * _US)
    draft = Draft()
    if len(rates) == 2 and gpus == 8:
        members = _gpus(draft, 8, name)
        for one, other, lanes in _DGX1:
            draft.cable(members[one], members[other], rates[2 - lanes], latency)
    elif len(rates) == 1:
        members = _gpus(draft, gpus, name)
        switch = draft.add("nvswitch0", Kind.SWITCH, name)
        for gpu in members:
            draft.cable(gpu, switch, rates[0], latency // 2)
    else:
        _fail(
            source,
            "node_betas_list",
            f"{len(rates)} sorts of links over {gpus} GPUs; known are one, or two over 8 GPUs",
        )
    far = round(_real(data, "remote_alpha", source) * scale * _US)
    _taccl_nics(draft, members, nics, rate=remote, latency_ps=far)
    return draft.done(name)


def _taccl_nics(draft: Draft, gpus: list[int], nics: int, *, rate: int, latency_ps: int) -> None:
    for i in range(nics):
        nic = draft.add(f"nic{i}", Kind.NIC, draft.nodes[gpus[0]].server)
        for gpu in gpus[i * len(gpus) // nics : (i + 1) * len(gpus) // nics]:
            draft.cable(gpu, nic, rate, latency_ps // 2)
        draft.port(nic, rate, 0)


def _msccl(data: Json, source: str, name: str) -> Imported:
    """Return the graph of a link table, whose rows are receivers; one link counts as 25 GB/s, that of an NVLink."""
    links = data["links"]
    if not isinstance(links, list) or len(links) > _MOST:
        _fail(source, "links", f"must be a square of at most {_MOST} rows")
    if data["switches"]:
        _fail(source, "switches", "constraints of shared switches are not read; state them as nodes and links in YAML")
    draft = Draft()
    gpus = _gpus(draft, len(links), "")
    for dst, row in enumerate(links):
        for src, lanes in enumerate(row):
            if not isinstance(lanes, int) or lanes < 0:
                _fail(source, f"links[{dst}][{src}]", f"{clipped(lanes)} is not a number of links")
            if lanes and src != dst:
                draft.wire(gpus[src], gpus[dst], lanes * 25 * _GB, 700_000)
    draft.note(0, "the table states numbers of links: 25GB/s and 0.7us each are taken, as of an NVLink")
    return draft.done(name)
