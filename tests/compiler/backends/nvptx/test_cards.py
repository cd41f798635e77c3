"""Cards hold what they say of each other and of the architectures that they stand for."""

import pytest

from compiler.backends.nvptx.cards import A100, H100, card_for
from compiler.backends.nvptx.simulator.pipes import Pipe
from compiler.backends.nvptx.target import ARCHITECTURES, compute_capability


@pytest.mark.parametrize("card", [A100, H100], ids=lambda card: card.name)
def test_every_unit_has_a_rate(card):
    assert card.rates.keys() == set(Pipe) - {Pipe.NONE}
    assert all(rate > 0 for rate in card.rates.values())
    assert 0 < card.mma_share <= 1
    assert card.shared_bytes % card.shared_unit_bytes == 0
    assert card.threads == 64 * 32


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_every_architecture_has_a_card_and_no_older_one_gets_a_newer_card(arch):
    capability = compute_capability(arch)
    assert card_for(capability) is (H100 if capability >= 90 else A100)


@pytest.mark.parametrize("field", ["memory_bytes_per_ns", "multiprocessors", "clock_ghz", "shared_bytes"])
def test_the_newer_card_is_faster(field):
    assert getattr(H100, field) > getattr(A100, field)


@pytest.mark.parametrize(("capability", "kib"), [(80, 164), (90, 228)])
def test_shared_memory_is_that_of_the_architecture(capability, kib):
    assert card_for(capability).shared_bytes == ARCHITECTURES[f"sm_{capability}"].shared_kib << 10 == kib << 10
