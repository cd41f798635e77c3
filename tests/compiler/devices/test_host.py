"""Queues and channels give in turn what was put in, and say what is missing."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest
from device_runs import X, firsts, rows, run

from compiler import Host
from compiler.diagnostics import InputError

PAIRS = 'frontend_attributes={_xla_send_recv_source_target_pairs="{{0,1}}"}'
SEND = f"""
k = token[] after-all()
v = (f32[4], u32[], token[]) recv(k), channel_id=1, {PAIRS}
s = (f32[4], u32[], token[]) send(x, k), channel_id=1, {PAIRS}
d = (f32[4], token[]) recv-done(v), channel_id=1
e = token[] send-done(s), channel_id=1
ROOT r = f32[4] get-tuple-element(d), index=0
"""


def test_what_one_device_sends_another_receives() -> None:
    inputs = rows(2)
    assert firsts(run(X + SEND, inputs, replicas=2)) == [[0.0] * 4, inputs[0][0].tolist()]


def test_infeed_and_outfeed_work_on_the_queues_of_the_caller() -> None:
    lines = """
    k = token[] after-all()
    i = (f32[2], token[]) infeed(k)
    v = f32[2] get-tuple-element(i), index=0
    t = token[] get-tuple-element(i), index=1
    n = f32[2] negate(v)
    o = token[] outfeed(n, t), outfeed_shape=f32[2]
    ROOT r = f32[2] add(v, v)
    """
    hosts = [Host(infeed=deque([[np.full(2, d, np.float32)]])) for d in range(2)]
    results = run(lines, [[], []], replicas=2, hosts=hosts)
    assert firsts(results) == [[0, 0], [2, 2]]
    assert [host.outfeed[0][0].tolist() for host in hosts] == [[0, 0], [-1, -1]]
    with pytest.raises(InputError, match="its queue is empty"):
        run(lines, [[], []], replicas=2)
