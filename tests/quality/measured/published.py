"""The clusters of TE-CCL's published results, with its parameters.

Source: ``teccl/topologies/ndv2.py`` and ``dgx2.py`` of github.com/microsoft/TE-CCL. Rates are GB/s, latencies us. Its
runs count sizes in powers of ten. Its results for two NDv2 chassis serve 15 GPUs, as GPU 0 is declared a switch
there; here all 16 are served.
"""

from __future__ import annotations

from collections.abc import Callable

from syccl.topology import Kind, Link, Node, Topology

_DOUBLE = ((0, 1), (0, 4), (1, 3), (2, 3), (2, 6), (4, 5), (5, 7), (6, 7))
_SINGLE = ((0, 2), (0, 3), (1, 2), (1, 5), (3, 7), (4, 6), (4, 7), (5, 6))
"""NVLinks of a chassis of eight V100."""
_SENDS, _RECEIVES = 0, 1
"""The GPUs of an NDv2 chassis that talk to others."""
_DGX2 = 16


def _link(src: int, dst: int, rate: float, latency_us: float) -> Link:
    return Link(src, dst, round(rate * 1e9), round(latency_us * 1e6))


def _ndv2(chassis: int) -> tuple[list[Node], list[Link]]:
    nodes = [Node(f"c{c}.gpu{g}", Kind.GPU, f"c{c}") for c in range(chassis) for g in range(8)]
    links = []
    for base in range(0, 8 * chassis, 8):
        for pairs, rate in ((_DOUBLE, 50), (_SINGLE, 25)):
            links += [_link(base + src, base + dst, rate, 0.7) for a, b in pairs for src, dst in ((a, b), (b, a))]
    return nodes, links


def ndv2x2() -> Topology:
    """Two chassis of eight GPUs; one link each way between them."""
    nodes, links = _ndv2(2)
    links += [_link(src + _SENDS, dst + _RECEIVES, 12.5, 1.3) for src, dst in ((0, 8), (8, 0))]
    return Topology("ndv2x2", tuple(nodes), tuple(links))


def ndv2x4() -> Topology:
    """Four chassis of eight GPUs; one GPU of each sends to a switch, another receives from it."""
    nodes, links = _ndv2(4)
    switch = len(nodes)
    for base in range(0, switch, 8):
        links += [_link(base + _SENDS, switch, 12.5, 1.3), _link(switch, base + _RECEIVES, 12.5, 1.3)]
    return Topology("ndv2x4", (*nodes, Node("switch", Kind.SWITCH)), tuple(links))


def dgx2x2() -> Topology:
    """Two chassis of sixteen GPUs on an NVSwitch; odd GPUs send to the even ones just below in the other chassis."""
    nodes = [Node(f"c{c}.gpu{g}", Kind.GPU, f"c{c}") for c in range(2) for g in range(_DGX2)]
    nodes += [Node(f"c{c}.nvswitch", Kind.SWITCH, f"c{c}") for c in range(2)]
    links = []
    for gpu in range(2 * _DGX2):
        switch = 2 * _DGX2 + gpu // _DGX2
        links += [_link(gpu, switch, 125, 0.35), _link(switch, gpu, 125, 0.35)]
    for here, there in ((0, _DGX2), (_DGX2, 0)):
        links += [_link(here + odd, there + odd - 1, 12.5, 2.6) for odd in range(1, _DGX2, 2)]
    return Topology("dgx2x2", tuple(nodes), tuple(links))


PUBLISHED: dict[str, Callable[[], Topology]] = {"ndv2x2": ndv2x2, "ndv2x4": ndv2x4, "dgx2x2": dgx2x2}
