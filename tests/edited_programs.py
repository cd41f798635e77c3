"""A program that every edit finds something in, and where."""

TEXT = """
HloModule m, entry_computation_layout={(f32[6,4]{1,0}, f32[6,4]{1,0})->(f32[6,4]{1,0}, f32[6]{0}, f32[3,2]{1,0})}

sum { sum.a = f32[] parameter(0)
  sum.b = f32[] parameter(1)
  ROOT sum.r = f32[] add(sum.a, sum.b) }

twice { twice.x = f32[6,4] parameter(0)
  twice.unused = f32[6,4] parameter(1)
  ROOT twice.r = f32[6,4] add(twice.x, twice.x) }

later { later.x = f32[6,4] parameter(0)
  later.y = f32[6,4] parameter(1)
  ROOT later.r = f32[6,4] add(later.x, later.y) }

going { going.s = (s32[], f32[6,4], f32[6]) parameter(0)
  going.i = s32[] get-tuple-element(going.s), index=0
  going.n = s32[] constant(3)
  ROOT going.r = pred[] compare(going.i, going.n), direction=LT }

iteration { iteration.s = (s32[], f32[6,4], f32[6]) parameter(0)
  iteration.i = s32[] get-tuple-element(iteration.s), index=0
  iteration.x = f32[6,4] get-tuple-element(iteration.s), index=1
  iteration.v = f32[6] get-tuple-element(iteration.s), index=2
  iteration.one = s32[] constant(1)
  iteration.next = s32[] add(iteration.i, iteration.one)
  iteration.y = f32[6,4] add(iteration.x, iteration.x)
  ROOT iteration.r = (s32[], f32[6,4], f32[6]) tuple(iteration.next, iteration.y, iteration.v) }

ENTRY main {
  x = f32[6,4] parameter(0)
  y = f32[6,4] parameter(1)
  a = f32[6,4] add(x, y), metadata={op_name="a"}
  b = f32[6,4] call(a, a), to_apply=twice
  zero = f32[] constant(0)
  v = f32[6] reduce(b, zero), dimensions={1}, to_apply=sum
  i = s32[] constant(0)
  s = (s32[], f32[6,4], f32[6]) tuple(i, b, v)
  l = (s32[], f32[6,4], f32[6]) while(s), condition=going, body=iteration
  c = f32[6,4] get-tuple-element(l), index=1
  began = ((f32[6,4], f32[6,4]), f32[6,4]) async-start(c, c), calls=later
  d = f32[6,4] async-done(began)
  cut = f32[3,2] slice(d), slice={[1:6:2], [2:4]}
  ROOT out = (f32[6,4], f32[6], f32[3,2]) tuple(c, v, cut)
}
"""
MAIN = {name: ("main", name) for name in ("x", "y", "a", "b", "v", "l", "c", "began", "cut")}
