"""From the matrix of ``nvidia-smi topo -m`` to a server: NVLinks, a tree of PCIe, NICs."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

from syccl.errors import InputError
from syccl.topology.importers.draft import Assumed, Draft, Imported
from syccl.topology.importers.hardware import (
    NIC_PS,
    NVLINK_DIRECT_PS,
    NVLINK_PORT_PS,
    PCIE_PS,
    SOCKET_PS,
    Product,
    product_guess,
    product_named,
)
from syccl.topology.importers.smi_text import PEERS, Paste, Table, read_paste
from syccl.topology.model import Kind
from syccl.units import format_rate

_LEVELS = {"PIX": 1, "PXB": 2, "PHB": 3, "NODE": 4, "SYS": 5, "SOC": 5, "PCIE": 5}
"""How far two devices are apart by PCIe; clusters of one level lie inside those of the next."""
_SAME_NUMA = 4
_PLACES = {1: "bridge", 2: "pcie", 3: "root", 4: "numa"}
_MOST_LANES = 18
"""NVLinks of a GPU: where a row adds up to more, they go to a switch."""
_SOCKET_RATE = 16 * 10**9
"""What NCCL counts between two sockets of AMD processors; Intel's are 10 to 40 GB/s (its graph/topo.h)."""


def import_smi(text: str, *, source: str, assumed: Assumed, name: str) -> Imported:
    """Return the server that a pasted matrix shows.

    Raises
    ------
    InputError
        When there is no matrix of link types, or it does not say how some GPUs are connected.
    """
    paste = read_paste(text, source=source)
    table = _matrix(paste, source)
    server = _Server(table, paste, assumed, source)
    return server.build(name)


def _matrix(paste: Paste, source: str) -> Table:
    """Return the matrix of link types among everything that was pasted."""
    kinds = [table for table in paste.tables if any(_is_way(cell) for cell in table.cells.values())]
    if kinds:
        return kinds[0]
    alone = [table for table in paste.tables if len(table.columns) == 1 and set(table.cells.values()) == {"X"}]
    if alone:
        return alone[0]
    for table in paste.tables:
        if set(table.cells.values()) & set(PEERS):
            msg = (
                f"{source}:{table.line}: this is `nvidia-smi topo -p2p`, which says whether peers may talk, not over "
                "which links; paste `nvidia-smi topo -m`"
            )
            raise InputError(msg)
    what = "only weights, hops or NUMA nodes" if paste.tables else "no matrix of link types between GPUs"
    msg = f"{source}: {what}; paste the whole of `nvidia-smi topo -m` or `rocm-smi --showtopo`"
    raise InputError(msg)


def _is_way(cell: str) -> bool:
    return cell in _LEVELS or cell in {"XGMI", "XXXX"} or cell.startswith("NV")


@dataclass(frozen=True, eq=False)
class _Server:
    table: Table
    paste: Paste
    assumed: Assumed
    source: str

    @property
    def gpus(self) -> list[str]:
        return [name for name in self.table.columns if name.startswith("GPU")]

    @property
    def nics(self) -> list[str]:
        return [name for name in self.table.columns if not name.startswith(("GPU", "#"))]

    def cell(self, one: str, other: str) -> str | None:
        found = self.table.cells.get((one, other))
        back = self.table.cells.get((other, one))
        if found is not None and back is not None and found != back:
            msg = (
                f"{self.source}:{self.table.line}: {one}-{other} is {found} but {other}-{one} is {back}; "
                "the matrix must be symmetric"
            )
            raise InputError(msg)
        return back if found is None else found

    def lanes(self, one: str, other: str) -> int:
        cell = self.cell(one, other) or ""
        if cell == "XGMI":
            return 1
        return int(cell[2:]) if re.fullmatch(r"NV\d+", cell) else 0

    def build(self, name: str) -> Imported:
        draft = Draft()
        self.check(draft)
        product = self.product(draft)
        ids = {gpu: draft.add(gpu.lower(), Kind.GPU, name) for gpu in self.gpus}
        for nic in self.nics:
            ids[nic] = draft.add(self.paste.nics.get(nic, nic.lower()), Kind.NIC, name)
        joined = self.nvlinks(draft, ids, product)
        if joined:
            self.near_nics(draft, ids, product)
        else:
            self.pcie(draft, ids, product)
        return draft.done(name)

    def check(self, draft: Draft) -> None:
        """Refuse what leaves links between GPUs open, and note what else is missing."""
        unknown = [(a, b) for a, b in combinations(self.gpus, 2) if self.cell(a, b) is None]
        if unknown:
            missing = sorted({gpu for pair in unknown for gpu in pair}, key=self.gpus.index)
            msg = (
                f"{self.source}:{self.table.line}: rows {', '.join(missing)} are missing, so nothing says how these "
                "GPUs are connected to each other; paste the whole matrix"
            )
            raise InputError(msg)
        odd = [(a, b) for a, b in combinations(self.gpus, 2) if not self.is_known(a, b)]
        if odd:
            one, other = odd[0]
            words = f"{len(odd)} pairs of GPUs, such as {one}-{other}, are {self.cell(one, other)}"
            draft.note(self.table.line, f"{words}: no direct link is taken")
        self.check_nameless(draft)
        if self.paste.slices:
            draft.note(0, "GPUs are cut in MIG slices, which have no NVLink and no peer access; whole GPUs are taken")
        if not self.nics:
            draft.note(0, "no NIC in the matrix (cloud NICs such as EFA do not show there); only the server is known")

    def is_known(self, one: str, other: str) -> bool:
        cell = self.cell(one, other)
        return cell is not None and cell != "XXXX" and _is_way(cell)

    def check_nameless(self, draft: Draft) -> None:
        """Refuse a matrix without header whose columns hold GPUs that have no row."""
        nameless = [name for name in self.table.columns if name.startswith("#")]
        cells = [cell for (_, column), cell in self.table.cells.items() if column in set(nameless)]
        if any(cell == "XGMI" or cell.startswith("NV") for cell in cells):
            msg = (
                f"{self.source}:{self.table.line}: there is no header, and columns beyond the {len(self.gpus)} rows "
                "hold NVLinks: rows of GPUs are missing; paste the whole matrix with its header"
            )
            raise InputError(msg)
        if nameless:
            draft.note(self.table.line, f"there is no header: {len(nameless)} columns beyond the rows are left out")

    def product(self, draft: Draft) -> Product:
        """Return links' bandwidths: asked for, stated in the text, or those of the likeliest product."""
        names = [self.assumed.gpu] if self.assumed.gpu else sorted(set(self.paste.devices.values()))
        known = [product for product in map(product_named, names) if product is not None]
        guess, usual = self.likeliest()
        found = known[0] if known else usual
        if len(set(known)) > 1:
            draft.note(0, f"GPUs of unlike products ({', '.join(names)}): links as those of {names[0]}")
        taken = found._replace(
            nvlink=self.assumed.nvlink or found.nvlink,
            pcie=self.assumed.pcie or found.pcie,
            nic=self.assumed.nic or found.nic,
        )
        if not known:
            self.note_assumed(draft, guess, taken)
        return taken

    def likeliest(self) -> tuple[str, Product]:
        if "XGMI" in self.table.cells.values():
            return product_guess(0, name="MI300X")
        return product_guess(max((self.lanes(a, b) for a, b in combinations(self.gpus, 2)), default=0))

    def note_assumed(self, draft: Draft, guess: str, taken: Product) -> None:
        """Note the bandwidths that nobody stated, of those that are used here."""
        has_lanes = any(self.lanes(a, b) for a, b in combinations(self.gpus, 2)) and not self.paste.lanes
        used = {
            "nvlink": f"NVLink {format_rate(taken.nvlink)} a link" if has_lanes else "",
            "pcie": f"PCIe {format_rate(taken.pcie)}" if len(self.gpus) > 1 or self.nics else "",
            "nic": f"NIC {format_rate(taken.nic)}" if self.nics else "",
        }
        said = [words for field, words in used.items() if words and getattr(self.assumed, field) is None]
        if said:
            draft.note(
                0, f"no product is stated; assumed as in {guess} servers: {', '.join(said)}; --gpu NAME is better"
            )

    def lane_rate(self, gpu: str, product: Product) -> int:
        """Return the bandwidth of one NVLink of a GPU, as ``nvidia-smi nvlink -s`` states it where that is pasted."""
        stated = self.paste.lanes.get(int(re.sub(r"\D", "", gpu)))
        return round(min(stated) * 1e9) if stated and self.assumed.nvlink is None else product.nvlink

    def nvlinks(self, draft: Draft, ids: dict[str, int], product: Product) -> bool:
        """Add NVLinks, over a switch where a GPU would need too many; return whether they join all GPUs."""
        near = {gpu: [peer for peer in self.gpus if peer != gpu and self.lanes(gpu, peer)] for gpu in self.gpus}
        parts = _components(self.gpus, lambda a, b: b in near[a])
        for part in parts:
            if max(sum(self.lanes(gpu, peer) for peer in near[gpu]) for gpu in part) > _MOST_LANES:
                self.switch(draft, ids, part, product)
            else:
                for one, other in combinations(part, 2):
                    lanes = self.lanes(one, other)
                    if lanes:
                        rate = lanes * min(self.lane_rate(one, product), self.lane_rate(other, product))
                        draft.cable(ids[one], ids[other], rate, NVLINK_DIRECT_PS)
        lone = [part[0] for part in parts if len(part) == 1]
        if len(self.gpus) > len(lone) > 0:
            draft.note(0, f"{', '.join(lone)}: no NVLink although other GPUs have some")
        return len(parts) == 1 and len(self.gpus) > 1

    def switch(self, draft: Draft, ids: dict[str, int], part: Sequence[str], product: Product) -> None:
        node = draft.add(
            f"nvswitch{sum(n.kind is Kind.SWITCH for n in draft.nodes)}", Kind.SWITCH, draft.nodes[0].server
        )
        for gpu in part:
            lanes = {self.lanes(gpu, peer) for peer in part if peer != gpu}
            if len(lanes) > 1:
                draft.note(self.table.line, f"{gpu} has NVLinks of several widths to a switch; the widest is taken")
            draft.cable(ids[gpu], node, max(lanes) * self.lane_rate(gpu, product), NVLINK_PORT_PS)

    def near_nics(self, draft: Draft, ids: dict[str, int], product: Product) -> None:
        """Link every GPU to its nearest NICs, which traffic between servers passes; PCIe carries nothing else here."""
        used: set[str] = set()
        for gpu, mine in self.nearest().items():
            used |= set(mine)
            for nic in mine:
                draft.cable(ids[gpu], ids[nic], min(product.pcie, product.nic), NIC_PS)
        for nic in self.nics:
            if nic in used:
                draft.port(ids[nic], product.nic, 0)
        spare = [nic for nic in self.nics if nic not in used]
        if spare:
            draft.note(0, f"not the nearest NIC of any GPU, so left unconnected: {', '.join(spare)}")

    def nearest(self) -> dict[str, list[str]]:
        """Return the NICs at each GPU's least distance; as many GPUs and NICs at one place are matched one to one."""
        level = {(g, n): _LEVELS.get(self.cell(g, n) or "", 9) for g in self.gpus for n in self.nics}
        best = {g: min((level[g, n] for n in self.nics), default=9) for g in self.gpus}
        closest = min(best.values(), default=9)
        near = {g: [n for n in self.nics if level[g, n] == best[g] and best[g] < 9] for g in self.gpus}
        taken = {n for g in self.gpus if best[g] == closest for n in near[g]}
        near = {g: [n for n in near[g] if best[g] == closest or n in taken] or near[g] for g in self.gpus}
        matched = dict(near)
        for gpu in self.gpus:
            mates = [g for g in self.gpus if near[g] == near[gpu]]
            each, rest = divmod(len(near[gpu]), len(mates))
            if each and not rest:
                turn = mates.index(gpu) * each
                matched[gpu] = near[gpu][turn : turn + each]
            elif near[gpu]:
                matched[gpu] = [near[gpu][mates.index(gpu) * len(near[gpu]) // len(mates)]]
        return matched

    def pcie(self, draft: Draft, ids: dict[str, int], product: Product) -> None:
        """Add the tree of PCIe: bridges, switches, host bridges, NUMA nodes, and links between the last."""
        devices = [*self.gpus, *self.nics]
        tops = [(device, ids[device], [device]) for device in devices]
        for nic in self.nics:
            draft.port(ids[nic], product.nic, 0)
        rates = dict.fromkeys(self.gpus, product.pcie) | dict.fromkeys(self.nics, min(product.nic, product.pcie))
        rate_of = {ids[device]: rates[device] for device in devices}
        for level in sorted(_PLACES):
            tops = self.tier(draft, level, tops, rate_of=rate_of, rate=product.pcie)
        for (_, one, _), (_, other, _) in combinations(tops, 2):
            draft.cable(one, other, min(_SOCKET_RATE, rate_of[one], rate_of[other]), SOCKET_PS)
        if len(tops) > 1:
            draft.note(0, f"{format_rate(_SOCKET_RATE)} is assumed between NUMA nodes")

    def tier(
        self,
        draft: Draft,
        level: int,
        tops: list[tuple[str, int, list[str]]],
        *,
        rate_of: dict[int, int],
        rate: int,
    ) -> list[tuple[str, int, list[str]]]:
        """Join what is at most ``level`` apart under a new node each."""
        joined = []
        members = {top[0]: top for top in tops}
        for part in _components(list(members), lambda a, b: self.level(members[a][2], members[b][2]) <= level):
            if len(part) == 1:
                joined.append(members[part[0]])
                continue
            place = _PLACES[level]
            count = sum(node.name.startswith(place) for node in draft.nodes)
            node = draft.add(f"{place}{count}", Kind.SWITCH, draft.nodes[0].server)
            rate_of[node] = rate
            for member in part:
                draft.cable(members[member][1], node, rate_of[members[member][1]], PCIE_PS)
            joined.append((part[0], node, [device for member in part for device in members[member][2]]))
        return joined

    def level(self, some: Sequence[str], others: Sequence[str]) -> int:
        """Return how far two sets of devices are apart by PCIe; NVLinks hide it, but GPUs of one NUMA node are near."""
        levels = [_LEVELS.get(self.cell(a, b) or "", 9) for a in some for b in others]
        if min(levels) == 9 and any(self.numa(a) and self.numa(a) == self.numa(b) for a in some for b in others):
            return _SAME_NUMA
        return min(levels)

    def numa(self, device: str) -> str:
        return " ".join(self.table.rest.get(device, "").replace("N/A", " ").split())


def _components(items: Sequence[str], near: Callable[[str, str], bool]) -> list[list[str]]:
    """Return the connected parts of items, each in order, by first item."""
    parts: list[list[str]] = []
    left = list(items)
    while left:
        part, queue = [], [left.pop(0)]
        while queue:
            item = queue.pop()
            part.append(item)
            reached = [other for other in left if near(item, other)]
            left = [other for other in left if other not in reached]
            queue += reached
        parts.append(sorted(part, key=items.index))
    return parts
