"""Softmax regression on 28x28 digits, the first TensorFlow tutorial, as HLO text.

One step of gradient descent on the mean cross-entropy of softmax(x w + b).  With `p` the softmax and `y` one-hot, the
gradient by the logits is `(p - y) / batch`; the learning rate and 1/batch are one constant.  The largest logit of each
row is subtracted first, so that no exponential overflows.
"""

from __future__ import annotations

PIXELS = 784
CLASSES = 10

_REDUCERS = """
add {
  left = f32[] parameter(0)
  right = f32[] parameter(1)
  ROOT sum = f32[] add(left, right)
}

maximum {
  left = f32[] parameter(0)
  right = f32[] parameter(1)
  ROOT larger = f32[] maximum(left, right)
}
"""

_LOGITS = f"""
  w = f32[{PIXELS},{CLASSES}] parameter(0)
  b = f32[{CLASSES}] parameter(1)
  x = f32[$B,{PIXELS}] parameter(2)
  y = f32[$B,{CLASSES}] parameter(3)
  zero = f32[] constant(0)
  lowest = f32[] constant(-inf)
  product = f32[$B,{CLASSES}] dot(x, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  bias = f32[$B,{CLASSES}] broadcast(b), dimensions={{1}}
  logits = f32[$B,{CLASSES}] add(product, bias)
  top = f32[$B] reduce(logits, lowest), dimensions={{1}}, to_apply=maximum
"""

_STEP = f"""HloModule mnist_softmax_step
{_REDUCERS}
ENTRY step {{{_LOGITS}
  tops = f32[$B,{CLASSES}] broadcast(top), dimensions={{0}}
  centred = f32[$B,{CLASSES}] subtract(logits, tops)
  exponentials = f32[$B,{CLASSES}] exponential(centred)
  total = f32[$B] reduce(exponentials, zero), dimensions={{1}}, to_apply=add
  log_total = f32[$B] log(total)
  log_totals = f32[$B,{CLASSES}] broadcast(log_total), dimensions={{0}}
  log_softmax = f32[$B,{CLASSES}] subtract(centred, log_totals)
  chosen = f32[$B,{CLASSES}] multiply(y, log_softmax)
  likelihoods = f32[$B] reduce(chosen, zero), dimensions={{1}}, to_apply=add
  likelihood = f32[] reduce(likelihoods, zero), dimensions={{0}}, to_apply=add
  batch = f32[] constant($B)
  mean = f32[] divide(likelihood, batch)
  loss = f32[] negate(mean)
  totals = f32[$B,{CLASSES}] broadcast(total), dimensions={{0}}
  softmax = f32[$B,{CLASSES}] divide(exponentials, totals)
  error = f32[$B,{CLASSES}] subtract(softmax, y)
  rate = f32[] constant($RATE)
  rates = f32[$B,{CLASSES}] broadcast(rate), dimensions={{}}
  change = f32[$B,{CLASSES}] multiply(error, rates)
  w_change = f32[{PIXELS},{CLASSES}] dot(x, change), lhs_contracting_dims={{0}}, rhs_contracting_dims={{0}}
  w_next = f32[{PIXELS},{CLASSES}] subtract(w, w_change)
  b_change = f32[{CLASSES}] reduce(change, zero), dimensions={{0}}, to_apply=add
  b_next = f32[{CLASSES}] subtract(b, b_change)
  ROOT next = (f32[{PIXELS},{CLASSES}], f32[{CLASSES}], f32[]) tuple(w_next, b_next, loss)
}}
"""

_EVALUATION = f"""HloModule mnist_softmax_evaluation
{_REDUCERS}
ENTRY evaluation {{{_LOGITS}
  chosen = f32[$B,{CLASSES}] multiply(y, logits)
  own = f32[$B] reduce(chosen, zero), dimensions={{1}}, to_apply=add
  hit = pred[$B] compare(own, top), direction=EQ
  weight = f32[$B] reduce(y, zero), dimensions={{1}}, to_apply=add
  zeros = f32[$B] broadcast(zero), dimensions={{}}
  hits = f32[$B] select(hit, weight, zeros)
  ROOT correct = f32[] reduce(hits, zero), dimensions={{0}}, to_apply=add
}}
"""


def train_step(batch: int, *, learning_rate: float = 0.5) -> str:
    """HLO of (w, b, x, y) -> (w', b', loss) for a batch; `x` in [0, 1], `y` one-hot."""
    return _STEP.replace("$B", str(batch)).replace("$RATE", repr(learning_rate / batch))


def evaluation(batch: int) -> str:
    """HLO of (w, b, x, y) -> how many rows get their largest logit where `y` is one; rows of zeros do not count."""
    return _EVALUATION.replace("$B", str(batch))
