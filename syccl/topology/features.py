"""What a cluster can do that plans and bounds do not use; whoever ignores it says so."""

from __future__ import annotations

from collections import Counter

from syccl.topology.model import WHOLE, Topology


def unused_features(topology: Topology) -> tuple[str, ...]:
    """Return a sentence for each thing that a cluster can do and that plans and bounds leave aside.

    In-network reduction and multicast (NVLS: 1 + 1/n of the buffer a port for an allreduce of n ranks, where a ring
    needs 2(n - 1)/n) can beat the bounds of plain networks; instances of one GPU share its links only where the
    topology says so.
    """
    sentences = []
    able = Counter(ability for node in topology.nodes for ability in node.traits.abilities)
    for ability, count in sorted(able.items()):
        plural = "switch" if count == 1 else "switches"
        sentences.append(
            f"{count} {plural} can {ability} in the network: plans do not use it and the bound does not count it, "
            "so a runtime that does may be faster"
        )
    shared = sum(node.traits.share_permille != WHOLE for node in topology.nodes)
    if shared:
        sentences.append(f"{shared} ranks are shares of a GPU: only the links of the topology tell what they share")
    return tuple(sentences)
