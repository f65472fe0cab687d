"""What ``syccl plan`` tells."""

from __future__ import annotations

from collections.abc import Mapping

from syccl.report.tables import Table
from syccl.traffic.outcome import Outcome

BUSIEST = 5
"""Links that people are shown."""


def traffic_record(outcome: Outcome) -> dict[str, object]:
    """Return everything for scripts, with units in the names."""
    rows = zip(outcome.jobs, outcome.loads, outcome.progress, strict=True)
    return {
        "topology": outcome.topology.name,
        "simulated_s": outcome.until_s,
        "gpu_utilisation": outcome.gpu_utilisation,
        "jobs": [
            {
                "name": job.name,
                "gpus": len(job.ranks),
                "level": load.level,
                "compute_s": load.compute_s,
                "communication_alone_s": load.alone_s,
                "iteration_alone_s": load.iteration_alone_s,
                "iteration_mean_s": done.mean_iteration_s,
                "iteration_longest_s": done.longest_iteration_s,
                "iterations": done.iterations,
                "completion_s": done.completion_s,
                "gpu_utilisation": done.computed_s / done.held_s if done.held_s else 0.0,
            }
            for job, load, done in rows
        ],
        "link_utilisation": {
            f"{link}:{outcome.topology.link_name(link)}": share for link, share in outcome.link_utilisation.items()
        },
    }


def jobs_table(outcome: Outcome) -> Table:
    """Return a row for each job and one for all."""
    rows = []
    for job, load, done in zip(outcome.jobs, outcome.loads, outcome.progress, strict=True):
        busy = done.computed_s / done.held_s if done.held_s else 0.0
        mean = f"{done.mean_iteration_s:.4g}" if done.iterations else "-"
        complete = "-" if done.completion_s is None else f"{done.completion_s:.4g}"
        alone = f"{load.iteration_alone_s:.4g}"
        gpus = str(len(job.ranks))
        rows.append((job.name, gpus, str(load.level), alone, mean, str(done.iterations), complete, f"{busy:.1%}"))
    gpus = str(sum(len(job.ranks) for job in outcome.jobs))
    rows.append(("all", gpus, "", "", "", "", "", f"{outcome.gpu_utilisation:.1%}"))
    header = ("job", "GPUs", "level", "iteration alone s", "iteration s", "iterations", "complete after s", "GPUs busy")
    return Table(rows, header, frozenset(range(1, 8)))


def busiest_table(outcome: Outcome) -> Table:
    """Return the links that are busiest."""
    ranked = sorted(outcome.link_utilisation.items(), key=lambda item: (-item[1], item[0]))[:BUSIEST]
    return Table(
        [(outcome.topology.link_name(link), f"{share:.1%}") for link, share in ranked],
        ("busiest links", "busy"),
        frozenset({1}),
    )


def comparison_record(outcomes: Mapping[str, Outcome]) -> dict[str, object]:
    """Return what each policy reaches, for scripts; all outcomes are of the same jobs, ``crux`` is one of them."""
    return {
        "policies": {
            name: {
                "gpu_utilisation": outcome.gpu_utilisation,
                "crux_gain": crux_gain(outcomes, name),
                "iteration_over_alone_mean": outcome.mean_slowdown,
                "iteration_over_alone_worst": outcome.worst_slowdown,
                "complete": outcome.complete,
                "completion_mean_s": outcome.mean_completion_s,
            }
            for name, outcome in outcomes.items()
        }
    }


def comparison_table(outcomes: Mapping[str, Outcome]) -> Table:
    """Return a row for each policy."""
    rows = []
    for name, outcome in outcomes.items():
        busy, gain, mean_s = outcome.gpu_utilisation, crux_gain(outcomes, name), outcome.mean_completion_s
        slow = f"{outcome.mean_slowdown:.3f}", f"{outcome.worst_slowdown:.3f}"
        after = "-" if mean_s is None else f"{mean_s:.4g}"
        rows.append((name, f"{busy:.2%}", f"{gain:+.2%}", *slow, str(outcome.complete), after))
    header = ("policy", "GPUs busy", "crux over it", "iteration / alone", "worst", "complete", "after s, mean")
    return Table(rows, header, frozenset(range(1, 7)))


def crux_gain(outcomes: Mapping[str, Outcome], name: str) -> float:
    """Return by how much GPUs are busier with Crux than with a policy, as a share of the latter."""
    busy = outcomes[name].gpu_utilisation
    return outcomes["crux"].gpu_utilisation / busy - 1 if busy else 0.0
