"""Planning: many ways to cut and route a collective, ranked by cheap simulated time."""

from syccl.planning.find import Found as Found
from syccl.planning.find import account as account
from syccl.planning.find import find_plans as find_plans
from syccl.planning.hurry import hurried as hurried
from syccl.planning.problem import Plan as Plan
from syccl.planning.problem import Problem as Problem
