"""What tests of findings share."""

import pytest

from xlabench.bundles import saving


@pytest.fixture
def saved(monkeypatch):
    """Bundles without their verification."""

    def save(_failure, folder, **_):
        folder.mkdir(parents=True, exist_ok=True)
        return saving.Saved(folder, verified=True)

    monkeypatch.setattr(saving, "save", save)
