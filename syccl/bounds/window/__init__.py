"""The time-window bound: what can be delivered within a time, by a linear program over launches in intervals."""

from syccl.bounds.window.certify import proven as proven
from syccl.bounds.window.drive import QUICK as QUICK
from syccl.bounds.window.drive import THOROUGH as THOROUGH
from syccl.bounds.window.drive import Windows as Windows
from syccl.bounds.window.drive import sharper as sharper
from syccl.bounds.window.drive import windows as windows
