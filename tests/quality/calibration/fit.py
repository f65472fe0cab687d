"""Fits the cost profiles to every second measured row: ``python -m tests.quality.calibration.fit mi300x``.

Prints the profile's values. A coordinate search without randomness: each value in turn is tried a step larger and
smaller, and steps are halved when nothing helps. Rates and efficiencies of NVIDIA's profiles that are stated elsewhere
are not fitted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import fields, replace

from syccl.simulate.cost import PROTOCOLS as WIRE
from syccl.simulate.profile import PROFILES, Profile
from tests.quality.calibration.points import CLUSTERS, PROMISED, PROTOCOLS, msccl_names
from tests.quality.calibration.predict import Prediction, loss, predicted
from tests.quality.calibration.programs import program_named

_NVIDIA = ("launch_s", "LL.thread_block_rate", "LL128.step_s", "Simple.step_s")
FITTED = {
    "a100": _NVIDIA,
    "h100": _NVIDIA,
    "mi300x": ("launch_s", "wait_s", "link_efficiency",
               *(f"{name}.{what}" for name in PROMISED for what in ("thread_block_rate", "step_s", "hop_s"))),
}  # fmt: skip
"""Values of each profile that are fitted."""
MOST_BYTES = {"a100": 1 << 28, "h100": 1 << 29}
MOST_ITERATIONS = 16
"""Of the chunk loop of programs in rows that are fitted: more take long to simulate and say nothing new."""
LEAST_STEP, FIRST_STEP = 0.02, 0.32


def value_of(profile: Profile, path: str) -> float:
    """Return a value by its name, ``Simple.step_s`` for one of a protocol."""
    protocol, _, field = path.rpartition(".")
    return float(getattr(dict(profile.protocols)[protocol] if protocol else profile, field))


def with_value(profile: Profile, path: str, value: float) -> Profile:
    """Return a profile with one value changed."""
    protocol, _, field = path.rpartition(".")
    if not protocol:
        return replace(profile, **{field: value})
    costs = tuple(
        (name, replace(one, **{field: value}) if name == protocol else one) for name, one in profile.protocols
    )
    return replace(profile, protocols=costs)


def names_of(profile: str) -> list[str]:
    """Return the clusters or programs whose rows a profile is fitted to."""
    if profile == "mi300x":
        return [name for protocol in PROMISED for name in msccl_names(protocol)]
    return [name for name, cluster in CLUSTERS.items() if cluster.profile == profile and cluster.promised]


def most_bytes(profile: str, name: str) -> int:
    """Return the largest size of the rows that a profile is fitted to, of a cluster or a program."""
    if profile in MOST_BYTES:
        return MOST_BYTES[profile]
    protocol = WIRE[PROTOCOLS[name.split("_")[2]]]
    return MOST_ITERATIONS * protocol.message_bytes * program_named(name, protocol.name).chunks


def fitted(name: str) -> tuple[Profile, float]:
    """Return the profile that fits best, searched from the one that is there, and its loss."""

    def measure(profile: Profile) -> float:
        PROFILES[name] = profile
        found: list[Prediction] = []
        for one in names_of(name):
            found += predicted(one, most_bytes=most_bytes(name, one), fitted=True)
        return loss(found)

    return _searched(PROFILES[name], FITTED[name], measure)


def _searched(profile: Profile, paths: tuple[str, ...], measure: Callable[[Profile], float]) -> tuple[Profile, float]:
    best, step = measure(profile), FIRST_STEP
    while step > LEAST_STEP:
        before = best
        for path in paths:
            for factor in (1 + step, 1 / (1 + step)):
                value = value_of(profile, path) * factor
                tried = with_value(profile, path, min(value, 1.0) if path.endswith("efficiency") else value)
                if (found := measure(tried)) < best:
                    profile, best = tried, found
                    break
        sys.stderr.write(f"step {step:.3f}: loss {best:.4f}\n")
        if before - best < 0.001:
            step /= 2
    return profile, best


def main() -> None:
    """Fit one profile and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("profile", choices=FITTED)
    profile, best = fitted(parser.parse_args().profile)
    sys.stdout.write(f"loss {best:.4f}\n")
    for field in fields(Profile)[2:-1]:
        sys.stdout.write(f"{field.name} {getattr(profile, field.name):.4g}\n")
    for protocol, costs in profile.protocols:
        sys.stdout.write(f"{protocol} {' '.join(f'{f.name}={getattr(costs, f.name):.4g}' for f in fields(costs))}\n")


if __name__ == "__main__":
    main()
