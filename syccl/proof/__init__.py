"""Proofs of lower bounds as files, and a checker that needs no solver and trusts nobody."""

from syccl.proof.model import Certificate as Certificate
from syccl.proof.model import Completion as Completion
from syccl.proof.model import Family as Family
from syccl.proof.model import Flow as Flow
from syccl.proof.model import Priced as Priced
from syccl.proof.model import Share as Share
from syccl.proof.verify import verify_certificate as verify_certificate
