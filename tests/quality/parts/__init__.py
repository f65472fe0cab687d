"""The parts of the benchmark, in the order in which they run."""

from tests.quality.part import Part
from tests.quality.parts import (
    alltoallv,
    bench,
    calibration,
    crux,
    diagnosis,
    eflops,
    every,
    fabrics,
    large,
    main_job,
    mixes,
    mutations,
    paths,
    published,
    random_graphs,
    small,
    sweep,
    tuning,
    unsymmetric,
)

PARTS: dict[str, Part] = {
    module.PART.name: module.PART
    for module in (
        main_job,
        fabrics,
        large,
        small,
        published,
        bench,
        unsymmetric,
        alltoallv,
        tuning,
        sweep,
        every,
        random_graphs,
        mutations,
        calibration,
        crux,
        mixes,
        paths,
        diagnosis,
        eflops,
    )
}
