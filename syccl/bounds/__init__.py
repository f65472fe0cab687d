"""What no schedule can beat."""

from syccl.bounds.bandwidth import BandwidthBound as BandwidthBound
from syccl.bounds.bandwidth import Cut as Cut
from syccl.bounds.describe import describe as describe
from syccl.bounds.describe import describe_cut as describe_cut
from syccl.bounds.lower import Bound as Bound
from syccl.bounds.lower import best_proof as best_proof
from syccl.bounds.lower import lower_bound as lower_bound
from syccl.bounds.lower import two_phases_s as two_phases_s
from syccl.bounds.window import THOROUGH as THOROUGH
