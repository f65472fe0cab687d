"""A sweep over sizes: the fewest programs that are nearly the fastest at every size, each for one range of bytes."""

from syccl.tuning.sweep import Sweep as Sweep
from syccl.tuning.sweep import sweep_sizes as sweep_sizes
from syccl.tuning.tuned import Tuned as Tuned
from syccl.tuning.tuned import tune as tune
