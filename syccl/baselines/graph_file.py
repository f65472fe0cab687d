"""Ring orders as NCCL reads them: the graph file that ``NCCL_GRAPH_FILE`` names.

NCCL (``src/graph/search.cc`` and ``xml.cc`` of version 2.30) takes the channels of a graph from the file instead of
searching for them. A file is about one server; every channel lists its GPUs by device number in the order of the ring.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from xml.parsers import expat

from syccl.baselines.rings import Rings, ring_order
from syccl.errors import InputError
from syccl.topology import Topology

RING, PATTERN_RING = 0, 4
MOST_CHANNELS = 32
SPEEDS_GBPS = (40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3)
"""Speeds of a channel inside a server that NCCL knows below compute capability 9.0; later GPUs know higher ones too."""
LINKS = ("NVL", "NVB", "PIX", "PXB", "PHB", "SYS")
"""How GPUs reach each other: NVLink, NVLink over a GPU, one or several PCIe switches, a host bridge, sockets."""
_GB = 1e9
_NUMBER = re.compile(r"[0-9]{1,4}\Z")
_VERSION = "1"


@dataclass(frozen=True)
class RingGraph:
    """The rings of one server.

    Parameters
    ----------
    channels
        GPUs of each channel in the order of its ring, by device number.
    speed_gbps
        What each channel is taken to carry, GB/s: one of the speeds that NCCL knows.
    link
        How GPUs reach each other, as NCCL names it.
    """

    channels: tuple[tuple[int, ...], ...]
    speed_gbps: int
    link: str


def ring_graph(topology: Topology, rings: Rings, *, link: str) -> RingGraph:
    """Return the graph of some rings, each laid on as many channels as its bandwidth needs.

    Parameters
    ----------
    link
        One of ``LINKS``.

    Raises
    ------
    InputError
        When the topology is more than one server, the rings are too slow for any speed that NCCL knows, or there are
        too many of them.
    """
    servers = sorted({topology.nodes[gpu].server for gpu in topology.gpus})
    if len(servers) > 1:
        msg = (
            f"{topology.name} has {len(servers)} servers; a graph file is about one: give the topology of one server, "
            f"for example with syccl topo subset"
        )
        raise InputError(msg)
    copies = math.ceil(rings.rate / (SPEEDS_GBPS[0] * _GB))
    speed = next((speed for speed in SPEEDS_GBPS if speed * _GB * copies <= rings.rate), None)
    if speed is None:
        msg = f"rings of {rings.rate / _GB:.3g} GB/s are too slow; NCCL knows no channel below {SPEEDS_GBPS[-1]} GB/s"
        raise InputError(msg)
    orders = [tuple(ring_order(successors)) for successors in rings.successors.tolist()]
    if copies * len(orders) > MOST_CHANNELS:
        msg = f"{copies * len(orders)} channels are needed; NCCL has {MOST_CHANNELS}"
        raise InputError(msg)
    return RingGraph(tuple(orders) * copies, speed, link)


def write_graph(graph: RingGraph) -> str:
    """Return the text of a graph file."""
    count = len(graph.channels)
    lines = [
        f'<graphs version="{_VERSION}">',
        f'  <graph id="{RING}" pattern="{PATTERN_RING}" crossnic="0" nchannels="{count}" '
        f'speedintra="{graph.speed_gbps}" speedinter="{graph.speed_gbps}" latencyinter="0" typeintra="{graph.link}" '
        'typeinter="PIX" samechannels="0">',
    ]
    for channel in graph.channels:
        lines += ["    <channel>", *(f'      <gpu dev="{gpu}"/>' for gpu in channel), "    </channel>"]
    return "\n".join([*lines, "  </graph>", "</graphs>"]) + "\n"


def read_graph(text: str, *, source: str) -> RingGraph:
    """Return the ring graph that a file states; other graphs in it are left aside.

    Raises
    ------
    InputError
        When it is not well-formed, or holds no ring graph whose channels are rings over the same GPUs.
    """
    reader = _Reader()
    try:
        reader.parser.Parse(text.encode(), True)
    except expat.ExpatError as error:
        msg = f"{source}:{error.lineno}: not well-formed XML: {expat.ErrorString(error.code)}"
        raise InputError(msg) from error
    stated = reader.ring
    gpus = {frozenset(channel) for channel in reader.channels}
    if stated is None or len(gpus) != 1 or any(len(set(channel)) < len(channel) for channel in reader.channels):
        msg = f"{source}: no graph of id {RING} whose channels visit the same GPUs once each"
        raise InputError(msg)
    if stated.get("nchannels") != str(len(reader.channels)):
        msg = f"{source}: nchannels={stated.get('nchannels')!r}, but there are {len(reader.channels)} channels"
        raise InputError(msg)
    speed = stated.get("speedintra", "")
    if not _NUMBER.match(speed):
        msg = f"{source}: speedintra={speed!r} is no number of GB/s"
        raise InputError(msg)
    return RingGraph(tuple(map(tuple, reader.channels)), int(speed), stated.get("typeintra", ""))


class _Reader:
    """Collects the channels of the ring graph."""

    def __init__(self) -> None:
        self.parser = expat.ParserCreate("utf-8")
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.ring: dict[str, str] | None = None
        self.is_in = False
        self.channels: list[list[int]] = []

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "graph":
            self.is_in = attributes.get("id") == str(RING)
            self.ring = attributes if self.is_in else self.ring
        elif self.is_in and name == "channel":
            self.channels.append([])
        elif self.is_in and name == "gpu" and self.channels and _NUMBER.match(attributes.get("dev", "")):
            self.channels[-1].append(int(attributes["dev"]))

    def _end(self, name: str) -> None:
        self.is_in &= name != "graph"
