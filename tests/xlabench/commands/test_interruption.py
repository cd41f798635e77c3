"""The first Ctrl-C asks for an end, the second ends; afterwards all is as it was."""

import signal

import pytest

from xlabench.commands.interruption import interruptible


@pytest.fixture(autouse=True)
def heard():
    """What is started in the background of a shell does not hear of Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_the_first_only_asks_and_the_second_ends(capfd):
    before = signal.getsignal(signal.SIGINT)
    with interruptible("ends soon") as asked:
        assert not asked()
        signal.raise_signal(signal.SIGINT)
        assert asked()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before
    assert "xlabench: ends soon" in capfd.readouterr().err


def test_without_one_nothing_changes():
    before = signal.getsignal(signal.SIGINT)
    with interruptible("ends soon") as asked:
        assert signal.getsignal(signal.SIGINT) is not before
    assert not asked()
    assert signal.getsignal(signal.SIGINT) is before
