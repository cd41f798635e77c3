"""What one would write in NumPy in place of a program of the suite `corpus`, by the program's name.

NumPy has no convolutions and no bf16, and nobody would write a transformer, a residual block or threefry in it: those
programs have no form here.  Every form takes the program's parameters and returns its results.
"""

import numpy as np
from scipy.special import erf


def fma_reduce(x, y, z):
    return np.sum(x + y * z)


def gelu(x):
    return x * ((np.tanh((x + x * x * x * np.float32(0.044715)) * np.float32(0.79788458)) + 1) * np.float32(0.5))


def chain(x, y):
    for step in range(16):
        product = x * np.float32(0.9 + 0.01 * step) + y
        x = np.minimum(product * np.float32(0.5), 3)
        y = np.maximum(y - product * np.float32(0.125), -2)
    return x + y


def black_scholes(spot, strike, time, rate, volatility):
    deviation = volatility * np.sqrt(time)
    d1 = (np.log(spot / strike) + (rate + volatility * volatility / 2) * time) / deviation
    d2 = d1 - deviation
    discounted = strike * np.exp(-rate * time)
    below = [(erf(d * np.float32(np.sqrt(0.5))) + 1) / 2 for d in (d1, d2, -d2, -d1)]
    return spot * below[0] - discounted * below[1], discounted * below[2] - spot * below[3]


def haversine(latitude, longitude, to_latitude, to_longitude):
    half = np.sin((to_latitude - latitude) / 2) ** 2
    half += np.cos(latitude) * np.cos(to_latitude) * np.sin((to_longitude - longitude) / 2) ** 2
    return 12742 * np.arctan2(np.sqrt(half), np.sqrt(1 - half))


def complex_mix(a, b, w):
    mixed = a * b + np.conj(a) * w
    return mixed * np.exp(1j * w), np.abs(mixed)


def murmur(x):
    x = x ^ np.uint32(2654435769)
    x = (x ^ (x >> 16)) * np.uint32(2246822507)
    x = (x ^ (x >> 13)) * np.uint32(3266489909)
    x = x ^ (x >> 16)
    return x, np.bitwise_count(x).astype(np.uint32)


def quantize(x, scale, before):
    quantized = np.clip(np.rint(x / scale), -127, 127).astype(np.int8)
    total = np.clip(quantized.astype(np.int16) + before, -127, 127).astype(np.int8)
    return total, total * scale


def softmax(x):
    grown = np.exp(x - x.max(-1, keepdims=True))
    return grown / grown.sum(-1, keepdims=True)


def log_sum_exp(x):
    most = x.max(-1)
    return np.log(np.exp(x - most[..., None]).sum(-1)) + most


def layer_norm(x, scale, offset):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(-1, keepdims=True) + np.float32(1e-5)) * scale + offset


def attention(q, k, v):
    scores = q @ k.swapaxes(-1, -2) / 8
    seen = np.tri(scores.shape[-1], dtype=bool)
    return softmax(np.where(seen, scores, np.float32(-1e9))) @ v


def mlp_gelu(x, w1, b1, w2, b2):
    return gelu(x @ w1 + b1) @ w2 + b2 + x


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm(x, wx, wh, b, h, c):
    found = []
    for step in x:
        into, forget, new, out = np.split(step @ wx + h @ wh + b, 4, axis=1)
        c = sigmoid(forget) * c + sigmoid(into) * np.tanh(new)
        h = sigmoid(out) * np.tanh(c)
        found.append(h)
    return np.stack(found), c


def softmax_step(w, b, x, y):
    scores = x @ w + b
    logarithms = scores - log_sum_exp(scores)[:, None]
    gradient = (np.exp(logarithms) * y.sum(-1, keepdims=True) - y) / len(x)
    rate = np.float32(0.5)
    return w - rate * (x.T @ gradient), b - rate * gradient.sum(0), -(y * logarithms).sum() / len(x)


def adam_step(*arrays):
    weights, means, squares = arrays[:6], arrays[6:12], arrays[12:18]
    time, x, labels = arrays[18:]
    first, second, wrote = np.float32(0.9), np.float32(0.999), np.arange(len(labels))
    h1 = np.maximum(x @ weights[0] + weights[1], 0)
    h2 = np.maximum(h1 @ weights[2] + weights[3], 0)
    scores = h2 @ weights[4] + weights[5]
    loss = (log_sum_exp(scores) - scores[wrote, labels]).mean()
    top = softmax(scores)
    top[wrote, labels] -= 1
    top /= len(labels)
    middle = (top @ weights[4].T) * (h2 > 0)
    bottom = (middle @ weights[2].T) * (h1 > 0)
    gradients = x.T @ bottom, bottom.sum(0), h1.T @ middle, middle.sum(0), h2.T @ top, top.sum(0)
    time = time + np.float32(1)
    means = [m * first + g * (1 - first) for m, g in zip(means, gradients, strict=True)]
    squares = [s * second + g * g * (1 - second) for s, g in zip(squares, gradients, strict=True)]
    weights = [
        w - np.float32(1e-3) * (m / (1 - first**time)) / (np.sqrt(s / (1 - second**time)) + np.float32(1e-8))
        for w, m, s in zip(weights, means, squares, strict=True)
    ]
    return *weights, *means, *squares, time, loss


def kmeans(x, centres):
    distances = (x * x).sum(1)[:, None] - 2 * x @ centres.T + (centres * centres).sum(1)
    nearest = distances.argmin(1)
    sums = np.zeros_like(centres)
    np.add.at(sums, nearest, x)
    counts = np.bincount(nearest, minlength=len(centres)).astype(np.float32)
    return sums / np.maximum(counts, 1)[:, None], nearest.astype(np.int32)


def n_body(place, speed, mass):
    apart = place[None] - place[:, None]
    inverse = 1 / np.sqrt((apart * apart).sum(-1) + np.float32(0.01))
    speed = speed + (apart * (mass * inverse**3)[..., None]).sum(1) * np.float32(0.001)
    return place + speed * np.float32(0.001), speed


def heat(u):
    for _ in range(50):
        inner = u[1:-1, 1:-1]
        around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
        u = np.pad(inner + (around - 4 * inner) * np.float32(0.1), 1, mode="edge")
    return u


def jacobi(a, b):
    diagonal, x = 2 * np.diagonal(a), np.zeros_like(b)
    for _ in range(50):
        x = x + (b - a @ x) / diagonal
    return x


def mandelbrot(cx, cy):
    x, y = np.zeros((len(cy), len(cx)), np.float32), np.zeros((len(cy), len(cx)), np.float32)
    counts = np.zeros(x.shape, np.int32)
    for _ in range(100):
        inside = x * x + y * y < 4
        if not inside.any():
            break
        x, y = np.where(inside, x * x - y * y + cx, x), np.where(inside, 2 * x * y + cy[:, None], y)
        counts += inside
    return counts


def cholesky_solve(a, b):
    lower = np.linalg.cholesky((a + a.T) / 2)
    return np.linalg.solve(lower.T, np.linalg.solve(lower, b)), np.log(np.diagonal(lower)).sum()


def newton(a):
    x, change, steps = a, np.float32(1), 0
    while change > 1e-6 and steps < 40:
        after = (x + a / x) * np.float32(0.5)
        x, change, steps = after, (np.abs(after - x) / after).max(), steps + 1
    return x, np.int32(steps)


def power_iteration(a, v):
    for _ in range(100):
        v = a @ v
        v = v / np.sqrt((v * v).sum())
    return v @ (a @ v)


def collatz(n):
    steps, n = 0, int(n)
    while n != 1:
        n, steps = n // 2 if n % 2 == 0 else 3 * n + 1, steps + 1
    return np.int32(steps)


def moving_average(x, weight):
    last, found = x[0], np.empty_like(x)
    for number, row in enumerate(x):
        last = last + weight * (row - last)
        found[number] = last
    return last, found


def add_rows(total, rows, values):
    total = total.copy()
    np.add.at(total, rows, values)
    return total


def top_sixteen(x):
    near = np.argpartition(-x, 16, axis=1)[:, :16]
    order = np.argsort(-np.take_along_axis(x, near, 1), axis=1, kind="stable")
    found = np.take_along_axis(near, order, 1)
    return np.take_along_axis(x, found, 1), found.astype(np.int32)


def one_hot(labels):
    return (labels[:, None] == np.arange(1000)).astype(np.float32)


def pad_and_reverse(x, y):
    joined = np.concatenate([np.pad(x, ((0, 0), (3, 5))), y[:, ::-1], np.roll(x, 7, 1)], 1)
    return np.ascontiguousarray(joined[::-1])


def integer_product(a, b):
    return a.astype(np.int32) @ b.astype(np.int32)


NUMPY = {
    "fma_reduce_1k": fma_reduce,
    "fma_reduce_1m": fma_reduce,
    "fma_reduce_16m": fma_reduce,
    "gelu_tanh_1m": gelu,
    "chain64_1m": chain,
    "black_scholes_256k": black_scholes,
    "haversine_f64": haversine,
    "complex_mix_c64": complex_mix,
    "murmur_u32": murmur,
    "quant_dequant_s8": quantize,
    "softmax_1k": softmax,
    "logsumexp_rows": log_sum_exp,
    "layernorm_768": layer_norm,
    "variance_1m": np.var,
    "col_sum_2048": lambda x: x.sum(0),
    "mid_max_sum": lambda x: (x.max(1), x.sum(1)),
    "argmax_rows": lambda x: x.argmax(1).astype(np.int32),
    "cumsum_rows": lambda x: np.cumsum(x, 1),
    "matmul_64": np.matmul,
    "matmul_128": np.matmul,
    "matmul_512": np.matmul,
    "matmul_1024": np.matmul,
    "matmul_skinny_k16": lambda a, b, c: a @ b @ c,
    "matmul_batched_qk": lambda q, k: q @ k.swapaxes(1, 2) * np.float32(0.125),
    "matmul_s8_512": integer_product,
    "matmul_u8_512": integer_product,
    "mlp_gelu_block": mlp_gelu,
    "attention_causal": attention,
    "lstm_scan": lstm,
    "mnist_softmax_step": softmax_step,
    "mnist_mlp_adam_step": adam_step,
    "kmeans_step": kmeans,
    "nbody_step": n_body,
    "heat_stencil_50": heat,
    "jacobi_512": jacobi,
    "mandelbrot_512": mandelbrot,
    "cholesky_solve_256": cholesky_solve,
    "fft_batch_1024": np.fft.fft,
    "newton_while": newton,
    "power_iteration": power_iteration,
    "collatz_scalar": collatz,
    "scan_ema": moving_average,
    "sort_64k": np.sort,
    "argsort_rows": lambda k: np.argsort(k, 1, kind="stable").astype(np.int32),
    "topk_16": top_sixteen,
    "embedding_gather": lambda table, rows: table[rows],
    "scatter_add_rows": add_rows,
    "one_hot_1000": one_hot,
    "transpose_2048": lambda x: np.ascontiguousarray(x.T),
    "nhwc_to_nchw": lambda x: np.ascontiguousarray(x.transpose(0, 3, 1, 2)),
    "pad_concat_reverse": pad_and_reverse,
}
"""What to call for a program."""
