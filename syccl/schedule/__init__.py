"""Who sends what to whom: the waist of the architecture."""

from syccl.schedule.ir import Schedule as Schedule
from syccl.schedule.ir import Symmetry as Symmetry
from syccl.schedule.ir import Transfers as Transfers
from syccl.schedule.ir import expand as expand
