"""Native code of the runtime: meanings for its names, functions by address, and one of each in a process."""

import ctypes
import threading

import pytest

from compiler.backends.cpu.runtime import native


def test_every_name_needs_a_meaning():
    with pytest.raises(KeyError, match=r"new_from_descr|array_type|set_base_object|data|behaved|recycled_from|limit"):
        native.text("blocks")


def test_code_is_linked_and_called_and_an_address_is_an_operand():
    cell = ctypes.c_int64(41)
    code = f"""define i64 @next() {{
      %old = load i64, ptr {native.pointer(ctypes.addressof(cell))}
      %new = add i64 %old, 1
      ret i64 %new
    }}"""
    library = native.link(code, ("next",))
    assert library.function("next", ctypes.c_int64)() == 42


def test_what_there_is_once_is_made_by_whoever_comes_first():
    made = []
    ready = threading.Barrier(4)

    @native.once
    def one():
        made.append(threading.get_ident())
        return object()

    seen = []

    def ask():
        ready.wait()
        seen.append(one())

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert all(found is seen[0] for found in seen)


def test_who_fails_to_make_it_leaves_it_to_the_next():
    tries = []

    @native.once
    def one():
        tries.append(1)
        if len(tries) == 1:
            raise OSError("not yet")
        return "made"

    with pytest.raises(OSError, match="not yet"):
        one()
    assert [one(), one(), len(tries)] == ["made", "made", 2]
