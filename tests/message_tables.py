"""What the tables of protocol buffers' messages must keep to, XLA's as TensorFlow's."""

_OF_PROTOBUF = range(19000, 20000)
"""Numbers that the library keeps for itself."""


def check_numbers(fields):
    """Fields have numbers of their own, which the format can hold."""
    numbers = [field.number for field in fields]
    assert len(numbers) == len(set(numbers))
    assert all(0 < number < 1 << 29 and number not in _OF_PROTOBUF for number in numbers)


def check_words(words):
    """The words of an enumeration have numbers of their own, one of them 0."""
    numbers = list(words.values())
    assert len(numbers) == len(set(numbers))
    assert 0 in numbers
