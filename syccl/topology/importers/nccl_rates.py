"""Bandwidths that NCCL and RCCL take for what their topology files say (src/graph/topo.h, xml.cc of NCCL 2.30)."""

from __future__ import annotations

MB = 10**6
UNLIMITED = 5000 * 10**9
"""Between parts of one device: NCCL's number for no limit."""
HALF_CHIP = 2618 * 10**9

_PCI = {"2.5": 15, "5": 30, "8": 60, "16": 120, "32": 240, "64": 480}
"""NCCL's units of 1/80 GB/s a lane, by GT/s."""
_NVLINK = ((60, 18_000), (70, 20_000), (80, 20_000), (86, 12_000), (87, 20_000), (90, 20_600), (100, 40_100))
"""MB/s of a link from that compute capability on; 86 and 60 stand for themselves alone."""
_XGMI = {"gfx906": 24_000, "gfx908": 24_000, "gfx90a": 36_000}
_XGMI_BY_NUMBER = {"906": 24_000, "908": 24_000, "910": 36_000}
_XGMI_MI300 = 48_000
_INTEL = ((0xCF, 40_000), (0x8F, 22_000), (0x55, 10_000), (0, 6_000))


def pci_rate(speed: str, width: int) -> int | None:
    """Return bytes per second of a PCI link by the text of its speed, or None where that text says nothing."""
    units = _PCI.get(speed.split(" ", maxsplit=1)[0].removesuffix(".0"))
    return None if units is None else (width or 16) * units * 10**9 // 80


def nvlink_rate(capability: int) -> int:
    """Return bytes per second of one NVLink of a GPU by its compute capability times ten."""
    if capability == 86:
        return 12_000 * MB
    found = [rate for least, rate in _NVLINK if least <= capability and least != 86]
    return (found[-1] if found else _NVLINK[0][1]) * MB


def xgmi_rate(gcn: str) -> int:
    """Return bytes per second of one xGMI link of a GPU by its architecture."""
    return _XGMI.get(gcn.split(":", maxsplit=1)[0], _XGMI_BY_NUMBER.get(gcn, _XGMI_MI300)) * MB


def socket_rate(arch: str, vendor: str, family: int, model: int) -> int:
    """Return bytes per second between two NUMA nodes of a host."""
    if arch.startswith("ppc64"):
        return 32_000 * MB
    if arch.startswith("arm"):
        return 6_000 * MB
    if vendor == "AuthenticAMD":
        return 16_000 * MB
    if vendor == "GenuineIntel" and family == 6:
        return next(rate for least, rate in _INTEL if model >= least) * MB
    if vendor in {"CentaurHauls", "Shanghai"}:
        return (9_000 if (family, model) == (7, 0x5B) else 6_000) * MB
    return 10_000 * MB
