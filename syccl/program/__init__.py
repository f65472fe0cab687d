"""What a runtime file says."""

from syccl.program.ir import Buffer as Buffer
from syccl.program.ir import Program as Program
from syccl.program.ir import RankProgram as RankProgram
from syccl.program.ir import Slot as Slot
from syccl.program.ir import Step as Step
from syccl.program.ir import StepType as StepType
from syccl.program.ir import ThreadBlock as ThreadBlock
