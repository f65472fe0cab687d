"""From a topology file of NCCL or RCCL to a graph: NVSwitch as one node, PCIe and sockets as shared links.

Rules and numbers are those of NCCL 2.30 (src/graph/xml.cc, topo.cc); where a file is known to mislead, it is said.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations

from syccl.topology.importers.draft import Assumed, Draft, Imported
from syccl.topology.importers.hardware import (
    NVLINK_DIRECT_PS,
    NVLINK_PORT_PS,
    PCIE_PS,
    SOCKET_PS,
    product_named,
)
from syccl.topology.importers.nccl_rates import (
    HALF_CHIP,
    MB,
    UNLIMITED,
    nvlink_rate,
    pci_rate,
    socket_rate,
    xgmi_rate,
)
from syccl.topology.importers.nccl_text import Item, read_system
from syccl.topology.model import Kind

_GPU_CLASSES = ("0x03", "0x120000")
_NIC_CLASSES = ("0x02",)
_SWITCH_CLASS = "0x068000"
_HIDDEN_SWITCH = "fffffff"
_LEAST_PLAUSIBLE = 1_000 * MB
"""A PCI link below this is one of a virtual bridge or of a sleeping device."""
_LEAST_FABRIC = 5_000
"""Mbit/s of a port below which it is for management."""
_MOST_FABRIC = 10_000_000
_UNSTATED_PORT = 10_000
_PS_PER_US = 10**6


def import_nccl(text: str, *, source: str, assumed: Assumed, name: str) -> Imported:
    """Return the hosts that a topology file of NCCL or RCCL states.

    Raises
    ------
    InputError
        When the text is no such file.
    """
    systems = read_system(text, source=source)
    reader = _Reader(Draft(), assumed)
    hosts: dict[tuple[int, str], list[Item]] = {}
    for number, system in enumerate(systems):
        for cpu in system.of("cpu"):
            hosts.setdefault((number, cpu.text("host_hash", "0")), []).append(cpu)
    for index, cpus in enumerate(hosts.values()):
        reader.host(f"host{index}." if len(hosts) > 1 else "", cpus)
    return reader.finish(name, many=len(hosts) > 1)


@dataclass
class _Device:
    """A GPU that was read: its node, its element, and its PCI element."""

    node: int
    item: Item
    pci: Item
    cpu: int


@dataclass
class _Reader:
    draft: Draft
    assumed: Assumed
    gpus: dict[str, list[_Device]] = field(default_factory=dict)
    """By PCI bus id."""
    switch_rates: dict[int, int] = field(default_factory=dict)
    pci_nodes: dict[str, int] = field(default_factory=dict)
    peers: list[tuple[Item, int, int]] = field(default_factory=list)
    nvswitch: int | None = None
    """The node that stands for all NVSwitches, as in NCCL's own graph."""

    def host(self, prefix: str, cpus: list[Item]) -> None:
        server = prefix.rstrip(".")
        places: list[tuple[Item, int]] = []
        for index, cpu in enumerate(cpus):
            numa = cpu.number("numaid", index)
            node = self.draft.add(f"{prefix}numa{numa if numa >= 0 else index}", Kind.SWITCH, server)
            places.append((cpu, node))
        for cpu, node in places:
            self.below(cpu, node, cpu_node=node, prefix=prefix)
        for (one, a), (_, b) in combinations(places, 2):
            rate = socket_rate(
                one.text("arch"), one.text("vendor"), one.number("familyid", 0), one.number("modelid", 0)
            )
            self.draft.cable(a, b, rate, SOCKET_PS)
        if len(cpus) > 1 and not cpus[0].text("arch"):
            self.draft.note(cpus[0].line, "the CPU's kind is not stated: 10GB/s is taken between NUMA nodes")

    def below(self, parent: Item, node: int, *, cpu_node: int, prefix: str) -> None:
        """Add everything under a CPU or a PCI bridge whose node is given."""
        for child in parent.children:
            if child.tag == "nic":
                self.nets(child, node, UNLIMITED, prefix)
            elif child.tag == "pcilink":
                self.peers.append((child, node, child.line))
            elif child.tag == "pci":
                self.pci(child, node, cpu_node=cpu_node, prefix=prefix)

    def pci(self, item: Item, node: int, *, cpu_node: int, prefix: str, limit: int = UNLIMITED) -> None:
        kind = item.text("class")
        rate = min(limit, self.rate(item))
        inner = list(item.of("pci"))
        if any(item.of("gpu")) or (kind.startswith(_GPU_CLASSES) and not inner):
            self.gpu(item, node, rate, cpu_node=cpu_node, prefix=prefix)
        elif any(item.of("nic")) or (kind.startswith(_NIC_CLASSES) and not inner):
            self.nic(item, node, rate, prefix)
        elif len(inner) == 1 and not any(item.of("pcilink")):
            self.pci_nodes[item.text("busid")] = node
            self.pci(inner[0], node, cpu_node=cpu_node, prefix=prefix, limit=rate)
        elif inner:
            bridge = self.draft.add(self.bridge_name(item, prefix), Kind.SWITCH, prefix.rstrip("."))
            self.pci_nodes[item.text("busid")] = bridge
            self.draft.cable(node, bridge, rate, PCIE_PS)
            self.below(item, bridge, cpu_node=cpu_node, prefix=prefix)

    def bridge_name(self, item: Item, prefix: str) -> str:
        """Return the name of a PCI switch; some files of virtual machines use one bus id twice."""
        name = f"{prefix}pci-{item.text('busid')}"
        copies = sum(node.name == name or node.name.startswith(f"{name}#") for node in self.draft.nodes)
        if copies:
            self.draft.note(item.line, f"{item.text('busid')}: the bus id of another bridge too; both are kept")
        return f"{name}#{copies + 1}" if copies else name

    def rate(self, item: Item) -> int:
        """Return the bandwidth of a PCI link; of one that is stated to be idle or virtual, no limit."""
        speed, width = item.text("link_speed"), item.number("link_width", 0)
        known = pci_rate(speed, width)
        where = item.text("busid")
        if self.assumed.pcie is not None and (known is None or not speed):
            return self.assumed.pcie
        if known is None:
            if speed:
                self.draft.note(item.line, f"{where}: PCI speed {speed!r} is not known: 8 GT/s is taken, as NCCL does")
            return pci_rate("8 GT/s", width) or UNLIMITED
        if known < _LEAST_PLAUSIBLE or speed.startswith("2.5 "):
            self.draft.note(
                item.line,
                f"{where}: PCI link of {speed} x{width}: that of a virtual bridge or a sleeping device; it is taken "
                "as no limit, though NCCL takes it as stated",
            )
            return UNLIMITED
        return known

    def gpu(self, item: Item, node: int, rate: int, *, cpu_node: int, prefix: str) -> None:
        bus = item.text("busid")
        elements = list(item.of("gpu")) or [item]
        if elements[0] is item:
            self.draft.note(item.line, f"{bus}: a GPU of which nothing else is stated; NCCL fills it in at run time")
        for element in elements:
            number = sum(len(found) for found in self.gpus.values())
            gpu = self.draft.add(f"{prefix}gpu{number}", Kind.GPU, prefix.rstrip("."))
            self.draft.cable(gpu, node, rate, PCIE_PS)
            self.gpus.setdefault(prefix + bus, []).append(_Device(gpu, element, item, cpu_node))

    def nic(self, item: Item, node: int, rate: int, prefix: str) -> None:
        nics = list(item.of("nic"))
        if not nics:
            nic = self.draft.add(f"{prefix}nic-{item.text('busid')}", Kind.NIC, prefix.rstrip("."))
            self.draft.cable(nic, node, rate, PCIE_PS)
            product = product_named(self.assumed.gpu or "")
            self.draft.port(nic, self.assumed.nic or (product.nic if product else rate), 0)
            self.draft.note(item.line, f"{item.text('busid')}: a NIC of which no port is stated; its PCI rate is taken")
        for element in nics:
            self.nets(element, node, rate, prefix)

    def nets(self, item: Item, node: int, rate: int, prefix: str) -> None:
        for net in item.of("net"):
            name = f"{prefix}{net.text('name') or 'net' + net.text('dev')}"
            if any(known.name == name for known in self.draft.nodes):
                continue
            nic = self.draft.add(name, Kind.NIC, prefix.rstrip("."))
            self.draft.cable(nic, node, rate, PCIE_PS)
            speed = self.speed(net)
            if speed < _LEAST_FABRIC:
                self.draft.note(net.line, f"{name}: {speed} Mbit/s: a port for management, left out of any fabric")
            else:
                self.draft.port(nic, self.assumed.nic or speed * MB // 8, round(net.decimal("latency") * _PS_PER_US))

    def speed(self, net: Item) -> int:
        """Return Mbit/s of a port."""
        speed = net.number("speed", _UNSTATED_PORT)
        if speed <= 0:
            self.draft.note(
                net.line, f"{net.text('name')}: speed {speed}: {_UNSTATED_PORT} Mbit/s is taken, as NCCL does"
            )
            return _UNSTATED_PORT
        if speed > _MOST_FABRIC:
            self.draft.note(
                net.line, f"{net.text('name')}: speed {speed} is taken as kbit/s: no port has so many Mbit/s"
            )
            return speed // 1000
        return speed

    def finish(self, name: str, *, many: bool) -> Imported:
        self.rank_gpus()
        for devices in self.gpus.values():
            for device in devices:
                self.gpu_links(device, devices, many=many)
        for item, node, line in self.peers:
            other = self.pci_nodes.get(item.text("target"))
            if other is None:
                self.draft.note(line, f"peer link to {item.text('target')}, which is not in the file")
            elif other != node:
                self.draft.wire(node, other, UNLIMITED, 0)
        self.check()
        return self.draft.done(name)

    def rank_gpus(self) -> None:
        """Put GPUs in the order of their ranks, where all have one; leave out those without, as NCCL does."""
        devices = [device for found in self.gpus.values() for device in found]
        ranks = {device.node: device.item.number("rank", -1) for device in devices}
        stated = [rank for rank in ranks.values() if rank >= 0]
        if stated and len(stated) < len(ranks):
            without = [self.draft.nodes[node].name for node, rank in ranks.items() if rank < 0]
            self.draft.note(0, f"no rank is stated for {', '.join(without)}: NCCL would leave them out; they are kept")
        if len(set(ranks.values())) == len(ranks):
            self.draft.order = [node for node, _ in sorted(ranks.items(), key=lambda entry: entry[1])]

    def gpu_links(self, device: _Device, same_bus: list[_Device], *, many: bool) -> None:
        item = device.item
        for link in item.of("nvlink", "xgmi"):
            self.nvlink(device, link, many=many)
        for link in item.of("c2c"):
            rate = link.number("bw", 0) * max(1, link.number("count", 1)) * MB
            if rate > 0:
                self.draft.cable(device.node, device.cpu, rate, PCIE_PS)
        for other in same_bus:
            if other.node > device.node:
                self.draft.cable(device.node, other.node, HALF_CHIP, 0)
        product = product_named(self.assumed.gpu or "")
        if product and product.lanes and not any(item.of("nvlink", "xgmi", "c2c")):
            self.to_switch(device, product.lanes * (self.assumed.nvlink or product.nvlink), many=many)

    def nvlink(self, device: _Device, link: Item, *, many: bool) -> None:
        target, count = link.text("target"), link.number("count", 1)
        each = self.assumed.nvlink or self.lane(device.item)
        peers = self.gpus.get(self.prefix(device) + target)
        is_hidden = target.startswith(_HIDDEN_SWITCH)
        seen = any(not other.text("target").startswith(_HIDDEN_SWITCH) for other in device.item.of("nvlink", "xgmi"))
        if is_hidden and seen:
            self.draft.note(link.line, f"NVLink to {target}, no device, beside others that have one: counted with them")
        if link.text("tclass").startswith(_SWITCH_CLASS) or is_hidden:
            self.to_switch(device, count * each, many=many)
        elif peers is None:
            self.draft.note(link.line, f"NVLink to {target}, which is no GPU or switch of the file: left out")
        elif peers[0].node == device.node:
            self.draft.note(link.line, f"{target}: NVLink of a GPU to itself: left out")
        else:
            self.draft.wire(device.node, peers[0].node, count * each, NVLINK_DIRECT_PS)

    def lane(self, gpu: Item) -> int:
        gcn = gpu.text("gcn")
        return xgmi_rate(gcn) if gcn else nvlink_rate(gpu.number("sm", 80))

    def prefix(self, device: _Device) -> str:
        server = self.draft.nodes[device.node].server
        return f"{server}." if server else ""

    def to_switch(self, device: _Device, rate: int, *, many: bool) -> None:
        """Join a GPU to the one node that stands for all NVSwitches, or add to its port there."""
        if self.nvswitch is None:
            self.nvswitch = self.draft.add(
                "nvswitch", Kind.SWITCH, "" if many else self.draft.nodes[device.node].server
            )
        self.switch_rates[device.node] = self.switch_rates.get(device.node, 0) + rate
        self.draft.widen(device.node, self.nvswitch, self.switch_rates[device.node], NVLINK_PORT_PS)

    def check(self) -> None:
        """Note what looks broken: one-way NVLinks, GPUs without the NVLinks that others have, a file without any."""
        wires = {(link.src, link.dst) for link in self.draft.links}
        gpu = {device.node for found in self.gpus.values() for device in found}
        names = [node.name for node in self.draft.nodes]
        for src, dst in sorted(wires):
            if (dst, src) not in wires and src in gpu and dst in gpu:
                self.draft.note(0, f"{names[src]} states an NVLink to {names[dst]}, which states none back: one-way")
        widths = dict.fromkeys(sorted(gpu), 0)
        for link in self.draft.links:
            if link.src in gpu and self.is_fast(link.dst):
                widths[link.src] += link.rate
        most = max(widths.values(), default=0)
        poor = [names[node] for node in sorted(gpu) if widths[node] == 0]
        if most and poor:
            self.draft.note(0, f"no NVLink on {', '.join(poor)} although other GPUs have some")
        if not most and len(gpu) > 1 and self.assumed.gpu is None:
            self.draft.note(0, "no NVLink is stated: GPUs talk over PCIe; --gpu NAME adds a product's NVSwitch")

    def is_fast(self, node: int) -> bool:
        return self.draft.nodes[node].kind is Kind.GPU or node == self.nvswitch
