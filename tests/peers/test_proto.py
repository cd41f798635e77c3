"""Protocol buffers read back by XLA: it prints the same program as where it reads our text, and we read that again.

XLA keeps every name once in a module, so names are made to be so before.
"""

from __future__ import annotations

import functools
import mmap
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import proto_reader
import pytest
from op_programs import EVALUATED, FORMS, program

import compiler
from compiler.backends import BACKENDS
from compiler.generate import PAIRS, RECIPES, RandomChoices, Space
from compiler.ir.names import Names
from compiler.ir.types import TYPES
from compiler.options import CompileOptions
from compiler.pipeline import PIPELINES, run
from compiler.proto import hlo_proto
from compiler.proto.schema import ENUMERATIONS, MESSAGES

pytest.importorskip("jaxlib", reason="jaxlib is not installed")

import jaxlib
from jaxlib import _hlo

ROOT = Path(__file__).parents[2]
SUITES = sorted(path.relative_to(ROOT) for path in ROOT.glob("suites/*/*.hlo") if path.parent.name != "seeds")
SCALARS = {1: "double", 2: "float", 3: "int64", 4: "uint64", 5: "int32", 8: "bool", 9: "string", 12: "bytes",
           13: "uint32"}  # fmt: skip
WITHOUT_LITERALS = ("s1", "u1", "f6e2m3fn", "f6e3m2fn")
EVERYTHING = Space(
    # XLA prints an async op around a parameter as `parameter-start`, which nobody reads.
    frozenset(name for name in RECIPES if not name.startswith("async")),
    frozenset(kind for _, kind in PAIRS) - {*WITHOUT_LITERALS},
    empty_percent=1,
)
OPTIONS = _hlo.HloPrintOptions()
OPTIONS.print_large_constants = True

OTHERS = {
    "a slice that is sent": "a = f32[7,2] parameter(0) z = s32[] constant(0) i = (s32[], s32[]) tuple(z, z)"
    " ROOT r = f32[7,2] collective-permute(a, a, i, i), slice_sizes={{6,1}}, source_target_pairs={{0,0}}",
    "slices that are sent": "a = f32[7] parameter(0) z = s32[] constant(0) s = (s32[]) tuple(z)"
    " i = ((s32[]), (s32[])) tuple(s, s)"
    " ROOT r = f32[7] collective-permute(a, a, i, i), slice_sizes={{6},{2}}, source_target_pairs={{0,0}}",
    "half of a slice that is sent": "a = f32[7] parameter(0) z = s32[] constant(0) i = (s32[]) tuple(z)"
    " b = (f32[7], f32[7], u32[], u32[]) collective-permute-start(a, a, i, i), slice_sizes={6},"
    " source_target_pairs={{0,0}} ROOT r = f32[7] collective-permute-done(b)",
    "without attributes": "a = f32[2,2] parameter(0) b = f32[] parameter(1) c = f32[2,2] cholesky(a)"
    " d = f32[] dot(b, b) r = f32[] reduce-window(b, b), to_apply=add ROOT t = f32[2,2] triangular-solve(a, c)",
    "sizes not known": "a = f32[4,?] parameter(0) b = f32[<=4] parameter(1) c = f32[<=4] negate(b)"
    " ROOT t = (f32[4,?], f32[<=4]) tuple(a, c)",
    "layouts": "a = f32[2,3]{0,1:T(2,2)L(4)E(16)S(2)SC(1:1)} parameter(0) b = opaque[] parameter(1)"
    " c = b(f32[4]) parameter(2) ROOT d = f32[2,3]{0,1} copy(a)",
    "a constant by columns": "ROOT c = f32[2,3,4]{1,2,0} constant({{{1,2,3,4},{5,6,7,8},{9,10,11,12}},"
    "{{1,2,3,4},{5,6,7,8},{9,10,11,13}}})",
    "a host": "t = token[] after-all() i = (f32[2], token[]) infeed(t), infeed_config=\"a\\nb\""
    " x = f32[2] get-tuple-element(i), index=0 o = token[] outfeed(x, t), outfeed_shape=f32[2]{0}"
    " s = (f32[2], u32[], token[]) send(x, t), channel_id=1, is_host_transfer=true"
    " z = token[] send-done(s), channel_id=1, is_host_transfer=true"
    " r = (f32[2], u32[], token[]) recv(t), channel_id=2, is_host_transfer=true"
    " y = (f32[2], token[]) recv-done(r), channel_id=2, is_host_transfer=true"
    " ROOT g = u64[1] rng-get-and-update-state(), delta=4096",
    "attributes of every kind": "x = f32[4] parameter(0), parameter_replication={true}, sharding={devices=[2]<=[2]}"
    " y = f32[4] tanh(x), result_accuracy={tolerance={atol=0.5,rtol=0,ulps=2}}, origin={{\"a\" {1}}},"
    " statistics={visualizing_index=1,a=1.5,b=-2}, frontend_attributes={a=\"b\",c={\"d\": 1}},"
    " backend_config={\"e\": 2}"
    " z = f32[4] sqrt(y), result_accuracy={mode=highest}, control-predecessors={x},"
    " sharding={mesh['a'=2,'b'=4], [{'a', 'b':(2)2, ?}], replicated={'b':(1)2}},"
    " metadata={op_type=\"t\" op_name=\"n\" source_file=\"f\" source_line=3 profile_type={1} metadata_payload=\"p\"}"
    " d = f32[4] domain(z), domain={kind=\"sharding\", entry={maximal device=0}, exit={replicated}}"
    " w = (f32[4], f32[4]) custom-call(d, z), custom_call_target=\"f\","
    " operand_layout_constraints={f32[4]{0}, f32[4]{0}},"
    " output_to_operand_aliasing={{0}: (1, {})}, api_version=API_VERSION_TYPED_FFI, schedule=SCHEDULE_LATEST,"
    " custom_call_has_side_effect=true, backend_config=\"{a = 1 : i32}\""
    " a = f32[4] all-reduce(z), to_apply=add, replica_groups=[2,2]<=[2,2]T(1,0), channel_id=3,"
    " use_global_device_ids=true"
    " b = f32[4] all-reduce(z), to_apply=add, replica_groups=mesh['a'=2,'b'=2] {'a'}, constrain_layout=true"
    " ROOT e = f32[4] add(a, b)",
}  # fmt: skip
ADD = "add { m = f32[] parameter(0) n = f32[] parameter(1) ROOT q = f32[] add(m, n) }\n"
HEADER = "HloModule m, is_scheduled=true, input_output_alias={ {}: (0, {}, must-alias) }, buffer_donor={ (1, {}) },"
HEADER += (
    ' frontend_attributes={a="b"}, origin_recovery_table={ {"a"} : {"b"}, "ENTRY r { ROOT p = f32[] parameter(0) }"}'
)
FRAMES = """
FileNames
1 "a.py"
FunctionNames
1 "f"
FileLocations
1 {file_name_id=1 function_name_id=1 line=2 end_line=3 column=4 end_column=5}
StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=1 parent_frame_id=2}
"""
SCHEDULED = f"""{HEADER}
{FRAMES}
fused {{ a = f32[4] parameter(0) ROOT b = f32[4] negate(a) }}, execution_thread="side"
ENTRY e {{
  x = f32[4] parameter(0), metadata={{op_name="x" stack_frame_id=2}}
  y = f32[4] parameter(1)
  ROOT z = f32[4] fusion(x), kind=kLoop, calls=fused
}}
"""


def value(element_type):
    if element_type.is_complex:
        return "{(1, 2), (-0.5, 3)}"
    if element_type.name == "pred":
        return "{true, false}"
    if element_type.name == "f8e8m0fnu":
        return "{2, 0.5}"
    return "{-1, 0}" if element_type.is_signed else "{1, 0}"


TYPED = {
    t.name: f"ENTRY e {{ p = {t.name}[2,3] parameter(0) ROOT c = {t.name}[2] constant({value(t)}) }}"
    for t in TYPES.values()
    if t.bits and t.name not in WITHOUT_LITERALS
}
TEXTS = {
    **{opcode: program(opcode) for opcode in EVALUATED},
    **FORMS,
    **TYPED,
    **{name: f"{ADD}ENTRY e {{ {lines} }}" for name, lines in OTHERS.items()},
    "a module's own attributes": SCHEDULED,
}


def with_own_names(module):
    names = Names()
    for instruction in module.instructions():
        instruction.name = names.take(instruction.name)
    return module


def read_back(module):
    return _hlo.HloModule.from_serialized_hlo_module_proto(proto_reader.one(hlo_proto(module), 1)).to_string(OPTIONS)


def check(module):
    with_own_names(module)
    expected = _hlo.hlo_module_from_text(compiler.to_text(module)).to_string(OPTIONS)
    found = read_back(module)
    assert found.splitlines() == expected.splitlines()
    assert compiler.parse(found) == compiler.parse(expected)


@pytest.mark.parametrize("name", TEXTS)
def test_xla_reads_the_program_that_it_reads_from_text(name):
    check(compiler.parse(TEXTS[name]))


@pytest.mark.parametrize("path", SUITES, ids=str)
def test_xla_reads_the_programs_of_the_suites(path):
    check(compiler.parse((ROOT / path).read_text(encoding="utf-8")))


@pytest.mark.parametrize("seed", range(40))
def test_xla_reads_programs_made_up(seed):
    check(compiler.generate.program(RandomChoices(seed), EVERYTHING))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("opcode", EVALUATED)
def test_xla_reads_what_passes_make_of_every_opcode(opcode, backend):
    module = compiler.parse(program(opcode))
    run(module, PIPELINES[BACKENDS[backend].pipeline], CompileOptions())
    check(module)


SUM = """HloModule sum, replica_count=2
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }
ENTRY main { x = f32[1] parameter(0) ROOT y = f32[1] all-reduce(x), to_apply=add, replica_groups={} }
"""


def test_dumps_and_snapshots_are_taken_wherever_programs_are(tmp_path):
    options = CompileOptions(
        dump_to=str(tmp_path), dump_as=("proto",), dump_snapshots=True, dump_unoptimized_snapshots=True
    )
    inputs = [np.array([1], np.float32), np.array([2], np.float32)]
    expected = compiler.compile(SUM, "cpu", options)(*inputs)
    files = sorted(tmp_path.glob("*.pb"))
    assert len(files) == 4
    for path in files:
        module = compiler.parse(path.read_bytes(), filename=path.name)
        of_source = "before_optimizations" in path.name or "unoptimized" in path.name
        assert module.attributes.get("replica_count", 1) == (2 if of_source else 1), path.name
        assert compiler.interpret(module, *inputs) == expected, path.name


def descriptors(library: mmap.mmap, file: str) -> Iterator[tuple[int, bytes]]:
    """The fields of a file's descriptor, which begin with its name, in the library that holds it."""
    marker = bytes((0x0A, len(file))) + file.encode() + b"\x12"
    position, last = library.find(marker), 0
    assert position >= 0, file
    while True:
        tag, content = proto_reader.varint(library, position)
        if tag & 7 != 2 or not 1 <= tag >> 3 <= 8 or (tag >> 3 < last and tag >> 3 < 4):
            return
        size, content = proto_reader.varint(library, content)
        yield tag >> 3, library[content : content + size]
        position, last = content + size, tag >> 3


@functools.cache
def known():
    """XLA's own messages (field: number, type, repeated) and enumerations, from the library itself."""
    messages, enumerations = {}, {}
    path = Path(jaxlib.__file__).with_name("libjax_common.so")
    if not path.exists():
        pytest.skip("this jaxlib keeps its descriptors elsewhere")
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as library:
        for name in ("xla/xla_data.proto", "xla/service/hlo.proto"):
            for number, content in descriptors(library, name):
                if number == 4:
                    learn(content, "", messages, enumerations)
                elif number == 5:
                    enumerations[proto_reader.one(content, 1).decode()] = words(content)
    return messages, enumerations


def words(content):
    return {proto_reader.one(w, 1).decode(): proto_reader.one(w, 2) for w in proto_reader.every(content, 2)}


def learn(content, prefix, messages, enumerations):
    name = prefix + proto_reader.one(content, 1).decode()
    messages[name] = {
        proto_reader.one(f, 1).decode(): (
            proto_reader.one(f, 3),
            SCALARS.get(proto_reader.one(f, 5)) or proto_reader.one(f, 6).decode().removeprefix(".xla."),
            proto_reader.one(f, 4) == 3,
        )
        for f in proto_reader.every(content, 2)
    }
    for inner in proto_reader.every(content, 3):
        learn(inner, f"{name}.", messages, enumerations)
    for inner in proto_reader.every(content, 4):
        enumerations[f"{name}.{proto_reader.one(inner, 1).decode()}"] = words(inner)


@pytest.mark.parametrize("message", MESSAGES)
def test_the_fields_are_xlas(message):
    theirs = known()[0][message]
    for name, field in MESSAGES[message].items():
        assert (field.number, field.type, field.is_repeated) == theirs[name], name


@pytest.mark.parametrize("enumeration", ENUMERATIONS)
def test_the_enumerations_are_xlas(enumeration):
    assert known()[1][enumeration] == ENUMERATIONS[enumeration]
