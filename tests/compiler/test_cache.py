"""Kept programs: when one is found, what becomes of broken ones, how many stay, and that they are the same programs."""

import multiprocessing
import os
import shutil
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cache_writers import write_many, write_many_alone

import compiler
from compiler import CompileOptions, InputError
from compiler.backends.cpu import executable as cpu
from compiler.cache import VARIABLE, Cache, folder_of, key_of
from compiler.cache import _compiler as compiler_of
from compiler.codegen import llvm

PROGRAM = "ENTRY main { x = f32[300,70] parameter(0)  ROOT y = f32[300,70] tanh(x) }"
LONG = """ENTRY main { x = f32[2000] parameter(0)
  c = f32[2000] constant({...})
  ROOT r = f32[2000] add(x, c) }"""
LOOP = """
body { s = (s32[], f32[64]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[64] get-tuple-element(s), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  y = f32[64] exponential(x)
  z = f32[64] negate(y)
  ROOT t = (s32[], f32[64]) tuple(next, z) }
condition { s = (s32[], f32[64]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  end = s32[] constant(7)
  ROOT p = pred[] compare(i, end), direction=LT }
ENTRY main { x = f32[64] parameter(0)
  zero = s32[] constant(0)
  start = (s32[], f32[64]) tuple(zero, x)
  ROOT w = (s32[], f32[64]) while(start), condition=condition, body=body }
"""


@pytest.fixture
def options(tmp_path):
    return CompileOptions(cache=str(tmp_path / "programs"))


def is_warm(executable):
    return "llvm" not in [phase.name for phase in executable.phases]


def files(options):
    return sorted(Path(options.cache).iterdir())


def test_a_second_compilation_is_warm_and_the_same(options):
    x = np.linspace(-3, 3, 21_000, dtype=np.float32).reshape(300, 70)
    cold, warm = (compiler.compile(PROGRAM, options=options) for _ in range(2))
    assert (is_warm(cold), is_warm(warm)) == (False, True)
    assert warm(x)[0].tobytes() == cold(x)[0].tobytes()
    assert warm.image == cold.image
    assert (warm.threads, warm.memory_bytes) == (cold.threads, cold.memory_bytes)


@pytest.mark.parametrize("program", [PROGRAM, LOOP], ids=["loop kernel", "while"])
@pytest.mark.parametrize("changes", [{}, {"threads": 1}, {"fusion": False}, {"opt": 0}], ids=str)
def test_results_of_kept_programs_have_the_same_bits(options, program, changes):
    asked = replace(options, **changes)
    cold, warm = (compiler.compile(program, options=asked) for _ in range(2))
    assert is_warm(warm)
    inputs = [np.random.default_rng(0).standard_normal(p.shape.dims).astype(np.float32) for p in entry(cold)]
    expected = compiler.compile(program, options=replace(asked, cache=""))(*inputs)
    for executable in (cold, warm, warm):
        assert [array.tobytes() for array in executable(*inputs)] == [array.tobytes() for array in expected]


def entry(executable):
    return executable.module.entry.parameters


@pytest.mark.slow
def test_what_was_kept_can_be_looked_into(options):
    cold, warm = (compiler.compile(LOOP, options=options) for _ in range(2))
    assert dict(warm.artifacts) == dict(cold.artifacts)
    x = np.zeros(64, np.float32)
    assert {time.name for time in warm.profile(x)} == {time.name for time in cold.profile(x)} != set()


@pytest.mark.parametrize(
    "changes",
    [
        {"threads": 1},
        {"opt": 1},
        {"fusion": False},
        {"fuel": 0},
        {"disable_passes": ("cse",)},
        {"fill_elided": 3},
    ],
    ids=str,
)
def test_every_option_that_changes_code_is_part_of_the_key(options, changes):
    compiler.compile(PROGRAM, options=replace(options, threads=2))
    assert not is_warm(compiler.compile(PROGRAM, options=replace(options, **({"threads": 2} | changes))))


@pytest.mark.parametrize("changes", [{"verify_each": True}, {"cache_bytes": 1 << 20}, {"dump_pass_re": "x"}], ids=str)
def test_options_that_change_no_code_are_not(options, changes):
    compiler.compile(PROGRAM, options=options)
    assert is_warm(compiler.compile(PROGRAM, options=replace(options, **changes)))


def test_another_program_is_another_entry(options):
    compiler.compile(PROGRAM, options=options)
    assert not is_warm(compiler.compile(PROGRAM.replace("tanh", "negate"), options=options))
    assert is_warm(compiler.compile(PROGRAM, options=options))
    assert len(files(options)) == 2


def test_a_module_is_found_by_its_text(options):
    module = compiler.parse(PROGRAM)
    assert not is_warm(compiler.compile(module, options=options))
    assert is_warm(compiler.compile(compiler.to_text(module), options=options))


def test_a_module_with_long_constants_is_found_by_their_bytes(options):
    module = compiler.parse(LONG)
    modules = [module.clone() for _ in range(2)]
    for seed, one in enumerate(modules):
        compiler.settle_elided(one, seed)
    compiler.compile(modules[0], options=options)
    assert not is_warm(compiler.compile(modules[1], options=options))
    kept, x = compiler.compile(modules[1], options=options), np.ones(2000, np.float32)
    assert is_warm(kept)
    assert kept(x)[0].tobytes() == compiler.interpret(modules[1], x)[0].tobytes()
    cold = compiler.compile(modules[1])
    assert kept.artifacts["cpu_after_optimizations.txt"] == cold.artifacts["cpu_after_optimizations.txt"]


def test_another_machine_or_llvm_compiles_anew(options, monkeypatch):
    compiler.compile(PROGRAM, options=options)
    monkeypatch.setattr(llvm, "package_version", lambda: "llvmlite 99")
    assert not is_warm(compiler.compile(PROGRAM, options=options))
    before = cpu.SERIALIZER.depends_on(options)
    host = llvm.Target.host()
    monkeypatch.setattr(llvm.Target, "host", lambda: replace(host, features=f"{host.features},-avx512f"))
    assert cpu.SERIALIZER.depends_on(options) != before


def test_another_compiler_has_other_keys(monkeypatch):
    key = key_of("program")
    monkeypatch.setattr("compiler.cache._compiler", lambda root: "another")
    assert key_of("program") != key
    assert key_of("a", "bc") != key_of("ab", "c")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["driver.py", "backends/cpu/runtime/threads.ll", "new.toml"])
def test_each_file_of_a_compiler_tells_it_from_others(tmp_path, name):
    package = Path(compiler.__file__).parent
    shutil.copytree(package, tmp_path / "one", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    with (tmp_path / "two" / name).open("a", encoding="utf-8") as file:
        file.write("\n")
    assert compiler_of(tmp_path / "one") != compiler_of(tmp_path / "two")


def test_bytecode_does_not_tell_compilers_apart(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "pass.py").write_text("")
        os.utime(tmp_path / name / "pass.py", (1, 1))
    (tmp_path / "two" / "pass.pyc").write_bytes(b"\0")
    assert compiler_of(tmp_path / "one") == compiler_of(tmp_path / "two")


@pytest.mark.parametrize(
    "damage",
    [lambda data: b"", lambda data: data[:-1], lambda data: data + b"x", lambda data: data[:90] + b"\0" + data[91:]],
    ids=["empty", "cut off", "longer", "a byte changed"],
)
def test_a_damaged_entry_is_replaced(options, damage):
    compiler.compile(PROGRAM, options=options)
    [path] = files(options)
    path.write_bytes(damage(path.read_bytes()))
    x = np.ones((300, 70), np.float32)
    executable = compiler.compile(PROGRAM, options=options)
    assert not is_warm(executable)
    np.testing.assert_allclose(executable(x)[0], np.tanh(x), rtol=1e-6)
    assert is_warm(compiler.compile(PROGRAM, options=options))


def test_the_least_recently_used_go(tmp_path):
    cache = Cache.open(str(tmp_path), 1100)
    for number in range(4):
        cache.put(str(number), bytes(200))
        os.utime(tmp_path / f"{number}.program", (number, number))
    assert cache.get("0") == bytes(200)
    cache.put("4", bytes(200))
    assert [cache.get(str(number)) is not None for number in range(5)] == [True, False, False, True, True]


def test_what_is_larger_than_the_limit_is_not_kept(tmp_path):
    cache = Cache.open(str(tmp_path), 100)
    cache.put("large", bytes(200))
    assert cache.get("large") is None
    assert not list(tmp_path.iterdir())


def test_abandoned_files_go(tmp_path):
    old, new = tmp_path / "old.part", tmp_path / "new.part"
    for path in (old, new):
        path.write_bytes(b"half")
    os.utime(old, (0, 0))
    Cache.open(str(tmp_path), 1000).put("key", b"content")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["key.program", "new.part"]


def test_a_folder_that_cannot_be_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="name another folder"):
        compiler.compile(PROGRAM, options=CompileOptions(cache=str(tmp_path / "file" / "below")))


def test_a_new_folder_is_for_its_owner_alone(tmp_path):
    Cache.open(str(tmp_path / "cache"), 1000).put("key", b"content")
    modes = [path.stat().st_mode & 0o077 for path in (tmp_path / "cache", tmp_path / "cache" / "key.program")]
    assert modes == [0, 0]


def test_a_folder_that_vanishes_is_only_slow(tmp_path):
    cache = Cache.open(str(tmp_path / "cache"), 1000)
    (tmp_path / "cache").rmdir()
    cache.put("key", b"content")
    cache.discard("key")
    assert cache.get("key") is None


@pytest.mark.slow
def test_processes_and_threads_share_a_folder(tmp_path):
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=write_many_alone, args=(str(tmp_path), first)) for first in (0, 7)]
    for other in processes:
        other.start()
    seen = []
    threads = [threading.Thread(target=write_many, args=(str(tmp_path), first, seen)) for first in (3, 11)]
    for thread in threads:
        thread.start()
    for thread in (*threads, *processes):
        thread.join()
    assert all(seen)
    assert [other.exitcode for other in processes] == [0, 0]
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.slow
def test_dumps_and_limits_always_compile(options, tmp_path):
    compiler.compile(PROGRAM, options=options)
    assert not is_warm(compiler.compile(PROGRAM, options=replace(options, dump_to=str(tmp_path / "dump"))))


def test_a_back_end_that_keeps_nothing_takes_the_option(options):
    compiler.compile(PROGRAM, backend="nvptx", options=replace(options, device="sim"))
    assert not Path(options.cache).exists()


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({}, ""),
        ({VARIABLE: "off"}, ""),
        ({VARIABLE: "/some/where"}, "/some/where"),
        ({VARIABLE: "on", "XDG_CACHE_HOME": "/caches"}, "/caches/xlabench"),
        ({VARIABLE: "1", "XDG_CACHE_HOME": "relative"}, str(Path("~/.cache/xlabench").expanduser())),
    ],
)
def test_the_environment_names_the_folder(environment, folder):
    assert folder_of(environment) == folder
    assert compiler.environment_options(environment).options.cache == folder
