"""Programs of JAX's API as people write them: expressions over named arguments, by the types and shapes of these.

They were written down before any was timed, and nothing was tuned for one of them alone.
"""

PROGRAMS: dict[str, str] = {
    "a=f32[1000,300]": """
jnp.sum(a, axis=0); jnp.sum(a, axis=1); jnp.mean(a); jnp.var(a, axis=1); jnp.std(a, axis=0); jnp.max(a, axis=1);
jnp.min(a, axis=0); jnp.argmax(a, axis=1); jnp.argmin(a, axis=0); jnp.prod(a, axis=1); jnp.cumsum(a, axis=1);
jnp.cumsum(a, axis=0); jnp.cumprod(a, axis=1); jnp.median(a, axis=1); jnp.percentile(a, 90, axis=0);
jnp.quantile(a, 0.3, axis=1); jnp.sort(a, axis=0); jnp.sort(a, axis=1); jnp.argsort(a, axis=1);
jnp.diff(a, axis=1); jnp.diff(a, n=2, axis=0); jnp.gradient(a, axis=1); jnp.flip(a, axis=1);
jnp.roll(a, 7, axis=1); jnp.roll(a, 3, axis=0); a.T; jnp.tril(a); jnp.triu(a, 5); jnp.pad(a, 3);
jnp.pad(a, 3, mode='edge'); jnp.pad(a, 3, mode='reflect'); jnp.pad(a, 5, mode='wrap'); jnp.repeat(a, 3, axis=1);
jnp.tile(a, (2, 3)); jnp.ptp(a, axis=1); jnp.nansum(a, axis=1); jnp.nanmean(a, axis=0);
jnp.count_nonzero(a > 0, axis=1); jnp.any(a > 3, axis=1); jnp.all(a > -3, axis=0); jnp.linalg.norm(a, axis=1);
jnp.linalg.norm(a); jnp.where(a > 0, a, 0.01 * a); jnp.clip(a, -1, 1); jnp.round(a, 2); jnp.floor(a);
jnp.trunc(a); jnp.sign(a); jnp.rint(a * 3); jnp.nan_to_num(a); jnp.digitize(a, jnp.linspace(-2, 2, 17));
jnp.histogram(a, bins=20)[0]; jnp.interp(a, jnp.linspace(-3, 3, 50), jnp.arange(50.0));
jnp.searchsorted(jnp.linspace(-3, 3, 100), a); jnp.average(a, axis=0); jnp.cov(a.T); jnp.corrcoef(a.T);
lax.top_k(a, 5); lax.cummax(a, axis=1); lax.cumlogsumexp(a, axis=1); lax.rsqrt(jnp.abs(a) + 1); nn.softmax(a);
nn.softmax(a, axis=0); nn.log_softmax(a); nn.logsumexp(a, axis=1); nn.relu(a); nn.gelu(a);
nn.gelu(a, approximate=False); nn.silu(a); nn.elu(a); nn.selu(a); nn.celu(a); nn.softplus(a); nn.sigmoid(a);
nn.hard_swish(a); nn.mish(a); nn.leaky_relu(a); nn.glu(a); nn.standardize(a); nn.one_hot(jnp.argmax(a, 1), 300);
nn.relu6(a); nn.squareplus(a); nn.log_sigmoid(a); nn.soft_sign(a);
""",
    "a=f32[100000]": """
jnp.sin(a); jnp.cos(a); jnp.tan(a); jnp.arcsin(a / 5); jnp.arccos(a / 5); jnp.arctan(a); jnp.sinh(a);
jnp.cosh(a); jnp.tanh(a); jnp.arcsinh(a); jnp.arccosh(jnp.abs(a) + 1); jnp.arctanh(a / 6); jnp.exp(a);
jnp.exp2(a); jnp.expm1(a); jnp.log(jnp.abs(a)); jnp.log2(jnp.abs(a)); jnp.log10(jnp.abs(a));
jnp.log1p(jnp.abs(a)); jnp.sqrt(jnp.abs(a)); jnp.cbrt(a); jnp.square(a); jnp.reciprocal(a);
jnp.power(jnp.abs(a), 1.7); a ** 3; a ** 5; jnp.abs(a); jnp.deg2rad(a); jnp.sinc(a); jnp.i0(a);
jnp.heaviside(a, 0.5); jnp.frexp(a); jnp.modf(a); jnp.spacing(a); jnp.signbit(a); jsp.special.erf(a);
jsp.special.erfc(a); jsp.special.erfinv(a / 6); jsp.special.gammaln(jnp.abs(a) + 1);
jsp.special.digamma(jnp.abs(a) + 1); jsp.special.expit(a); jsp.special.logit(jnp.abs(a) / 6);
jsp.special.ndtr(a); jsp.special.ndtri(jnp.abs(a) / 6); jsp.special.i0e(a); jsp.special.i1e(a);
jsp.special.xlogy(a, jnp.abs(a)); jsp.special.entr(jnp.abs(a)); jsp.special.gamma(jnp.abs(a) + 1);
jsp.special.spence(jnp.abs(a)); jsp.stats.norm.pdf(a); jsp.stats.norm.logpdf(a); jsp.stats.norm.cdf(a);
jsp.stats.cauchy.logpdf(a); jsp.stats.laplace.logpdf(a); jsp.stats.logistic.logpdf(a);
jsp.stats.t.logpdf(a, 3.0); jsp.stats.expon.logpdf(jnp.abs(a)); jnp.cumsum(a); jnp.sort(a); jnp.argsort(a);
jnp.sum(a); jnp.max(a); jnp.argmax(a); jnp.dot(a, a); jnp.unwrap(a); jnp.fft.fft(a[:65536]);
jnp.fft.rfft(a[:4096]); jnp.convolve(a[:4000], a[:31]); jnp.correlate(a[:4000], a[:31]);
jnp.polyval(jnp.arange(6.0), a); jnp.reshape(a, (100, 1000)).T; jnp.flip(a); a[::3]; a[::-2]; jnp.split(a, 10);
jnp.array_split(a, 7); jnp.concatenate([a, 2 * a, a[:777]]); jnp.stack([a, -a], axis=1);
jnp.vander(a[:1000], 8); jnp.outer(a[:500], a[:700]); jnp.trapezoid(a); jnp.ediff1d(a); jnp.nancumsum(a);
jnp.hypot(a, 2 * a); jnp.logaddexp(a, -a); jnp.arctan2(a, a + 1); jnp.fmod(a, 0.7); jnp.mod(a, 0.7);
jnp.floor_divide(a, 0.3); jnp.nextafter(a, 1.0); jnp.copysign(1.0, a); jnp.ldexp(a, 3);
lax.reduce_precision(a, 5, 10); lax.associative_scan(jnp.add, a); lax.associative_scan(jnp.maximum, a);
a.astype(jnp.bfloat16); a.astype(jnp.float16); a.astype(jnp.int32); a.astype(jnp.int8);
(a > 0).astype(jnp.float32);
""",
    "a=f32[128,128] b=f32[128,128]": """
a @ b; a @ b.T; a.T @ b; jnp.einsum('ij,ij->i', a, b); jnp.einsum('ij,ij->', a, b);
jnp.einsum('ij,jk->ki', a, b); jnp.kron(a[:10, :10], b[:12, :12]); jnp.trace(a @ b); jnp.diag(a);
jnp.diagonal(a, 1); jnp.tensordot(a, b, axes=((0,), (0,))); jnp.inner(a, b); jnp.linalg.inv(a);
jnp.linalg.solve(a, b); jnp.linalg.det(a); jnp.linalg.slogdet(a); jnp.linalg.qr(a); jnp.linalg.svd(a);
jnp.linalg.eigh(a + a.T); jnp.linalg.cholesky(a @ a.T + 128 * jnp.eye(128)); jnp.linalg.matrix_power(a, 5);
jnp.linalg.pinv(a); jnp.linalg.lstsq(a, b)[0]; jsp.linalg.expm(a / 20); jsp.linalg.lu(a);
jsp.linalg.solve_triangular(a + 20 * jnp.eye(128), b, lower=True);
jsp.linalg.cho_solve((a + 20 * jnp.eye(128), True), b); jsp.linalg.toeplitz(a[0]); jsp.linalg.block_diag(a, b);
jnp.maximum(a, b); jnp.minimum(a, b) - a; a / b; a * b + a; jnp.where(a > b, a, b); jnp.isclose(a, b);
jnp.allclose(a, b); jnp.array_equal(a, b); jnp.add.outer(a[0], b[0]); jnp.fft.fft2(a);
jsp.signal.convolve2d(a, b[:5, :5]); jsp.signal.fftconvolve(a, b); jnp.rot90(a); jnp.fliplr(a);
jnp.hstack([a, b]); jnp.vstack([a, b]); jnp.dstack([a, b]); jnp.block([[a, b], [b, a]]);
jnp.meshgrid(a[0], b[0]); jnp.cross(a[:, :3], b[:, :3]);
jsp.spatial.transform.Rotation.from_euler('xyz', a[:, :3]).as_matrix(); jax.vmap(jnp.dot)(a, b);
jax.grad(lambda x: jnp.sum(jnp.tanh(x @ b)))(a); jax.grad(lambda x: jnp.sum(nn.softmax(x @ b) * a))(a);
jax.jacfwd(lambda x: jnp.sin(x) * x)(a[0]); jax.hessian(lambda x: jnp.sum(x ** 3))(a[0]);
lax.fori_loop(0, 10, lambda i, x: x @ b / 20, a); lax.scan(lambda c, x: (c + x, c * x), a[0], b);
lax.map(lambda x: jnp.sum(x * x), a);
lax.while_loop(lambda x: jnp.sum(x) > 1e-3, lambda x: x * 0.5, jnp.abs(a));
lax.cond(jnp.sum(a) > 0, lambda x: x @ x, lambda x: x + x, b);
""",
    "a=f32[8,64,56,56] b=f32[64,64,3,3]": """
lax.conv(a, b, (1, 1), 'SAME'); lax.conv(a, b, (2, 2), 'SAME');
nn.relu(lax.conv(a, b[:, :, :1, :1], (1, 1), 'VALID'));
lax.reduce_window(a, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), 'VALID');
lax.reduce_window(a, 0.0, lax.add, (1, 1, 3, 3), (1, 1, 1, 1), 'SAME'); jnp.mean(a, axis=(2, 3));
(a - jnp.mean(a, (0, 2, 3), keepdims=True)) * lax.rsqrt(jnp.var(a, (0, 2, 3), keepdims=True) + 1e-5);
jnp.transpose(a, (0, 2, 3, 1)); jax.image.resize(a, (8, 64, 28, 28), 'bilinear');
jax.image.resize(a, (8, 64, 112, 112), 'nearest'); jnp.pad(a, ((0, 0), (0, 0), (1, 1), (1, 1)));
jnp.sum(a, axis=1); jnp.max(a, axis=(0, 1));
""",
    "a=f32[4,128,8,64] b=f32[4,128,8,64] c=f32[4,128,8,64]": """
nn.dot_product_attention(a, b, c); nn.dot_product_attention(a, b, c, is_causal=True);
jnp.einsum('bqhd,bkhd->bhqk', a, b); jnp.moveaxis(a, 1, 2);
jnp.concatenate([-a[..., 32:], a[..., :32]], -1) * b + a * c;
a * lax.rsqrt(jnp.mean(a * a, -1, keepdims=True) + 1e-6); nn.softmax(jnp.einsum('bqhd,bkhd->bhqk', a, b) / 8);
jnp.swapaxes(a, 1, 2).reshape(32, 128, 64);
""",
    "t=f32[5000,64] i=s32[2000] u=f32[2000,64]": """
t[i]; jnp.take(t, i, axis=0); t.at[i].add(u); t.at[i].set(u); t.at[i].max(u); t.at[i].mul(u);
jax.ops.segment_sum(u, i, 100); jax.ops.segment_max(u, i, 100); nn.one_hot(i, 100) @ u[:100];
jnp.take_along_axis(t, i[:, None] * jnp.ones((1, 64), int), axis=0); jnp.bincount(i, length=100);
jnp.unique(i, size=50); jnp.cumsum(i); t[i, i % 64]; t.at[i, i % 64].add(1.0);
lax.dynamic_slice(t, (i[0], 0), (100, 64)); lax.dynamic_update_slice(t, u[:100], (i[0], 0));
jnp.searchsorted(jnp.sort(i), i); jnp.isin(i, i[:20]); jnp.nonzero(i, size=100); jnp.sum(t[i] * u, -1);
jnp.select([u > 1, u > 0], [u, 2 * u], 0.0); jnp.choose(i[:64] % 3, [u[0], u[1], u[2]], mode='clip');
jnp.apply_along_axis(lambda r: r / jnp.sum(r), 1, u); jnp.sum(jnp.square(u[:300, None] - u[None, :300]), -1);
jnp.lexsort((i, i % 7)); jnp.compress(i[:64] > 3, u, axis=1, size=20);
""",
    "i=s32[100000] j=s32[100000]": """
i + j; i * j; i // (j + 1); i % (j + 1); jnp.bitwise_xor(i, j); i << (j % 5); lax.population_count(i);
lax.clz(i); jnp.gcd(i, j); jnp.lcm(i, j); jnp.sum(i); jnp.max(i); jnp.sort(i); jnp.argsort(i); jnp.cumsum(i);
jnp.bincount(i, length=10); i.astype(jnp.float32) / 255; jnp.where(i > j, i, j); jnp.left_shift(i, 2) | j;
i ** 3; jnp.packbits(i > 3); jnp.clip(i, 2, 7); jnp.divmod(i, 7); jnp.prod(i[:1000]); jnp.invert(i);
jnp.mean(i); jnp.equal(i, j).sum(); jnp.convolve(i[:1000], j[:9]); jnp.union1d(i[:100], j[:100], size=20);
jnp.float_power(i, 2);
""",
    "k=u32[2]": """
jax.random.uniform(k, (100000,)); jax.random.normal(k, (100000,)); jax.random.bernoulli(k, 0.3, (100000,));
jax.random.randint(k, (100000,), 0, 100); jax.random.permutation(k, 10000);
jax.random.categorical(k, jnp.zeros((100, 1000))); jax.random.gumbel(k, (10000,));
jax.random.exponential(k, (10000,)); jax.random.truncated_normal(k, -2, 2, (10000,));
jax.random.choice(k, 1000, (500,), replace=False); jax.random.split(k, 100); jax.random.gamma(k, 2.0, (1000,));
jax.random.laplace(k, (10000,));
""",
    "z=c64[256,256]": """
jnp.abs(z); jnp.angle(z); jnp.conj(z); z * z; z / (z + 1); jnp.exp(z); jnp.log(z); jnp.sqrt(z); jnp.sin(z);
jnp.fft.ifft2(z); jnp.fft.fftshift(z); z @ z; jnp.sum(z, axis=0); jnp.real(z) + jnp.imag(z); z ** 2;
""",
    "a=f64[500,200] b=f64[200,300]": """
a @ b; jnp.sum(a, axis=1); jnp.exp(a); jnp.log1p(jnp.abs(a)); jnp.sort(a, axis=1); jnp.cumsum(a, axis=0);
jnp.tanh(a); nn.softmax(a); jnp.sin(a); a / (1 + a * a); jnp.linalg.norm(a, axis=0); jnp.median(a, axis=0);
jnp.power(jnp.abs(a), 0.3); jsp.special.erf(a); jnp.argmax(a, axis=1);
""",
    "a=bf16[512,512] b=bf16[512,512]": """
a @ b; a + b; nn.gelu(a); nn.softmax(a); jnp.sum(a, axis=1); jnp.mean(a, axis=0); a.astype(jnp.float32);
jnp.max(a, axis=1);
a * lax.rsqrt(jnp.mean(jnp.square(a.astype(jnp.float32)), -1, keepdims=True) + 1e-6).astype(a.dtype);
jnp.exp(a); nn.silu(a) * b; a.T; jnp.where(a > b, a, b); jnp.cumsum(a, axis=1); jnp.argmax(a, axis=1);
""",
    "x=f32[32,784] w=f32[784,256] v=f32[256,10] y=s32[32]": """
nn.relu(x @ w) @ v; jnp.mean(-jnp.take_along_axis(nn.log_softmax(jnp.tanh(x @ w / 28) @ v), y[:, None], 1));
jax.grad(lambda w: jnp.mean(-jnp.take_along_axis(nn.log_softmax(jnp.tanh(x @ w / 28) @ v), y[:, None], 1)))(w);
jax.grad(lambda v: jnp.mean((nn.relu(x @ w) @ v - nn.one_hot(y, 10)) ** 2))(v);
jnp.argmax(nn.relu(x @ w) @ v, -1) == y; jax.value_and_grad(lambda v: jnp.sum(nn.sigmoid(x @ w) @ v))(v);
""",
    "a=f32[100000] b=f32[1000]": """
jnp.interp(a, jnp.sort(b), b); jnp.searchsorted(jnp.sort(b), a); jnp.histogram(a, bins=50)[0];
jnp.digitize(a, jnp.sort(b)); jnp.unique(b, size=100); jnp.roll(a, 7); jnp.convolve(b, a[:51], mode='same');
lax.associative_scan(jnp.add, a, reverse=True); lax.cummax(a); lax.cumlogsumexp(a); jnp.gradient(a);
lax.scan(lambda c, x: (0.9 * c + x, c), 0.0, b); lax.map(jnp.sin, b); jnp.fft.rfft(a[:9999]); jnp.fft.fft(b[:125]);
jnp.partition(a, 500); jnp.setdiff1d(b, b[:10], size=900); jnp.tri(300, 400, 2) * b[:400];
lax.reduce_window(a, -jnp.inf, lax.max, (31,), (1,), 'SAME'); jnp.nanmedian(b);
""",
    "a=f32[300,401] b=f32[300,401]": """
lax.associative_scan(jnp.add, a, axis=1); lax.associative_scan(jnp.maximum, a, axis=0);
lax.associative_scan(lambda l, r: (l[0] * r[0], l[1] * r[0] + r[1]), (a, b), axis=1)[1]; jnp.tril(a); jnp.triu(a, 3);
jnp.cov(a[:, :60]); lax.top_k(a, 5)[0]; lax.top_k(a.T, 3)[1]; jnp.roll(a, (3, -5), (0, 1));
jnp.take_along_axis(a, jnp.argsort(b, axis=1), axis=1); lax.sort((a, b), dimension=1, num_keys=2)[1];
jax.image.resize(a, (150, 200), 'linear'); jax.image.resize(a, (450, 600), 'cubic');
jax.image.resize(a, (600, 802), 'nearest'); lax.scan(lambda c, x: (c * 0.5 + x, jnp.tanh(c)), a[0], b);
jnp.fft.fft(a, axis=1); jnp.fft.rfft(a, axis=0); jnp.argsort(a, axis=0); jnp.median(a, axis=1);
jnp.stack([a, b], -1).reshape(300, 802); jnp.repeat(a, 3, axis=1); jnp.tile(a, (2, 3));
jnp.percentile(a, 30.0, axis=0); jax.vmap(lambda x, y: jnp.convolve(x, y[:9]))(a, b); nn.log_softmax(a, 0);
nn.standardize(a, 1);
""",
    "a=f32[500,6,6] b=f32[500,6]": """
jnp.linalg.solve(a + 6 * jnp.eye(6), b[..., None]); jnp.linalg.inv(a + 6 * jnp.eye(6)); jnp.linalg.det(a);
jax.vmap(lambda x, y: jnp.linalg.lstsq(x, y)[0])(a[:50], b[:50]); jnp.linalg.cholesky(a @ a.mT + jnp.eye(6));
lax.associative_scan(jnp.matmul, a / 3); jnp.einsum('bij,bj->bi', a, b); jnp.linalg.eigh(a + a.mT)[0];
""",
    "u=f32[5000,32] i=s32[5000]": """
jax.ops.segment_sum(u, i, 10); jax.ops.segment_sum(u, jnp.sort(i), 10, indices_are_sorted=True);
jax.ops.segment_min(u, i, 10); jnp.mean(u.at[i].get(), 0); jnp.zeros((10, 32)).at[i].add(u);
jnp.bincount(i, weights=u[:, 0], length=10); jnp.cumsum(nn.one_hot(i, 10), 0); jnp.argsort(i, stable=True);
""",
    "a=f32[64,1000] y=s32[64]": """
jnp.mean(nn.logsumexp(a, -1) - jnp.take_along_axis(a, y[:, None], 1)[:, 0]);
jnp.mean(jnp.sum(-nn.one_hot(y, 1000) * nn.log_softmax(a), -1));
jnp.mean(jnp.where(jnp.abs(a) < 1, 0.5 * a * a, jnp.abs(a) - 0.5));
jnp.mean(jnp.maximum(a, 0) - a * 0.3 + jnp.log1p(jnp.exp(-jnp.abs(a)))); nn.glu(a); nn.celu(a); nn.logsumexp(a, 0);
jax.grad(lambda x: jnp.sum(nn.log_softmax(x)[:, 3]))(a);
""",
    "a=bf16[256,500] b=bf16[256,500]": """
lax.associative_scan(jnp.add, a, axis=1); lax.top_k(a, 8)[0]; jnp.roll(a, 3, 1); jnp.tril(a); jnp.sort(a, axis=1);
nn.log_softmax(a); jnp.var(a, axis=1); nn.standardize(a); jnp.concatenate([-b[:, 250:], b[:, :250]], 1) * a;
jnp.cumsum(a, axis=0); lax.rsqrt(jnp.abs(a) + 1); jnp.repeat(a, 2, axis=0);
""",
    "a=f32[4,1000,64] b=f32[4,1000,64]": """
lax.associative_scan(lambda l, r: (l[0] * r[0], l[1] * r[0] + r[1]), (a, b), axis=1);
lax.associative_scan(jnp.minimum, a, axis=1, reverse=True);
jnp.maximum(*(lax.pad(x, -jnp.inf, [(0, 0, 0), (i, 1 - i, 1), (0, 0, 0)]) for i, x in enumerate((a, b))));
a[:, ::2] * b[:, 1::2]; jnp.stack([a, b], 2).reshape(4, 2000, 64)[:, :-1];
""",
    "a=c64[50001] i=s32[50001]": """
lax.associative_scan(jnp.add, a); lax.associative_scan(jnp.bitwise_xor, i);
lax.associative_scan(lambda l, r: l * 31 + r, i, reverse=True); lax.associative_scan(jnp.logical_or, i > 8);
""",
}
"""Expressions that end with a semicolon."""
