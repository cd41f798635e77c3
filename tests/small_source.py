"""A campaign of one small program, for tests of what is around it."""

from xlabench.fuzzing.config import Config

CONFIG = Config(("right",), count=20, max_probes=0, factory="broken_engines:engine")


class Small:
    """A source of one small program again and again, or of so many as there are."""

    def __init__(self, size=None, beforehand=()):
        self.identity = {"of": "the small"}
        self._size, self._beforehand = size, beforehand

    def support(self, config, support_probe):
        return {"asked": list(config.engines)}

    def beforehand(self, config, support):
        return self._beforehand

    def size(self, support):
        return self._size

    def drawing(self, config, support):
        assert support["asked"]
        return {"drawer": "broken_engines:draw_with_the_same_inputs"}

    def narrowed(self, config, support, unreduced, budget):
        return unreduced

    def coverage(self, progress, support):
        return {"share": progress.cases / 100}
