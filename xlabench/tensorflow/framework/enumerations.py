"""Enumerations that arguments take: how gradients are added, what stands for missing ones, how copies are kept."""

import enum


class AggregationMethod:
    """How gradients of one tensor are added up; here always by one op."""

    ADD_N = 0
    DEFAULT = ADD_N
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


class UnconnectedGradients(enum.Enum):
    """What `tf.gradients` gives where nothing leads from one to the other."""

    NONE = "none"
    ZERO = "zero"


class VariableSynchronization(enum.Enum):
    """When copies of a variable on several devices are made equal; here there is one."""

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


class VariableAggregation(enum.Enum):
    """What becomes of writes to copies of a variable; here there is one."""

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3
