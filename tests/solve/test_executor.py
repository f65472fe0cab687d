"""Work in order."""

from __future__ import annotations

import pytest

from syccl.solve.executor import ordered_results


def square(number: int) -> int:
    return number * number


def test_results_come_in_order() -> None:
    assert list(ordered_results(square, [3, 1, 2], jobs=1)) == [9, 1, 4]
    assert list(ordered_results(square, [], jobs=4)) == []


def test_one_job_works_only_as_far_as_results_are_taken() -> None:
    done: list[int] = []

    def work(item: int) -> int:
        done.append(item)
        return item

    results = ordered_results(work, [1, 2, 3], jobs=1)
    assert (next(results), next(results), done) == (1, 2, [1, 2])


@pytest.mark.parametrize("items", [[5], [3, 1, 2]])
def test_several_jobs_give_the_same_results_on_any_backend(items: list[int]) -> None:
    from joblib import parallel_config

    with parallel_config(backend="threading"):
        assert list(ordered_results(square, items, jobs=2)) == [square(item) for item in items]


def test_a_caller_who_has_seen_enough_leaves_no_work_behind() -> None:
    from joblib import parallel_config

    with parallel_config(backend="threading"):
        results = ordered_results(square, list(range(100)), jobs=2)
        assert next(results) == 0
        results.close()  # type: ignore[attr-defined]
