"""Python imports this as it starts, where this folder is on its path: the place to plant a mutant before all else."""

import os

if os.environ.get("XLABENCH_MUTANT"):
    from recall import planting

    planting.install(os.environ["XLABENCH_MUTANT"])
