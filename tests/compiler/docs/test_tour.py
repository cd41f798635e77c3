"""The tour for contributors is walked as it says, in a copy of the project in which its bug is planted."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import pages
import pytest

PAGE = pages.ROOT / "compiler" / "docs" / "tour.md"


@pytest.mark.slow
def test_the_tour_shows_what_it_says(tmp_path: Path) -> None:
    pages.copy_project(tmp_path)
    for is_command, steps in groupby(pages.read(PAGE), lambda step: isinstance(step, pages.Command)):
        if is_command:
            pages.check(tmp_path, [step for step in steps if isinstance(step, pages.Command)])
        else:
            for step in steps:
                assert isinstance(step, pages.Edit)
                step.make(tmp_path)
