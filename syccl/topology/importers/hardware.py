"""What files do not say: link bandwidths and latencies of GPU products, each with its source.

Bandwidths are bytes per second and direction. Latencies are those of a wire and what it passes, in picoseconds; no file
of the kinds read here states them inside a server.
"""

from __future__ import annotations

import re
from typing import NamedTuple

GB = 10**9

NVLINK_PORT_PS = 350_000
"""GPU to NVSwitch: half of the 0.7 us from GPU to GPU of TE-CCL's dgx2.py."""
NVLINK_DIRECT_PS = 700_000
"""GPU to GPU: TE-CCL's ndv2.py."""
PCIE_PS = 250_000
"""One PCIe link: two of them and a NIC's share make the 0.5 us from GPU to NIC of the bundled clusters."""
SOCKET_PS = 250_000
NIC_PS = 500_000
"""GPU to a NIC that is linked directly, as in the bundled clusters."""


class Product(NamedTuple):
    """Links of one GPU product."""

    nvlink: int
    """Bandwidth of one NVLink or xGMI link."""
    pcie: int
    """What NCCL counts for the PCIe port: 12, 24 and 48 GB/s for x16 of generation 3, 4 and 5 (its graph/topo.cc)."""
    nic: int
    """Usual NIC of a server of such GPUs."""
    lanes: int = 0
    """NVLinks of a GPU that go to NVSwitches, where the product is used so."""


_PRODUCTS: tuple[tuple[str, Product], ...] = (
    # Data sheets: NVLink 1 20 GB/s, 2 to 4 25 GB/s, 5 50 GB/s a link; GeForce and RTX bridges 14.0625 GB/s.
    (r"P100", Product(20 * GB, 12 * GB, 12_500_000_000)),
    (r"V100", Product(25 * GB, 12 * GB, 12_500_000_000)),
    (r"A100", Product(25 * GB, 24 * GB, 25 * GB, 12)),
    (r"A800", Product(25 * GB, 24 * GB, 25 * GB, 8)),
    (r"H800", Product(25 * GB, 48 * GB, 50 * GB, 8)),
    (r"H100|H200|H20", Product(25 * GB, 48 * GB, 50 * GB, 18)),
    (r"B100|B200|B300|GB200|GB300", Product(50 * GB, 48 * GB, 50 * GB, 18)),
    (r"A6000|A5000|A4500|A40|3090", Product(14_062_500_000, 24 * GB, 12_500_000_000)),
    (r"MI300|MI325", Product(64 * GB, 48 * GB, 50 * GB)),
    (r"MI250|MI210|MI200", Product(50 * GB, 24 * GB, 25 * GB)),
)

_BY_NAME = {name: product for pattern, product in _PRODUCTS for name in pattern.split("|")} | {
    "MI300X": next(product for pattern, product in _PRODUCTS if "MI300" in pattern)
}
PRODUCT_NAMES = tuple(sorted(_BY_NAME))
"""Names by which products are known."""
_MOST_LANES = 18
_BY_LANES = {
    1: "V100",
    2: "V100",
    3: "V100",
    4: "A6000",
    5: "V100",
    6: "V100",
    8: "A800",
    12: "A100",
    18: "H100",
}
"""The usual product by the number of NVLinks between two GPUs; what is assumed is always said."""


def product_named(name: str) -> Product | None:
    """Return the links of a product by a name that contains it, such as ``NVIDIA A100-SXM4-80GB``."""
    return next((product for pattern, product in _PRODUCTS if re.search(rf"(?<![A-Z0-9])(?:{pattern})", name)), None)


def product_guess(lanes: int, *, name: str = "") -> tuple[str, Product]:
    """Return the usual product, and its name, where two GPUs share that many NVLinks; 0 for PCIe only."""
    name = name or _BY_LANES.get(lanes, "A100" if lanes < _MOST_LANES else "H100")
    return name, _BY_NAME[name]
