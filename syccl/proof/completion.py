"""What an allreduce pays until a first part of the ranks knows the sum, and afterwards.

For each byte there is a first moment at which the ranks of some part together know all contributions. Until then each
rank outside has sent its contribution out of its own part, over ways that bring it elsewhere by that moment; from then
on something comes into each other part and gets to each of its ranks. docs/bounds.md shows that no transfer of the
byte is both, so that both may spend the same budget.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from syccl.proof.board import LARGEST_PRICE, Board, Moves, WrongError
from syccl.proof.distance import INFINITE, cheapest
from syccl.proof.model import Completion, Share
from syccl.proof.symmetric import orbit_of
from syccl.proof.ways import NEVER

Longs = NDArray[np.int64]


def check_completion(board: Board, stated: Completion) -> None:
    """Check ranges of what is stated."""
    ranks = board.topology.ranks
    if board.op != "allreduce":
        raise WrongError("flow", "completion", f"{board.op} has no first part that knows the sum")
    numbers = np.unique(stated.part)
    if stated.part.shape != (ranks,) or len(numbers) < 2 or not np.array_equal(numbers, np.arange(len(numbers))):
        raise WrongError("shape", "completion", f"part must number {ranks} ranks from 0 on, two parts or more")
    times = stated.times
    if len(times) < 2 or times[0] != 0 or times[-1] != board.grid[-1] or (np.diff(times) <= 0).any():
        raise WrongError("shape", "completion", "times must ascend from 0 to the end of the grid")
    board.check_prices("completion, shared", stated.shared, len(board.ways.tail))
    for side, shares in (("before", stated.before), ("after", stated.after)):
        for share in shares:
            where = f"completion, {side}, class {share.number}, rank {share.rank}"
            if not (0 <= share.number < len(times) - 1 and 0 <= share.rank < ranks):
                raise WrongError("shape", where, "is no class of time and rank")
            board.check_prices(where, share.prices, len(board.ways.tail))


def completion_paid(board: Board, stated: Completion, whole: Moves) -> int:
    """Return what each byte pays at least beside its flows, after checking it against what is shared."""
    images = [stated.part[move] for move in whole.ranks]
    first = np.unique(stated.part, return_index=True)[1]
    if any(not np.array_equal(image, image[first][stated.part]) for image in images):
        raise WrongError("symmetry", "completion", "a permutation sends no part onto a part")
    pay = _Payments(board, stated, whole)
    before, after = pay.of(stated.before, early=True), pay.of(stated.after, early=False)
    together = before + after
    outside = stated.part[None, :] != np.arange(len(first))[:, None]
    return int((together[:, None, :] * outside[None]).sum(axis=2).min())


class _Payments:
    def __init__(self, board: Board, stated: Completion, whole: Moves) -> None:
        self.board, self.stated = board, stated
        self.ranks = orbit_of(whole.ranks, board.topology.ranks)
        orbit = orbit_of(whole.ways, len(board.ways.tail))
        self.orbits, self.place = np.unique(orbit, return_inverse=True)
        self.budget = self.summed(board.table(stated.shared, len(orbit)))

    def summed(self, prices: Longs) -> NDArray[np.object_]:
        """Return prices of ways added up over orbits, as Python numbers."""
        total = np.zeros((len(self.orbits), prices.shape[1]), dtype=np.int64)
        np.add.at(total, self.place.reshape(-1), prices)
        return total.astype(object)

    def of(self, shares: Sequence[Share], *, early: bool) -> NDArray[np.object_]:
        """Return what each rank pays at least in each class of time, shape ``(classes, ranks)``."""
        board = self.board
        side = "before" if early else "after"
        paid = np.zeros((len(self.stated.times) - 1, board.topology.ranks), dtype=object)
        spent: dict[int, NDArray[np.object_]] = {}
        seen: set[tuple[int, int]] = set()
        for share in shares:
            label = int(self.ranks[share.rank])
            where = f"completion, {side}, class {share.number}, rank {share.rank}"
            if (share.number, label) in seen:
                raise WrongError("flow", where, "is there already, or a rank of its orbit")
            seen.add((share.number, label))
            alike = self.ranks == label
            prices = board.table(share.prices, len(board.ways.tail))
            spent[share.number] = spent.get(share.number, 0 * self.budget) + int(alike.sum()) * self.summed(prices)
            if (spent[share.number] > self.budget).any():
                raise WrongError("price", where, "pays more for a way than is shared")
            paid[share.number, alike] = self._before(share, prices) if early else self._after(share, prices)
        return paid

    def _before(self, share: Share, prices: Longs) -> int:
        """Return what a rank pays at least to bring its contribution out of its part by the end of the class."""
        board, ways, part = self.board, self.board.ways, self.stated.part
        until = self.stated.times[share.number + 1]
        mine = part[ways.tail] == part[share.rank]
        leaves = mine & (part[ways.head] != part[share.rank])
        ready = board.grid[None, 1:] > ways.distance[share.rank][ways.tail][:, None]
        landed = board.grid[None, :-1] + ways.alpha[:, None]
        quickest = ways.alpha[leaves].min(initial=NEVER)
        inner = (mine & ~leaves)[:, None] & ready & (landed + quickest < until)
        least = cheapest(ways, board.arrival, prices, (inner, board.start(share.rank)))
        out = np.where(leaves[:, None] & ready & (landed < until), least[ways.tail] + prices, INFINITE)
        return min(int(out.min()), LARGEST_PRICE)

    def _after(self, share: Share, prices: Longs) -> int:
        """Return what a rank pays at least to be served from outside its part from the begin of the class on."""
        board, ways, part = self.board, self.board.ways, self.stated.part
        since = self.stated.times[share.number]
        mine = part[ways.head] == part[share.rank]
        enters = mine & (part[ways.tail] != part[share.rank])
        left = np.minimum(ways.alpha + ways.distance[:, share.rank][ways.head], NEVER)
        in_time = board.grid[None, :-1] + left[:, None] < board.grid[-1]
        inner = (mine & ~enters)[:, None] & in_time & (board.grid[None, 1:] > since)
        entering = enters[:, None] & in_time & (board.grid[None, 1:] + ways.alpha[:, None] > since)
        start = np.full((board.topology.ranks, board.intervals), INFINITE, dtype=np.int64)
        way, interval = np.nonzero(entering)
        np.minimum.at(start, (ways.head[way], board.arrival[way, interval]), prices[way, interval])
        least = cheapest(ways, board.arrival, prices, (inner, start))
        return min(int(least[share.rank, -1]), LARGEST_PRICE)
