"""What must be moved."""

from syccl.collective.demand import ALL as ALL
from syccl.collective.demand import ALLTOALLV as ALLTOALLV
from syccl.collective.demand import OPS as OPS
from syccl.collective.demand import Demand as Demand
from syccl.collective.demand import Op as Op
from syccl.collective.demand import Part as Part
from syccl.collective.demand import busbw_factor as busbw_factor
from syccl.collective.demand import op_named as op_named
from syccl.collective.demand import require_equal as require_equal
from syccl.collective.matrix import Matrix as Matrix
