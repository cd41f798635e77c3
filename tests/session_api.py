"""Expressions of the namespace: of a, b (floats), n (integers) and two placeholders, p of known rank and u without.

`tests/record_session_api.py` has TensorFlow evaluate them, and writes what it says to `api.json`.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import xlabench.tensorflow as tf

Case = Callable[[Any, Any, Any, Any, Any], Any]

EXACT: Mapping[str, Case] = {
    "a + 1": lambda a, b, n, p, u: a + 1,
    "1 + a": lambda a, b, n, p, u: 1 + a,
    "a - b": lambda a, b, n, p, u: a - b,
    "2 - a": lambda a, b, n, p, u: 2 - a,
    "a * b": lambda a, b, n, p, u: a * b,
    "3 * a": lambda a, b, n, p, u: 3 * a,
    "a / b": lambda a, b, n, p, u: a / b,
    "1 / a": lambda a, b, n, p, u: 1 / a,
    "n / 2": lambda a, b, n, p, u: n / 2,
    "n // 2": lambda a, b, n, p, u: n // 2,
    "-n // 4": lambda a, b, n, p, u: -n // 4,
    "n % 2": lambda a, b, n, p, u: n % 2,
    "-n % 4": lambda a, b, n, p, u: -n % 4,
    "a ** 2": lambda a, b, n, p, u: a**2,
    "2 ** a": lambda a, b, n, p, u: 2**a,
    "-a": lambda a, b, n, p, u: -a,
    "abs(-a)": lambda a, b, n, p, u: abs(-a),
    "a < b": lambda a, b, n, p, u: a < b,
    "a <= b": lambda a, b, n, p, u: a <= b,
    "a > b": lambda a, b, n, p, u: a > b,
    "a >= b": lambda a, b, n, p, u: a >= b,
    "n & 1": lambda a, b, n, p, u: n & 1,
    "n | 1": lambda a, b, n, p, u: n | 1,
    "n ^ 3": lambda a, b, n, p, u: n ^ 3,
    "~n": lambda a, b, n, p, u: ~n,
    "(a < b) & (a > b)": lambda a, b, n, p, u: (a < b) & (a > b),
    "(a < b) | (a > b)": lambda a, b, n, p, u: (a < b) | (a > b),
    "(a < b) ^ (a > b)": lambda a, b, n, p, u: (a < b) ^ (a > b),
    "~(a < b)": lambda a, b, n, p, u: ~(a < b),
    "a @ tf.transpose(b)": lambda a, b, n, p, u: a @ tf.transpose(b),
    "a[0]": lambda a, b, n, p, u: a[0],
    "a[:, 1]": lambda a, b, n, p, u: a[:, 1],
    "a[..., None]": lambda a, b, n, p, u: a[..., None],
    "a[::-1]": lambda a, b, n, p, u: a[::-1],
    "a[1, 2]": lambda a, b, n, p, u: a[1, 2],
    "n[tf.constant(1)]": lambda a, b, n, p, u: n[tf.constant(1)],
    "a[:, 1:]": lambda a, b, n, p, u: a[:, 1:],
    "a[-1]": lambda a, b, n, p, u: a[-1],
    "p[0]": lambda a, b, n, p, u: p[0],
    "p[:, 0]": lambda a, b, n, p, u: p[:, 0],
    "u[0]": lambda a, b, n, p, u: u[0],
    "tf.abs(a)": lambda a, b, n, p, u: tf.abs(a),
    "tf.add(a, b)": lambda a, b, n, p, u: tf.add(a, b),
    "tf.add_n([a, b])": lambda a, b, n, p, u: tf.add_n([a, b]),
    "tf.subtract(a, b)": lambda a, b, n, p, u: tf.subtract(a, b),
    "tf.multiply(a, b)": lambda a, b, n, p, u: tf.multiply(a, b),
    "tf.divide(a, b)": lambda a, b, n, p, u: tf.divide(a, b),
    "tf.div(n, 2)": lambda a, b, n, p, u: tf.div(n, 2),
    "tf.truediv(n, 2)": lambda a, b, n, p, u: tf.truediv(n, 2),
    "tf.realdiv(a, b)": lambda a, b, n, p, u: tf.realdiv(a, b),
    "tf.floordiv(n, 2)": lambda a, b, n, p, u: tf.floordiv(n, 2),
    "tf.mod(n, 2)": lambda a, b, n, p, u: tf.mod(n, 2),
    "tf.pow(a, b)": lambda a, b, n, p, u: tf.pow(a, b),
    "tf.maximum(a, b)": lambda a, b, n, p, u: tf.maximum(a, b),
    "tf.minimum(a, 0.5)": lambda a, b, n, p, u: tf.minimum(a, 0.5),
    "tf.squared_difference(a, b)": lambda a, b, n, p, u: tf.squared_difference(a, b),
    "tf.exp(a)": lambda a, b, n, p, u: tf.exp(a),
    "tf.log(b)": lambda a, b, n, p, u: tf.log(b),
    "tf.sqrt(a)": lambda a, b, n, p, u: tf.sqrt(a),
    "tf.rsqrt(b)": lambda a, b, n, p, u: tf.rsqrt(b),
    "tf.square(a)": lambda a, b, n, p, u: tf.square(a),
    "tf.sign(a - b)": lambda a, b, n, p, u: tf.sign(a - b),
    "tf.round(a * 3)": lambda a, b, n, p, u: tf.round(a * 3),
    "tf.floor(a * 3)": lambda a, b, n, p, u: tf.floor(a * 3),
    "tf.ceil(a * 3)": lambda a, b, n, p, u: tf.ceil(a * 3),
    "tf.sin(a)": lambda a, b, n, p, u: tf.sin(a),
    "tf.tanh(a)": lambda a, b, n, p, u: tf.tanh(a),
    "tf.sigmoid(a)": lambda a, b, n, p, u: tf.sigmoid(a),
    "tf.erf(a)": lambda a, b, n, p, u: tf.erf(a),
    "tf.lgamma(b)": lambda a, b, n, p, u: tf.lgamma(b),
    "tf.negative(a)": lambda a, b, n, p, u: tf.negative(a),
    "tf.reciprocal(b)": lambda a, b, n, p, u: tf.reciprocal(b),
    "tf.is_nan(a)": lambda a, b, n, p, u: tf.is_nan(a),
    "tf.logical_and(a < b, a > b)": lambda a, b, n, p, u: tf.logical_and(a < b, a > b),
    "tf.logical_xor(a < b, a > b)": lambda a, b, n, p, u: tf.logical_xor(a < b, a > b),
    "tf.reduce_sum(a)": lambda a, b, n, p, u: tf.reduce_sum(a),
    "tf.reduce_sum(a, 0)": lambda a, b, n, p, u: tf.reduce_sum(a, 0),
    "tf.reduce_sum(a, axis=[0, 1])": lambda a, b, n, p, u: tf.reduce_sum(a, axis=[0, 1]),
    "tf.reduce_mean(a, 1)": lambda a, b, n, p, u: tf.reduce_mean(a, 1),
    "tf.reduce_mean(a, 1, keep_dims=True)": lambda a, b, n, p, u: tf.reduce_mean(a, 1, keep_dims=True),
    "tf.reduce_max(a, reduction_indices=[1])": lambda a, b, n, p, u: tf.reduce_max(a, reduction_indices=[1]),
    "tf.reduce_min(a, -1, keepdims=True)": lambda a, b, n, p, u: tf.reduce_min(a, -1, keepdims=True),
    "tf.reduce_prod(n)": lambda a, b, n, p, u: tf.reduce_prod(n),
    "tf.reduce_all(a < b)": lambda a, b, n, p, u: tf.reduce_all(a < b),
    "tf.reduce_any(a < b, 1)": lambda a, b, n, p, u: tf.reduce_any(a < b, 1),
    "tf.reduce_logsumexp(a)": lambda a, b, n, p, u: tf.reduce_logsumexp(a),
    "tf.reduce_logsumexp(a, 1)": lambda a, b, n, p, u: tf.reduce_logsumexp(a, 1),
    "tf.reduce_sum(p)": lambda a, b, n, p, u: tf.reduce_sum(p),
    "tf.reduce_mean(p, 0)": lambda a, b, n, p, u: tf.reduce_mean(p, 0),
    "tf.reduce_sum(u)": lambda a, b, n, p, u: tf.reduce_sum(u),
    "tf.argmax(a, 1)": lambda a, b, n, p, u: tf.argmax(a, 1),
    "tf.argmin(a, 0)": lambda a, b, n, p, u: tf.argmin(a, 0),
    "tf.argmax(a)": lambda a, b, n, p, u: tf.argmax(a),
    "tf.argmax(a, dimension=1, output_type=tf.int32)": lambda a, b, n, p, u: tf.argmax(
        a, dimension=1, output_type=tf.int32
    ),
    "tf.matmul(a, b, transpose_b=True)": lambda a, b, n, p, u: tf.matmul(a, b, transpose_b=True),
    "tf.matmul(a, b, transpose_a=True)": lambda a, b, n, p, u: tf.matmul(a, b, transpose_a=True),
    "tf.matmul(tf.zeros([2, 2, 3]), tf.ones([2, 3, 2]))": lambda a, b, n, p, u: tf.matmul(
        tf.zeros([2, 2, 3]), tf.ones([2, 3, 2])
    ),
    "tf.cast(a * 3, tf.int32)": lambda a, b, n, p, u: tf.cast(a * 3, tf.int32),
    "tf.cast(n, 'float64')": lambda a, b, n, p, u: tf.cast(n, "float64"),
    "tf.to_float(n)": lambda a, b, n, p, u: tf.to_float(n),
    "tf.zeros([2, 3])": lambda a, b, n, p, u: tf.zeros([2, 3]),
    "tf.ones([2])": lambda a, b, n, p, u: tf.ones([2]),
    "tf.zeros([2, 3], tf.int32)": lambda a, b, n, p, u: tf.zeros([2, 3], tf.int32),
    "tf.fill([2, 2], 7.0)": lambda a, b, n, p, u: tf.fill([2, 2], 7.0),
    "tf.zeros_like(a)": lambda a, b, n, p, u: tf.zeros_like(a),
    "tf.ones_like(n)": lambda a, b, n, p, u: tf.ones_like(n),
    "tf.zeros_like(p)": lambda a, b, n, p, u: tf.zeros_like(p),
    "tf.range(5)": lambda a, b, n, p, u: tf.range(5),
    "tf.range(2, 8, 2)": lambda a, b, n, p, u: tf.range(2, 8, 2),
    "tf.range(0.0, 1.0, 0.25)": lambda a, b, n, p, u: tf.range(0.0, 1.0, 0.25),
    "tf.shape(a)": lambda a, b, n, p, u: tf.shape(a),
    "tf.shape(p)": lambda a, b, n, p, u: tf.shape(p),
    "tf.size(a)": lambda a, b, n, p, u: tf.size(a),
    "tf.rank(a)": lambda a, b, n, p, u: tf.rank(a),
    "tf.size(p)": lambda a, b, n, p, u: tf.size(p),
    "tf.rank(u)": lambda a, b, n, p, u: tf.rank(u),
    "tf.reshape(a, [3, 2])": lambda a, b, n, p, u: tf.reshape(a, [3, 2]),
    "tf.reshape(p, [-1])": lambda a, b, n, p, u: tf.reshape(p, [-1]),
    "tf.transpose(a)": lambda a, b, n, p, u: tf.transpose(a),
    "tf.transpose(a, [1, 0])": lambda a, b, n, p, u: tf.transpose(a, [1, 0]),
    "tf.expand_dims(a, 0)": lambda a, b, n, p, u: tf.expand_dims(a, 0),
    "tf.expand_dims(a, axis=-1)": lambda a, b, n, p, u: tf.expand_dims(a, axis=-1),
    "tf.squeeze(a[None])": lambda a, b, n, p, u: tf.squeeze(a[None]),
    "tf.squeeze(a[None], [0])": lambda a, b, n, p, u: tf.squeeze(a[None], [0]),
    "tf.concat([a, b], 0)": lambda a, b, n, p, u: tf.concat([a, b], 0),
    "tf.concat([a, b], axis=1)": lambda a, b, n, p, u: tf.concat([a, b], axis=1),
    "tf.stack([a, b])": lambda a, b, n, p, u: tf.stack([a, b]),
    "tf.stack([a, b], axis=1)": lambda a, b, n, p, u: tf.stack([a, b], axis=1),
    "tf.unstack(a)": lambda a, b, n, p, u: tf.unstack(a),
    "tf.unstack(a, axis=1)": lambda a, b, n, p, u: tf.unstack(a, axis=1),
    "tf.split(a, 3, 1)": lambda a, b, n, p, u: tf.split(a, 3, 1),
    "tf.split(a, [1, 2], 1)": lambda a, b, n, p, u: tf.split(a, [1, 2], 1),
    "tf.tile(a, [2, 1])": lambda a, b, n, p, u: tf.tile(a, [2, 1]),
    "tf.pad(a, [[1, 0], [0, 1]])": lambda a, b, n, p, u: tf.pad(a, [[1, 0], [0, 1]]),
    "tf.pad(a, [[1, 0], [0, 1]], constant_values=2)": lambda a, b, n, p, u: tf.pad(
        a, [[1, 0], [0, 1]], constant_values=2
    ),
    "tf.pad(a, [[1, 0], [0, 1]], 'REFLECT')": lambda a, b, n, p, u: tf.pad(a, [[1, 0], [0, 1]], "REFLECT"),
    "tf.gather(a, [1, 0])": lambda a, b, n, p, u: tf.gather(a, [1, 0]),
    "tf.gather(a, [2, 0], axis=1)": lambda a, b, n, p, u: tf.gather(a, [2, 0], axis=1),
    "tf.gather_nd(a, [[0, 1], [1, 2]])": lambda a, b, n, p, u: tf.gather_nd(a, [[0, 1], [1, 2]]),
    "tf.one_hot([0, 2], 3)": lambda a, b, n, p, u: tf.one_hot([0, 2], 3),
    "tf.one_hot([0, 2], 3, on_value=5, off_value=1, dtype=tf.int32)": lambda a, b, n, p, u: tf.one_hot(
        [0, 2], 3, on_value=5, off_value=1, dtype=tf.int32
    ),
    "tf.boolean_mask(a, True)": lambda a, b, n, p, u: tf.boolean_mask(a, mask=True),
    "tf.boolean_mask(a, [True])": lambda a, b, n, p, u: tf.boolean_mask(a, [True]),
    "tf.where(a < b, a, b)": lambda a, b, n, p, u: tf.where(a < b, a, b),
    "tf.reverse(a, [1])": lambda a, b, n, p, u: tf.reverse(a, [1]),
    "tf.slice(a, [0, 1], [2, 2])": lambda a, b, n, p, u: tf.slice(a, [0, 1], [2, 2]),
    "tf.strided_slice(a, [0, 0], [2, 3], [1, 2])": lambda a, b, n, p, u: tf.strided_slice(a, [0, 0], [2, 3], [1, 2]),
    "tf.clip_by_value(a, 0.2, 0.5)": lambda a, b, n, p, u: tf.clip_by_value(a, 0.2, 0.5),
    "tf.clip_by_norm(a, 1.0)": lambda a, b, n, p, u: tf.clip_by_norm(a, 1.0),
    "tf.global_norm([a, b])": lambda a, b, n, p, u: tf.global_norm([a, b]),
    "tf.clip_by_global_norm([a, b], 1.0)[0]": lambda a, b, n, p, u: tf.clip_by_global_norm([a, b], 1.0)[0],
    "tf.cumsum(a, 1)": lambda a, b, n, p, u: tf.cumsum(a, 1),
    "tf.identity(a)": lambda a, b, n, p, u: tf.identity(a),
    "tf.stop_gradient(a)": lambda a, b, n, p, u: tf.stop_gradient(a),
    "tf.broadcast_to(a, [2, 2, 3])": lambda a, b, n, p, u: tf.broadcast_to(a, [2, 2, 3]),
    "tf.invert_permutation([2, 0, 1])": lambda a, b, n, p, u: tf.invert_permutation([2, 0, 1]),
    "tf.matrix_band_part(a, 0, -1)": lambda a, b, n, p, u: tf.matrix_band_part(a, 0, -1),
    "tf.unsorted_segment_sum(a, [0, 0], 1)": lambda a, b, n, p, u: tf.unsorted_segment_sum(a, [0, 0], 1),
    "tf.squared_difference(n, 2)": lambda a, b, n, p, u: tf.squared_difference(n, 2),
    "tf.equal(n, 2)": lambda a, b, n, p, u: tf.equal(n, 2),
    "tf.not_equal(n, 2)": lambda a, b, n, p, u: tf.not_equal(n, 2),
    "tf.tuple([a, b])": lambda a, b, n, p, u: tf.tuple([a, b]),
    "tf.nn.relu(a - b)": lambda a, b, n, p, u: tf.nn.relu(a - b),
    "tf.nn.relu6(a)": lambda a, b, n, p, u: tf.nn.relu6(a),
    "tf.nn.elu(a - b)": lambda a, b, n, p, u: tf.nn.elu(a - b),
    "tf.nn.softplus(a)": lambda a, b, n, p, u: tf.nn.softplus(a),
    "tf.nn.softmax(a)": lambda a, b, n, p, u: tf.nn.softmax(a),
    "tf.nn.softmax(a, axis=0)": lambda a, b, n, p, u: tf.nn.softmax(a, axis=0),
    "tf.nn.log_softmax(a)": lambda a, b, n, p, u: tf.nn.log_softmax(a),
    "tf.nn.l2_loss(a)": lambda a, b, n, p, u: tf.nn.l2_loss(a),
    "tf.nn.l2_normalize(a, 1)": lambda a, b, n, p, u: tf.nn.l2_normalize(a, 1),
    "tf.nn.bias_add(a, [1.0, 2.0, 3.0])": lambda a, b, n, p, u: tf.nn.bias_add(a, [1.0, 2.0, 3.0]),
    "tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0, 2], logits=a)": lambda a, b, n, p, u: (
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0, 2], logits=a)
    ),
    "tf.nn.sigmoid_cross_entropy_with_logits(labels=b, logits=a)": lambda a, b, n, p, u: (
        tf.nn.sigmoid_cross_entropy_with_logits(labels=b, logits=a)
    ),
    "tf.nn.moments(a, [0])": lambda a, b, n, p, u: tf.nn.moments(a, [0]),
    "tf.nn.top_k(a, 2)": lambda a, b, n, p, u: tf.nn.top_k(a, 2),
    "tf.nn.xw_plus_b(a, tf.ones([3, 2]), [1.0, 2.0])": lambda a, b, n, p, u: tf.nn.xw_plus_b(
        a, tf.ones([3, 2]), [1.0, 2.0]
    ),
    "tf.nn.leaky_relu(a - b)": lambda a, b, n, p, u: tf.nn.leaky_relu(a - b),
    "tf.nn.conv2d(tf.ones([1, 4, 4, 1]), tf.ones([2, 2, 1, 1]), [1, 1, 1, 1], 'SAME')": lambda a, b, n, p, u: (
        tf.nn.conv2d(tf.ones([1, 4, 4, 1]), tf.ones([2, 2, 1, 1]), [1, 1, 1, 1], "SAME")
    ),
    "tf.nn.max_pool(image, [1, 2, 2, 1], [1, 2, 2, 1], 'VALID')": lambda a, b, n, p, u: tf.nn.max_pool(
        tf.reshape(tf.range(16.0), [1, 4, 4, 1]), [1, 2, 2, 1], [1, 2, 2, 1], "VALID"
    ),
    "tf.nn.avg_pool(image, [1, 2, 2, 1], [1, 2, 2, 1], 'SAME')": lambda a, b, n, p, u: tf.nn.avg_pool(
        tf.reshape(tf.range(16.0), [1, 4, 4, 1]), [1, 2, 2, 1], [1, 2, 2, 1], "SAME"
    ),
    "tf.constant(1)": lambda a, b, n, p, u: tf.constant(1),
    "tf.constant(1.5)": lambda a, b, n, p, u: tf.constant(1.5),
    "tf.constant([1, 2], shape=[2, 2])": lambda a, b, n, p, u: tf.constant([1, 2], shape=[2, 2]),
    "tf.constant(True)": lambda a, b, n, p, u: tf.constant(value=True),
    "tf.constant(np.float64(2))": lambda a, b, n, p, u: tf.constant(np.float64(2)),
    "tf.constant(3, tf.float32)": lambda a, b, n, p, u: tf.constant(3, tf.float32),
    "tf.constant(2 ** 40)": lambda a, b, n, p, u: tf.constant(2**40),
    "tf.convert_to_tensor([a[0], b[1]])": lambda a, b, n, p, u: tf.convert_to_tensor([a[0], b[1]]),
    "tf.constant(1.5, tf.int32)": lambda a, b, n, p, u: tf.constant(1.5, tf.int32),
    "tf.gradients(a * b, [a, b])": lambda a, b, n, p, u: tf.gradients(a * b, [a, b]),
    "tf.gradients(tf.reduce_sum(tf.matmul(a, b, transpose_b=True)), a)": lambda a, b, n, p, u: tf.gradients(
        tf.reduce_sum(tf.matmul(a, b, transpose_b=True)), a
    ),
    "tf.gradients(a, b)": lambda a, b, n, p, u: tf.gradients(a, b),
    "tf.gradients(u * u, u)": lambda a, b, n, p, u: tf.gradients(u * u, u),
}
"""What must have the names, shapes and types that TensorFlow gives, and its values."""

VALUES: Mapping[str, Case] = {
    "tf.tensordot(a, b, [[1], [1]])": lambda a, b, n, p, u: tf.tensordot(a, b, [[1], [1]]),
    "tf.linspace(0.0, 1.0, 5)": lambda a, b, n, p, u: tf.linspace(0.0, 1.0, 5),
    "tf.eye(3)": lambda a, b, n, p, u: tf.eye(3),
    "tf.concat([a], 0)": lambda a, b, n, p, u: tf.concat([a], 0),
    "tf.meshgrid([1, 2], [3, 4, 5])": lambda a, b, n, p, u: tf.meshgrid([1, 2], [3, 4, 5]),
    "tf.nn.softmax_cross_entropy_with_logits(labels=b, logits=a)": lambda a, b, n, p, u: (
        tf.nn.softmax_cross_entropy_with_logits(labels=b, logits=a)
    ),
    "tf.nn.softmax_cross_entropy_with_logits_v2(labels=b, logits=a)": lambda a, b, n, p, u: (
        tf.nn.softmax_cross_entropy_with_logits_v2(labels=b, logits=a)
    ),
    "tf.nn.in_top_k(a, [0, 1], 1)": lambda a, b, n, p, u: tf.nn.in_top_k(a, [0, 1], 1),
    "tf.nn.embedding_lookup(a, [1])": lambda a, b, n, p, u: tf.nn.embedding_lookup(a, [1]),
    "tf.nn.batch_normalization(a, 0.0, 1.0, None, None, 0.001)": lambda a, b, n, p, u: tf.nn.batch_normalization(
        a, 0.0, 1.0, None, None, 0.001
    ),
    "tf.Variable(a)": lambda a, b, n, p, u: tf.Variable(a),
    "tf.Variable(a, name='v') + 1": lambda a, b, n, p, u: tf.Variable(a, name="v") + 1,
    "tf.get_variable('q', initializer=a)": lambda a, b, n, p, u: tf.get_variable("q", initializer=a),
    "tf.gradients(tf.nn.softmax(a), a)": lambda a, b, n, p, u: tf.gradients(tf.nn.softmax(a), a),
    "tf.gradients(p * 2, p)": lambda a, b, n, p, u: tf.gradients(p * 2, p),
    "tf.gradients(tf.reduce_mean(p + a[0]), p)": lambda a, b, n, p, u: tf.gradients(tf.reduce_mean(p + a[0]), p),
    "tf.where(a > b)": lambda a, b, n, p, u: tf.where(a > b),
    "tf.where(u > 1.0)": lambda a, b, n, p, u: tf.where(u > 1.0),
    "tf.unique([3, 1, 3, 2], tf.int64)": lambda a, b, n, p, u: tf.unique([3, 1, 3, 2], tf.int64),
    "tf.setdiff1d([1, 2, 3], [2])": lambda a, b, n, p, u: tf.setdiff1d([1, 2, 3], [2]),
    "tf.dynamic_partition(a, [1, 0], 2)": lambda a, b, n, p, u: tf.dynamic_partition(a, [1, 0], 2),
    "tf.boolean_mask(a, a > b)": lambda a, b, n, p, u: tf.boolean_mask(a, a > b),
    "tf.boolean_mask(a, a[0] > 0.6, axis=1)": lambda a, b, n, p, u: tf.boolean_mask(a, a[0] > 0.6, axis=1),
    "tf.gradients(tf.boolean_mask(a, a > b), a)": lambda a, b, n, p, u: tf.gradients(tf.boolean_mask(a, a > b), a),
    "tf.where_v2(a < b, a, 0.5)": lambda a, b, n, p, u: tf.where_v2(a < b, a, 0.5),
    "tf.identity_n([a, b])": lambda a, b, n, p, u: tf.identity_n([a, b]),
    "tf.saturate_cast(a * 300, tf.uint8)": lambda a, b, n, p, u: tf.saturate_cast(a * 300, tf.uint8),
    "tf.accumulate_n([a, b])": lambda a, b, n, p, u: tf.accumulate_n([a, b]),
    "tf.nn.relu_layer(a, tf.ones([3, 2]), [1.0, -2.0])": lambda a, b, n, p, u: tf.nn.relu_layer(
        a, tf.ones([3, 2]), [1.0, -2.0]
    ),
    "tf.nn.depthwise_conv2d_native(image, filter, [1, 1, 1, 1], 'SAME')": lambda a, b, n, p, u: (
        tf.nn.depthwise_conv2d_native(tf.ones([1, 3, 3, 2]), tf.ones([2, 2, 2, 1]), [1, 1, 1, 1], "SAME")
    ),
    "tf.nn.dropout(a, rate=0.5, seed=3)": lambda a, b, n, p, u: tf.nn.dropout(a, rate=0.5, seed=3),
    "tf.scatter_add(tf.Variable(a), [1, 1], b)": lambda a, b, n, p, u: tf.scatter_add(tf.Variable(a), [1, 1], b),
    "tf.is_variable_initialized(tf.Variable(a))": lambda a, b, n, p, u: tf.is_variable_initialized(tf.Variable(a)),
    "tf.to_int32(a * 3)": lambda a, b, n, p, u: tf.to_int32(a * 3),
    "tf.nn.moments(a, [0], keep_dims=True)": lambda a, b, n, p, u: tf.nn.moments(a, [0], keep_dims=True),
    "tf.get_variable('i', [2, 3], initializer=tf.random_normal_initializer(seed=1))": lambda a, b, n, p, u: (
        tf.get_variable("i", [2, 3], initializer=tf.random_normal_initializer(seed=1))
    ),
    "tf.get_variable('i', [2, 3], initializer=tf.random_uniform_initializer(-1, 1, seed=1))": lambda a, b, n, p, u: (
        tf.get_variable("i", [2, 3], initializer=tf.random_uniform_initializer(-1, 1, seed=1))
    ),
    "tf.get_variable('i', initializer=tf.truncated_normal_initializer(stddev=0.1, seed=1))": lambda a, b, n, p, u: (
        tf.get_variable("i", [2, 3], initializer=tf.truncated_normal_initializer(stddev=0.1, seed=1))
    ),
    "tf.get_variable('i', [2, 3], initializer=tf.glorot_normal_initializer(seed=1))": lambda a, b, n, p, u: (
        tf.get_variable("i", [2, 3], initializer=tf.glorot_normal_initializer(seed=1))
    ),
    "tf.get_variable('i', [2, 3], initializer=tf.glorot_uniform_initializer(seed=1))": lambda a, b, n, p, u: (
        tf.get_variable("i", [2, 3], initializer=tf.glorot_uniform_initializer(seed=1))
    ),
    "tf.get_variable('i', [2, 3], initializer=tf.variance_scaling_initializer(2.0, seed=1))": lambda a, b, n, p, u: (
        tf.get_variable("i", [2, 3], initializer=tf.variance_scaling_initializer(2.0, seed=1))
    ),
    "tf.get_variable('i', [3], initializer=tf.constant_initializer([1, 2]))": lambda a, b, n, p, u: tf.get_variable(
        "i", [3], initializer=tf.constant_initializer([1, 2])
    ),
    "tf.get_variable('i', [2], initializer=tf.initializers.ones())": lambda a, b, n, p, u: tf.get_variable(
        "i", [2], initializer=tf.initializers.ones()
    ),
    "tf.cumsum(a, 1, exclusive=True, reverse=True)": lambda a, b, n, p, u: tf.cumsum(
        a, 1, exclusive=True, reverse=True
    ),
    "tf.cumprod(a)": lambda a, b, n, p, u: tf.cumprod(a),
    "tf.bitcast(a, tf.int32)": lambda a, b, n, p, u: tf.bitcast(a, tf.int32),
    "tf.tensor_scatter_add(a, [[0]], [[1.0, 1.0, 1.0]])": lambda a, b, n, p, u: tf.tensor_scatter_add(
        a, [[0]], [[1.0, 1.0, 1.0]]
    ),
    "tf.scatter_nd([[1]], [5.0], [3])": lambda a, b, n, p, u: tf.scatter_nd([[1]], [5.0], [3]),
    "tf.logical_not(a < b)": lambda a, b, n, p, u: tf.logical_not(a < b),
    "tf.bitwise.left_shift(n, 1)": lambda a, b, n, p, u: tf.bitwise.left_shift(n, 1),
    "tf.nn.elu(a - 0.5)": lambda a, b, n, p, u: tf.nn.elu(a - 0.5),
    "tf.math.xlogy(a, b)": lambda a, b, n, p, u: tf.math.xlogy(a, b),
    "tf.reduce_mean([a, b])": lambda a, b, n, p, u: tf.reduce_mean([a, b]),
    "tf.stack([a[0], [1.0, 2.0, 3.0]])": lambda a, b, n, p, u: tf.stack([a[0], [1.0, 2.0, 3.0]]),
    "tf.strided_slice(a, [0], [1])": lambda a, b, n, p, u: tf.strided_slice(a, [0], [1]),
    "tf.digamma(b)": lambda a, b, n, p, u: tf.digamma(b),
    "tf.real(tf.complex(a, b))": lambda a, b, n, p, u: tf.real(tf.complex(a, b)),
    "tf.imag(tf.conj(tf.complex(a, b)))": lambda a, b, n, p, u: tf.imag(tf.conj(tf.complex(a, b))),
    "tf.angle(tf.complex(a, b))": lambda a, b, n, p, u: tf.angle(tf.complex(a, b)),
    "tf.dynamic_stitch([[0, 2], [1]], [[1.0, 3.0], [2.0]])": lambda a, b, n, p, u: tf.dynamic_stitch(
        [[0, 2], [1]], [[1.0, 3.0], [2.0]]
    ),
    "tf.ensure_shape(p, [2, 3])": lambda a, b, n, p, u: tf.ensure_shape(p, [2, 3]),
    "tf.math.multiply_no_nan(a, b)": lambda a, b, n, p, u: tf.math.multiply_no_nan(a, b),
    "tf.math.xlog1py(a, b)": lambda a, b, n, p, u: tf.math.xlog1py(a, b),
    "tf.nn.lrn(tf.ones([1, 1, 1, 4]), 1)": lambda a, b, n, p, u: tf.nn.lrn(tf.ones([1, 1, 1, 4]), 1),
    "tf.roll(a, 1, 1)": lambda a, b, n, p, u: tf.roll(a, 1, 1),
    "tf.math.unsorted_segment_max(a, [0, 0], 1)": lambda a, b, n, p, u: tf.math.unsorted_segment_max(a, [0, 0], 1),
    "tf.math.unsorted_segment_min(a, [0, 0], 1)": lambda a, b, n, p, u: tf.math.unsorted_segment_min(a, [0, 0], 1),
    "tf.math.unsorted_segment_prod(a, [0, 0], 1)": lambda a, b, n, p, u: tf.math.unsorted_segment_prod(a, [0, 0], 1),
    "tf.losses.mean_squared_error(a, b)": lambda a, b, n, p, u: tf.losses.mean_squared_error(a, b),
    "tf.losses.absolute_difference(a, b)": lambda a, b, n, p, u: tf.losses.absolute_difference(a, b, weights=2.0),
    "tf.losses.huber_loss(a, b)": lambda a, b, n, p, u: tf.losses.huber_loss(a, b, delta=0.5),
    "tf.losses.log_loss": lambda a, b, n, p, u: tf.losses.log_loss(tf.nn.sigmoid(a), tf.nn.sigmoid(b)),
    "tf.losses.hinge_loss": lambda a, b, n, p, u: tf.losses.hinge_loss(tf.cast(a > b, tf.float32), b),
    "tf.losses.sigmoid_cross_entropy": lambda a, b, n, p, u: tf.losses.sigmoid_cross_entropy(
        tf.nn.sigmoid(a), b, label_smoothing=0.1
    ),
    "tf.losses.softmax_cross_entropy": lambda a, b, n, p, u: tf.losses.softmax_cross_entropy(
        tf.nn.softmax(a), b, label_smoothing=0.2, reduction=tf.losses.Reduction.SUM
    ),
    "tf.losses.sparse_softmax_cross_entropy": lambda a, b, n, p, u: tf.losses.sparse_softmax_cross_entropy(
        tf.argmax(a, 1), b
    ),
    "tf.losses of some": lambda a, b, n, p, u: tf.losses.mean_squared_error(
        a, b, tf.cast(a > b, tf.float32), reduction=tf.losses.Reduction.SUM_OVER_NONZERO_WEIGHTS
    ),
    "tf.losses, the mean": lambda a, b, n, p, u: tf.losses.compute_weighted_loss(
        a - b, tf.nn.sigmoid(a), reduction=tf.losses.Reduction.MEAN
    ),
    "tf.losses of a batch": lambda a, b, n, p, u: tf.losses.compute_weighted_loss(
        a - b, tf.nn.sigmoid(a), reduction=tf.losses.Reduction.SUM_OVER_BATCH_SIZE
    ),
    "tf.losses, the sum": lambda a, b, n, p, u: [
        [tf.losses.mean_squared_error(a, b), tf.losses.hinge_loss(a, b)],
        tf.losses.get_total_loss(),
    ][1],
}
"""What is made of other nodes than in TensorFlow: types and values must be the same."""

ARRAYS = {
    "a": np.random.RandomState(0).rand(2, 3).astype(np.float32),
    "b": np.random.RandomState(1).rand(2, 3).astype(np.float32) + np.float32(0.5),
    "n": np.array([[1, 2, 3], [4, 5, 6]], np.int32),
}


def evaluated(case: Case) -> list[dict[str, Any]]:
    """Names, shapes, types and values of what an expression gives."""
    with tf.Graph().as_default():
        a, b, n = (tf.constant(array, name=name) for name, array in ARRAYS.items())
        p = tf.placeholder(tf.float32, [None, 3], name="p")
        u = tf.placeholder(tf.float32, name="u")
        given = case(a, b, n, p, u)
        listed = list(given) if isinstance(given, list | tuple) else [given]
        with tf.Session() as session:
            session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
            values = session.run(listed, {p: ARRAYS["a"], u: ARRAYS["b"]})
    return [
        {
            "name": one.name,
            "shape": str(one.shape),
            "dtype": str(np.asarray(value).dtype),
            "value": np.asarray(value, dtype=np.float64).tolist(),
        }
        for one, value in zip(listed, values, strict=True)
    ]


def recorded(case: Case) -> Any:
    """The same, or what is raised."""
    try:
        return evaluated(case)
    except (TypeError, ValueError) as error:
        return {"error": type(error).__name__, "says": str(error).split("\n", maxsplit=1)[0]}
