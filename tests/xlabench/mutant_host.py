"""Programs in which a planted bug shows, hidden among instructions that have nothing to do with it."""

BODIES = """
sum { sum.a = f32[] parameter(0)
  sum.b = f32[] parameter(1)
  ROOT sum.r = f32[] add(sum.a, sum.b) }

largest { largest.a = f32[] parameter(0)
  largest.b = f32[] parameter(1)
  ROOT largest.r = f32[] maximum(largest.a, largest.b) }

scaled { scaled.a = f32[12,10] parameter(0)
  scaled.b = f32[12,10] parameter(1)
  ROOT scaled.r = f32[12,10] subtract(scaled.a, scaled.b) }

going { going.s = (s32[], f32[12,10], f32[12,10]) parameter(0)
  going.i = s32[] get-tuple-element(going.s), index=0
  going.n = s32[] constant(3)
  ROOT going.r = pred[] compare(going.i, going.n), direction=LT }

iteration { iteration.s = (s32[], f32[12,10], f32[12,10]) parameter(0)
  iteration.i = s32[] get-tuple-element(iteration.s), index=0
  iteration.x = f32[12,10] get-tuple-element(iteration.s), index=1
  iteration.y = f32[12,10] get-tuple-element(iteration.s), index=2
  iteration.one = s32[] constant(1)
  iteration.next = s32[] add(iteration.i, iteration.one)
  iteration.half = f32[] constant(0.5)
  iteration.halves = f32[12,10] broadcast(iteration.half), dimensions={}
  iteration.shrunk = f32[12,10] multiply(iteration.x, iteration.halves)
  iteration.sum = f32[12,10] add(iteration.shrunk, iteration.y)
  ROOT iteration.r = (s32[], f32[12,10], f32[12,10]) tuple(iteration.next, iteration.sum, iteration.x) }
"""

BEFORE = """
  p0 = f32[12,10] parameter(0)
  p1 = f32[12,10] parameter(1)
  n = s32[12,10] parameter(2)
  one = f32[] constant(1)
  zero = f32[] constant(0)
  bottom = f32[] constant(-inf)
  ones = f32[12,10] broadcast(one), dimensions={}
  s0 = f32[12,10] sine(p0)
  s1 = f32[12,10] add(s0, ones)
  peak = f32[12] reduce(s1, bottom), dimensions={1}, to_apply=largest
  peaks = f32[12,10] broadcast(peak), dimensions={0}
  s2 = f32[12,10] subtract(s1, peaks)
  s3 = f32[12,10] exponential(s2)
  total = f32[12] reduce(s3, zero), dimensions={1}, to_apply=sum
  totals = f32[12,10] broadcast(total), dimensions={0}
  soft = f32[12,10] divide(s3, totals)
  flipped = f32[10,12] transpose(p1), dimensions={1,0}
  x = f32[12,10] multiply(soft, p1)
  y = f32[12,10] add(x, p0)
"""

AFTER = """
  t0 = f32[12,10] tanh(z)
  t1 = f32[12,10] add(t0, y)
  t2 = f32[12,10] multiply(t1, soft)
  t3 = f32[12] reduce(t2, zero), dimensions={1}, to_apply=sum
  t4 = f32[10,10] dot(flipped, t1), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT out = (f32[12,10], f32[12], f32[10,10], f32[12,10]) tuple(t1, t3, t4, x)
"""


def program(snippet: str) -> str:
    """A program around lines that compute `z`, an f32[12,10], from `x`, `y` (f32[12,10]), `n` (s32[12,10]) and more."""
    return f"HloModule hosted\n{BODIES}\nENTRY main {{{BEFORE}{snippet}{AFTER}}}\n"
