"""What is the same."""

from syccl.symmetry.automorphisms import find_group as find_group
from syccl.symmetry.dimensions import islands as islands
from syccl.symmetry.group import Group as Group
from syccl.symmetry.group import link_permutation as link_permutation
from syccl.symmetry.group import trivial_group as trivial_group
