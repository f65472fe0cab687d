"""Programs that were measured, and predictions of them."""

from __future__ import annotations

from itertools import pairwise

import pytest

from syccl.findings import errors
from syccl.program.verify import verify_program
from syccl.simulate.cost import PROTOCOLS
from syccl.simulate.profile import PROFILES
from tests.quality.calibration.choice import RING, TREE, choice, model_us
from tests.quality.calibration.fit import FITTED, value_of, with_value
from tests.quality.calibration.nccl import nccl_seconds
from tests.quality.calibration.points import CLUSTERS, MSCCL, points
from tests.quality.calibration.predict import Prediction, predicted
from tests.quality.calibration.programs import RANKS, program_named
from tests.quality.parts.calibration import MOST_MEDIAN, MOST_NINE_IN_TEN, quantile

NAMES = (
    "ag_allpair_x_x_1",
    "ag_allpair_x_x_8",
    "ag_ring_x_1_2",
    "ag_ring_x_4_1",
    "ar_allpair_x_x_1",
    "ar_allpair_x_x_2",
)


@pytest.fixture
def measured() -> None:
    if not points():
        pytest.skip("needs the measured rows beside the repository")


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", NAMES)
def test_programs_are_right(name: str, protocol: str) -> None:
    program = program_named(name, protocol)
    assert errors(verify_program(program)) == ()
    assert program.size == RANKS


def test_instances_and_channels_multiply() -> None:
    assert [program_named(f"ag_ring_x_{k}_{n}", "LL").channels for k, n in ((1, 1), (2, 1), (4, 2))] == [1, 2, 8]
    assert [program_named(f"ar_allpair_x_x_{n}", "LL").channels for n in (1, 2, 4)] == [1, 2, 4]


@pytest.mark.parametrize("name", [name for name, cluster in CLUSTERS.items() if cluster.promised])
def test_nccl_takes_longer_for_more(name: str) -> None:
    cluster = CLUSTERS[name]
    sizes = [1 << 10, 1 << 20, 1 << 24, 1 << 28]
    times = [nccl_seconds(cluster, "allgather", size) for size in sizes]
    assert times == sorted(times)
    assert times[0] > PROFILES[cluster.profile].launch_s


def test_nccl_takes_a_tree_for_little_on_several_servers_and_a_ring_else() -> None:
    one, two = CLUSTERS["8 x A100"], CLUSTERS["2 x DGX A100"]
    sizes = [1 << shift for shift in range(10, 31)]
    assert {choice(one, "allreduce", ranks=8, size_bytes=size)[0] for size in sizes} == {RING}
    assert {choice(two, "allgather", ranks=16, size_bytes=size)[0] for size in sizes} == {RING}
    kinds = [choice(two, "allreduce", ranks=16, size_bytes=size)[0] for size in sizes]
    changes = sum(a != b for a, b in pairwise(kinds))
    assert (kinds[0], kinds[-1], changes) == (TREE, RING, 1)


def test_nccl_takes_flags_for_little_and_none_for_much() -> None:
    for cluster, ranks in ((CLUSTERS["8 x A100"], 8), (CLUSTERS["2 x 8 H200, RoCE"], 16)):
        protocols = [choice(cluster, "allgather", ranks=ranks, size_bytes=1 << shift)[1] for shift in range(10, 31)]
        assert list(dict.fromkeys(protocols)) == ["LL", "LL128", "Simple"]


def test_the_model_is_nccl_s_for_a_ring_of_eight() -> None:
    # 14 steps of 3.4 us after 8.4 us, 24 channels of 10 GB/s carry a byte of the buffer 14/8 times.
    found = model_us(CLUSTERS["8 x A100"], "allreduce", (RING, "Simple"), ranks=8, size_bytes=1 << 30)
    assert found == pytest.approx(8.4 + 14 * 3.4 + (1 << 30) * 14 / 8 / 240e3)


@pytest.mark.parametrize("profile", FITTED)
def test_fitted_values_are_those_of_the_profile(profile: str) -> None:
    for path in FITTED[profile]:
        changed = with_value(PROFILES[profile], path, 0.5)
        assert value_of(changed, path) == 0.5
        assert value_of(PROFILES[profile], path) != 0.5


@pytest.mark.parametrize("name", [name for name, cluster in CLUSTERS.items() if cluster.promised])
@pytest.mark.usefixtures("measured")
def test_nccl_is_predicted_where_nothing_was_fitted(name: str) -> None:
    check(predicted(name, fitted=False))


@pytest.mark.parametrize("name", ["ag_allpair_simple_x_8", "ag_ring_simple_8_2", "ag_ring_ll_2_1", "ar_allpair_ll_x_1"])
@pytest.mark.usefixtures("measured")
def test_programs_are_predicted_where_nothing_was_fitted(name: str) -> None:
    check(predicted(name, most_bytes=1 << 23, fitted=False))


def check(predictions: list[Prediction]) -> None:
    assert len(predictions) > 5
    sizes = sorted(abs(one.error) for one in predictions)
    assert quantile(sizes, 0.5) <= MOST_MEDIAN
    assert quantile(sizes, 0.9) <= MOST_NINE_IN_TEN


@pytest.mark.usefixtures("measured")
def test_rows_of_programs_are_the_in_place_ones() -> None:
    assert all(len(rows) > 0 for name, rows in points().items() if name.startswith(MSCCL))
    fitted = [row.fitted for row in points()[CLUSTERS["2 x DGX A100"].name]]
    assert fitted == [i % 2 == 0 for i in range(len(fitted))]


def test_quantile_is_the_least_value_that_so_many_do_not_exceed() -> None:
    values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0]
    assert [quantile(values, share) for share in (0.5, 0.9, 1.0)] == [5.0, 9.0, 10.0]
    assert quantile([3.0], 0.5) == 3.0
