"""Servers that one can buy or rent: GPUs, NVLink, NICs, with where the numbers come from."""

from __future__ import annotations

from dataclasses import dataclass

from syccl.topology.generate.recipe import cables, gigabytes, span

_NVSWITCH_LATENCY = "0.35us"
_NVLINK_LATENCY = "0.7us"
_NIC_LATENCY = "0.5us"
_PCIE_LATENCY = "0.25us"


@dataclass(frozen=True)
class Machine:
    """A server: GPUs on an NVSwitch, in a full mesh or on PCIe, and NICs shared or owned by GPUs.

    Bandwidths are GB/s and direction.
    """

    source: str
    gpus: int = 8
    port: float = 0.0
    """NVLink of a GPU into the NVSwitch; 0 where there is none."""
    peer: float = 0.0
    """Direct link between each two GPUs; 0 where there is none."""
    nics: int = 8
    nic: float = 25.0

    @property
    def symmetry(self) -> int:
        """Order of the rotations of the GPUs of one server."""
        return self.gpus


A100 = Machine("DGX A100 data sheet: 12 NVLinks x 25 GB/s a GPU, 8 NICs of 200 Gb/s, one a GPU", port=300, nic=25)
H100 = Machine("DGX H100 data sheet: 18 NVLinks x 25 GB/s a GPU, 8 NICs of 400 Gb/s, one a GPU", port=450, nic=50)
B200 = Machine("DGX B200 data sheet: 18 NVLinks x 50 GB/s a GPU, 8 NICs of 400 Gb/s, one a GPU", port=900, nic=50)
P4D = Machine("AWS p4d.24xlarge: 8 A100, 4 EFA of 100 Gb/s, each for two GPUs", port=300, nics=4, nic=12.5)
P5 = Machine("AWS p5.48xlarge: 8 H100, 32 EFA of 100 Gb/s, four a GPU", port=450, nics=32, nic=12.5)
MI300X = Machine("AMD MI300X platform: 7 xGMI links x 64 GB/s a GPU, 8 NICs of 400 Gb/s", peer=64, nic=50)
RAIL_200 = Machine("HGX H800: 8 NVLinks x 25 GB/s a GPU, 8 NICs of 400 Gb/s", port=200, nic=50)


def server_lines(machine: Machine, count: int) -> list[str]:
    """Return the ``servers`` entry of so many servers."""
    lines = ["servers:", f"  - count: {count}", f"    gpus: {span('gpu', machine.gpus)}"]
    lines += [f"    nics: {span('nic', machine.nics)}"]
    if machine.port:
        lines += ["    switches: nvswitch"]
    lines += ["    links:"]
    gpus, nics = span("gpu", machine.gpus), span("nic", machine.nics)
    if machine.port:
        lines += cables(gpus, "nvswitch", gigabytes(machine.port), _NVSWITCH_LATENCY, indent=6)
    if machine.peer:
        lines += cables(gpus, gpus, gigabytes(machine.peer), _NVLINK_LATENCY, pairs="all", indent=6)
    return [*lines, *cables(gpus, nics, gigabytes(machine.nic), _NIC_LATENCY, indent=6), ""]


def pcie_lines(servers: int) -> list[str]:
    """Return servers of eight GPUs without NVLink: four PCIe switches on two sockets, a NIC on each switch."""
    switches = "[pcie0..3, socket0..1]"
    return [
        "servers:",
        f"  - count: {servers}",
        "    gpus: gpu0..7",
        "    nics: nic0..3",
        f"    switches: {switches}",
        "    links:",
        *cables("gpu0..7", "pcie0..3", "24GB/s", _PCIE_LATENCY, indent=6),
        *cables("nic0..3", "pcie0..3", "12.5GB/s", _PCIE_LATENCY, indent=6),
        *cables("pcie0..3", "socket0..1", "24GB/s", _PCIE_LATENCY, indent=6),
        *cables("socket0", "socket1", "16GB/s", _PCIE_LATENCY, indent=6),
        "",
    ]
