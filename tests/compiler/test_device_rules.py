"""Groups of devices and shardings that mean nothing are refused, for every collective, however they are written."""

import pytest

import compiler
from compiler.ops import OPS
from compiler.verifier import findings

HEAD = """HloModule m, replica_count={replicas}, num_partitions={partitions}
plus {{
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}}
ENTRY main {{
  x = f32[8] parameter(0)
  {line}
}}
"""
LINES = {
    "all-reduce": "ROOT r = f32[8] all-reduce(x), {groups}, to_apply=plus",
    "all-reduce-start": "s = f32[8] all-reduce-start(x), {groups}, to_apply=plus\n  ROOT r = f32[8] all-reduce-done(s)",
    "all-gather": "ROOT r = f32[16] all-gather(x), {groups}, dimensions={{0}}",
    "all-gather-start": "s = (f32[8], f32[16]) all-gather-start(x), {groups}, dimensions={{0}}\n"
    "  ROOT r = f32[16] all-gather-done(s)",
    "reduce-scatter": "ROOT r = f32[4] reduce-scatter(x), {groups}, dimensions={{0}}, to_apply=plus",
    "all-to-all": "ROOT r = f32[8] all-to-all(x), {groups}, dimensions={{0}}",
    "collective-broadcast": "ROOT r = f32[8] collective-broadcast(x), {groups}",
}
PERMUTES = {
    "collective-permute": "ROOT r = f32[8] collective-permute(x), {pairs}",
    "collective-permute-start": "s = (f32[8], f32[8]) collective-permute-start(x), {pairs}\n"
    "  ROOT r = f32[8] collective-permute-done(s)",
}


def rules(line, replicas=4, partitions=1):
    return [finding.rule for finding in findings(compiler.parse(HEAD.format(**locals())))]


def test_every_opcode_with_groups_or_pairs_is_tried():
    grouped = {name for name, op in OPS.items() if "replica_groups" in (*op.required, *op.optional)}
    assert grouped - {"ragged-all-to-all"} == set(LINES)
    assert {name for name, op in OPS.items() if "source_target_pairs" in op.required} == set(PERMUTES)


@pytest.mark.parametrize("opcode", LINES)
@pytest.mark.parametrize(
    ("groups", "found"),
    [
        ("{}", []),
        ("{{0,1},{2,3}}", []),
        ("{{3,0},{1,2}}", []),
        ("[2,2]<=[4]", []),
        ("[2,2]<=[2,2]T(1,0)", []),
        ("mesh['a'=2,'b'=2] {'b'}", []),
        ("{{0,1}}", ["V16"]),
        ("{{0,1},{2,4}}", ["V16"]),
        ("{{0,1},{2,-1}}", ["V16"]),
        ("{{0,1},{1,2}}", ["V16"]),
        ("{{0,0},{1,2}}", ["V16"]),
        ("{{0,1,2,3},{}}", ["V16"]),
        ("{{}}", ["V16"]),
        ("[1,2]<=[2]", ["V16"]),
        ("[2,4]<=[8]", ["V16"]),
        ("[2,2]<=[6]", ["V16"]),
        ("mesh['a'=2,'b'=4] {'b'}", ["V16"]),
    ],
)
def test_groups_name_every_device_once(opcode, groups, found):
    if opcode == "collective-broadcast" and groups in ("{{0,1}}", "[1,2]<=[2]"):
        found = []  # who is left out gets zeros
    assert rules(LINES[opcode].format(groups=f"replica_groups={groups}")) == found


@pytest.mark.parametrize("opcode", LINES)
def test_what_the_numbers_name_follows_from_channel_and_global_ids(opcode):
    takes = OPS[opcode].optional
    line = LINES[opcode].format(groups="replica_groups={{0,1}}, channel_id=1")
    of_replicas = "use_global_device_ids" in takes
    may_leave_out = opcode == "collective-broadcast"
    assert rules(line, 2, 3) == ([] if of_replicas or may_leave_out else ["V16"])
    assert rules(line, 3, 2) == (["V16"] if of_replicas else [])
    if of_replicas:
        every = LINES[opcode].format(groups="replica_groups={{0,1,2,3,4,5}}, channel_id=1, use_global_device_ids=true")
        assert rules(every, 2, 3) == []
        assert rules(every, 2, 2) == ["V16"]


@pytest.mark.parametrize("opcode", LINES)
def test_one_device_has_number_zero_only(opcode):
    assert rules(LINES[opcode].format(groups="replica_groups={{0}}"), 1) == []
    assert rules(LINES[opcode].format(groups="replica_groups={{0,1}}"), 1) == ["V16"]


@pytest.mark.parametrize("opcode", PERMUTES)
@pytest.mark.parametrize(
    ("pairs", "count"),
    [
        ("{}", 0),
        ("{{0,1}}", 0),
        ("{{0,1},{1,0}}", 0),
        ("{{0,1},{0,2}}", 1),
        ("{{0,1},{2,1}}", 1),
        ("{{0,4}}", 1),
        ("{{4,0}}", 1),
        ("{{-1,0}}", 1),
        ("{{5,5}}", 2),
    ],
)
def test_pairs_name_devices_once_as_source_and_once_as_target(opcode, pairs, count):
    line = PERMUTES[opcode].format(pairs=f"source_target_pairs={pairs}")
    assert rules(line) == ["V16"] * count
    assert rules(line.replace(pairs, f"{pairs}, channel_id=1"), 1, 4) == ["V16"] * count


@pytest.mark.parametrize(
    ("sharding", "alone", "on_four"),
    [
        ("{replicated}", True, True),
        ("{manual}", True, True),
        ("{devices=[2,2]<=[4]}", True, True),
        ("{devices=[2,2]<=[2,2]T(1,0)}", True, True),
        ("{devices=[2,2]0,2,1,3}", True, True),
        ("{devices=[2,1,2]<=[4] last_tile_dim_replicate}", True, True),
        ("{devices=[2,1,2]<=[4] last_tile_dims={replicated}}", True, True),
        ("{devices=[2,1,2,1]<=[4] last_tile_dims={replicated,manual}}", True, True),
        ("{maximal device=3}", True, True),
        ("{maximal device=7}", True, False),
        ("{devices=[2,2]0,1,2,9}", True, False),
        ("{devices=[2,2]4,5,6,7}", True, False),
        ("{devices=[3,1]0,1,2}", True, False),
        ("{devices=[16,1]<=[16]}", True, False),
        ("{devices=[2,2]<=[12]}", False, False),
        ("{devices=[4]<=[4]}", False, False),
        ("{devices=[2,1,2]<=[4]}", False, False),
        ("{devices=[2,1,2]<=[4] last_tile_dims={replicated,manual}}", False, False),
        ("{devices=[2,2]0,1,2,2}", False, False),
        ("{devices=[2,2]0,1,2,-1}", False, False),
        ("{maximal device=-1}", False, False),
        ("{{replicated},{replicated}}", False, False),
    ],
)
def test_shardings_are_valid_as_xla_validates_them(sharding, alone, on_four):
    for partitions, is_valid in ((1, alone), (4, on_four)):
        text = f"""HloModule m, num_partitions={partitions}
        ENTRY main {{ a = f32[8,8] parameter(0), sharding={sharding} ROOT b = f32[8,8] negate(a) }}"""
        assert [f.rule for f in findings(compiler.parse(text))] == ([] if is_valid else ["V17"])


def test_a_tuple_has_one_sharding_for_each_array():
    text = "ENTRY main {{ a = f32[8] parameter(0) ROOT b = (f32[8], f32[8]) tuple(a, a), sharding={sharding} }}"
    for sharding, found in (
        ("{replicated}", []),
        ("{{replicated}, {devices=[2]<=[2]}}", []),
        ("{{replicated}}", ["V17"]),
        ("{{replicated}, {devices=[2,2]<=[4]}}", ["V17"]),
    ):
        assert [f.rule for f in findings(compiler.parse(text.format(sharding=sharding)))] == found


def test_messages_say_what_and_where():
    with pytest.raises(
        compiler.VerifyError, match=r"main/r: all-reduce: its groups name replica 1 of 1: there is none"
    ):
        compiler.verify(
            compiler.parse(
                HEAD.format(replicas=1, partitions=1, line=LINES["all-reduce"].format(groups="replica_groups={{0,1}}"))
            )
        )
