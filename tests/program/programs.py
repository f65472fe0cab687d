"""Programs for tests: right by construction, written step by step."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from syccl.program.ir import Buffer, Program, RankProgram, Slot, Step, StepType, ThreadBlock

NONE = Slot(Buffer.INPUT, 0)


def i(offset: int) -> Slot:
    return Slot(Buffer.INPUT, offset)


def o(offset: int) -> Slot:
    return Slot(Buffer.OUTPUT, offset)


def s(offset: int) -> Slot:
    return Slot(Buffer.SCRATCH, offset)


@dataclass
class Builder:
    """Collects steps by (rank, send peer, recv peer, channel); thread blocks are numbered as they appear."""

    collective: str
    ranks: int
    chunks: int
    scratch: int = 0
    protocol: str = "Simple"
    steps: dict[tuple[int, int, int, int], list[Step]] = field(default_factory=dict)

    def add(
        self,
        key: tuple[int, int, int, int],
        kind: str,
        *,
        src: Slot = NONE,
        dst: Slot = NONE,
        cnt: int = 1,
        after: tuple[tuple[int, int, int, int], int] | None = None,
    ) -> tuple[tuple[int, int, int, int], int]:
        """Append a step to a thread block; ``after`` is a step as returned by an earlier call."""
        depends = None
        if after is not None:
            block, index = after
            self.steps[block][index] = self.steps[block][index]._replace(has_dependents=True)
            depends = ([block for block in self.steps if block[0] == key[0]].index(block), index)
        steps = self.steps.setdefault(key, [])
        steps.append(Step(StepType(kind), src, dst, cnt, depends))
        return key, len(steps) - 1

    def build(self, *, in_place: bool = True, out_of_place: bool = True) -> Program:
        split = self.chunks // self.ranks
        inputs = split if self.collective in {"allgather", "gather"} else self.chunks
        outputs = split if self.collective in {"reducescatter", "scatter"} else self.chunks
        ranks = []
        for rank in range(self.ranks):
            keys = [key for key in self.steps if key[0] == rank]
            blocks = tuple(
                ThreadBlock(id_, key[1], key[2], key[3], tuple(self.steps[key])) for id_, key in enumerate(keys)
            )
            ranks.append(RankProgram(rank, inputs, outputs, self.scratch, blocks))
        channels = max(key[3] for key in self.steps) + 1
        return Program(
            f"{self.collective}{self.ranks}",
            self.collective,
            self.protocol,
            channels,
            self.chunks,
            tuple(ranks),
            in_place,
            out_of_place,
        )


def direct_allgather(ranks: int, share: int = 1) -> Program:
    """Every rank sends its chunks to every other one."""
    b = Builder("allgather", ranks, ranks * share)
    for r in range(ranks):
        b.add((r, -1, -1, 0), "cpy", src=i(0), dst=o(r * share), cnt=share)
        for q in range(ranks):
            if q != r:
                b.add((r, q, q, 0), "s", src=i(0), dst=o(r * share), cnt=share)
                b.add((r, q, q, 0), "r", src=i(0), dst=o(q * share), cnt=share)
    return b.build()


def ring_allreduce(ranks: int, rings: int = 1) -> Program:
    """One thread block a rank and ring: reduce around once (rrs, last rrcs), then copy around (rcs)."""
    b = Builder("allreduce", ranks, ranks * rings)
    for ring in range(rings):
        for r in range(ranks):
            key = (r, (r + 1) % ranks, (r - 1) % ranks, ring)

            def chunk(step: int, r: int = r, ring: int = ring) -> int:
                return ring * ranks + (r - step) % ranks

            b.add(key, "s", src=i(chunk(0)))
            for step in range(1, ranks - 1):
                b.add(key, "rrs", src=i(chunk(step)))
            b.add(key, "rrcs", src=i(chunk(ranks - 1)), dst=o(chunk(ranks - 1)))
            for step in range(ranks, 2 * ranks - 2):
                b.add(key, "rcs", dst=o(chunk(step)))
            b.add(key, "r", dst=o(chunk(2 * ranks - 2)))
    return b.build()


def allpairs_allreduce(ranks: int, *, protocol: str = "LL") -> Program:
    """Rank r gathers chunk r of all in scratch, reduces it and sends the sum to all; waits through no-ops."""
    b = Builder("allreduce", ranks, ranks, scratch=ranks - 1, protocol=protocol)
    for r in range(ranks):
        others = [q for q in range(ranks) if q != r]
        took = []
        for k, q in enumerate(others):
            b.add((r, q, q, 0), "s", src=i(q))
            took.append(b.add((r, q, q, 0), "r", dst=s(k)))
        local = (r, -1, -1, 0)
        first = b.add(local, "cpy", src=i(r), dst=o(r))
        for step in took[:-1]:
            b.add(local, "nop", cnt=0, after=step)
        last = first
        for k in range(ranks - 1):
            last = b.add(local, "re", src=s(k), dst=o(r), after=took[-1] if k == 0 else None)
        for q in others:
            b.add((r, q, q, 0), "s", src=o(r), after=last)
            b.add((r, q, q, 0), "r", dst=o(q))
    return b.build()


def direct_reducescatter(ranks: int, share: int = 1) -> Program:
    """Every rank sends each its part; the receiver adds up in scratch, one dependence after the other."""
    b = Builder("reducescatter", ranks, ranks * share, scratch=share)
    for r in range(ranks):
        others = [q for q in range(ranks) if q != r]
        for q in others:
            b.add((r, q, -1, 0), "s", src=i(q * share), cnt=share)
        last = None
        for k, q in enumerate(others):
            src = i(r * share) if k == 0 else s(0)
            dst = o(0) if k == len(others) - 1 else s(0)
            last = b.add((r, -1, q, 0), "rrc", src=src, dst=dst, cnt=share, after=last)
    return b.build()


def direct_alltoall(ranks: int, share: int = 1) -> Program:
    """Every pair exchanges, lower rank first; in place through scratch."""
    b = Builder("alltoall", ranks, ranks * share)
    for r in range(ranks):
        b.add((r, -1, -1, 0), "cpy", src=i(r * share), dst=o(r * share), cnt=share)
        for q in range(ranks):
            if q != r:
                b.add((r, q, q, 0), "s", src=i(q * share), cnt=share)
                b.add((r, q, q, 0), "r", dst=o(q * share), cnt=share)
    return b.build(in_place=True)


def rooted(collective: str, ranks: int, root: int, share: int = 1) -> Program:
    """Broadcast, reduce, gather or scatter straight from or to the root."""
    split = collective in {"gather", "scatter"}
    b = Builder(collective, ranks, share * (ranks if split else 1))
    at = {r: r * share if split else 0 for r in range(ranks)}
    last = None
    own_src = at[root] if collective == "scatter" else 0
    own_dst = at[root] if collective == "gather" else 0
    last = b.add((root, -1, -1, 0), "cpy", src=i(own_src), dst=o(own_dst), cnt=share)
    for r in range(ranks):
        if r == root:
            continue
        if collective in {"broadcast", "scatter"}:
            b.add((root, r, -1, 0), "s", src=i(at[r] if split else 0), cnt=share)
            b.add((r, -1, root, 0), "r", dst=o(0), cnt=share)
        else:
            b.add((r, root, -1, 0), "s", src=i(0), cnt=share)
            if collective == "gather":
                b.add((root, -1, r, 0), "r", dst=o(at[r]), cnt=share)
            else:
                last = b.add((root, -1, r, 0), "rrc", src=o(0), dst=o(0), cnt=share, after=last)
    return b.build()


def two_level_allgather(servers: int, gpus: int, share: int, channels: int = 1) -> Program:
    """Each chunk goes to the same GPU of the other servers, which forwards it to its neighbours."""
    ranks = servers * gpus
    b = Builder("allgather", ranks, ranks * share)
    for r in range(ranks):
        b.add((r, -1, -1, 0), "cpy", src=i(0), dst=o(r * share), cnt=share)
    for k in range(share):
        channel = k % channels
        for r in range(ranks):
            server, gpu = divmod(r, gpus)
            neighbours = [server * gpus + h for h in range(gpus) if h != gpu]
            target = o(r * share + k)
            for q in neighbours:
                b.add((r, q, -1, channel), "s", src=i(k), dst=target)
                b.add((q, -1, r, channel), "r", src=i(k), dst=target)
            for other in range(servers):
                if other == server:
                    continue
                entry = other * gpus + gpu
                b.add((r, entry, -1, channel), "s", src=i(k), dst=target)
                took = b.add((entry, -1, r, channel), "r", src=i(k), dst=target)
                for q in (other * gpus + h for h in range(gpus) if h != gpu):
                    b.add((entry, q, -1, channel), "s", src=target, dst=target, after=took)
                    b.add((q, -1, entry, channel), "r", src=target, dst=target)
    return b.build()


def mutated(program: Program, rank: int, block: int, change: Callable[[list[Step]], Iterable[Step]]) -> Program:
    """The program with the steps of one thread block changed."""
    owner = program.ranks[rank]
    new = replace(owner.blocks[block], steps=tuple(change(list(owner.blocks[block].steps))))
    return with_block(program, rank, block, new)


def with_block(program: Program, rank: int, block: int, new: ThreadBlock) -> Program:
    """The program with one thread block replaced."""
    owner = program.ranks[rank]
    blocks = (*owner.blocks[:block], new, *owner.blocks[block + 1 :])
    return with_rank(program, rank, replace(owner, blocks=blocks))


def with_rank(program: Program, rank: int, new: RankProgram) -> Program:
    """The program with one rank replaced."""
    return replace(program, ranks=(*program.ranks[:rank], new, *program.ranks[rank + 1 :]))
