"""Attributes of instructions: what is said of a name is said of one that there is, and of its kind."""

from compiler.ir.attributes import ATTRIBUTES, COMMON, MODULE_ATTRIBUTES, NOTES, OF_ENTRY, VOCABULARY, AttributeKind
from compiler.ops import OPS
from compiler.text.opcodes import PAYLOADS

WORDS = {AttributeKind.WORD, AttributeKind.WORDS}


def test_words_are_listed_of_what_holds_words_and_of_nothing_else():
    assert {name for name, kind in ATTRIBUTES.items() if kind in WORDS} == VOCABULARY.keys()
    assert all(len(words) == len(set(words)) for words in VOCABULARY.values())


def test_what_is_said_of_attributes_is_said_of_some():
    assert ATTRIBUTES.keys() >= COMMON
    assert NOTES <= COMMON
    assert MODULE_ATTRIBUTES.keys() >= OF_ENTRY


def test_a_name_that_both_instructions_and_modules_have_means_the_same():
    both = ATTRIBUTES.keys() & MODULE_ATTRIBUTES.keys()
    assert {name: ATTRIBUTES[name] for name in both} == {name: MODULE_ATTRIBUTES[name] for name in both}


def test_every_kind_is_that_of_some_attribute():
    used = {*ATTRIBUTES.values(), *MODULE_ATTRIBUTES.values(), AttributeKind.STACK_FRAMES}
    assert set(AttributeKind) - used <= {AttributeKind.STACK_FRAMES}


def test_every_attribute_is_taken_by_some_opcode():
    taken = {name for op in OPS.values() for name in (*op.required, *op.optional)} - set(PAYLOADS.values())
    assert ATTRIBUTES.keys() - taken - COMMON - set(PAYLOADS.values()) == set()
    assert taken <= ATTRIBUTES.keys()
