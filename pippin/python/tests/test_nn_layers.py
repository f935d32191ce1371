"""Layers, activations and losses of pippin.nn compared with NumPy, on random and extreme input."""

import itertools
import math
import unittest

try:
    import numpy as np
    from pippin import core as mx, nn
except ImportError as error:
    if "numpy" not in str(error).lower():
        raise
    raise unittest.SkipTest("NumPy is not installed") from None

UGLY = np.array([-np.inf, -1e30, -88.7, -3.0, -0.5, -1e-8, -0.0, 0.0, 1e-8, 0.5, 2.9, 3.0, 88.7, 1e30, np.inf, np.nan],
                np.float32)


def random(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def numpy(x):
    return np.array(x)


def normalized(x, axes, eps=1e-5):
    x = x.astype(np.float64)
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


class Case(unittest.TestCase):
    def assertClose(self, found, wanted, tolerance=2e-5):
        found = numpy(found)
        self.assertEqual(found.shape, np.shape(wanted))
        np.testing.assert_allclose(found.astype(np.float64), wanted, rtol=tolerance, atol=tolerance)


class Activations(Case):
    def test_formulas(self):
        def sigmoid(x):
            return 1 / (1 + np.exp(-x))

        erf = np.vectorize(math.erf)
        formulas = {
            nn.relu: lambda x: np.maximum(x, 0),
            nn.relu2: lambda x: np.maximum(x, 0) ** 2,
            nn.relu6: lambda x: np.clip(x, 0, 6),
            nn.leaky_relu: lambda x: np.where(x > 0, x, 0.01 * x),
            nn.elu: lambda x: np.where(x > 0, x, np.exp(x) - 1),
            nn.celu: lambda x: np.where(x > 0, x, np.exp(x) - 1),
            nn.selu: lambda x: 1.0507 * np.where(x > 0, x, 1.67326 * (np.exp(x) - 1)),
            nn.silu: lambda x: x * sigmoid(x),
            nn.gelu: lambda x: x * (1 + erf(x / math.sqrt(2))) / 2,
            nn.gelu_approx: lambda x: x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
            nn.gelu_fast_approx: lambda x: x * sigmoid(1.702 * x),
            nn.softplus: lambda x: np.log1p(np.exp(x)),
            nn.log_sigmoid: lambda x: -np.log1p(np.exp(-x)),
            nn.softsign: lambda x: x / (1 + np.abs(x)),
            nn.softshrink: lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.5, 0),
            nn.hard_shrink: lambda x: np.where(np.abs(x) > 0.5, x, 0),
            nn.hard_tanh: lambda x: np.clip(x, -1, 1),
            nn.hardswish: lambda x: x * np.clip(x + 3, 0, 6) / 6,
            nn.mish: lambda x: x * np.tanh(np.log1p(np.exp(x))),
            nn.step: lambda x: (x >= 0).astype(np.float64),
            nn.sigmoid: sigmoid,
            nn.tanh: np.tanh,
        }
        x = 3 * random(5, 7)
        for function, formula in formulas.items():
            with self.subTest(function.__name__):
                self.assertClose(function(mx.array(x)), formula(x.astype(np.float64)))

    def test_classes_do_what_functions_do(self):
        x = mx.array(random(3, 8))
        pairs = ((nn.ReLU(), nn.relu), (nn.GELU(), nn.gelu), (nn.GELU("tanh"), nn.gelu_approx),
                 (nn.GELU("fast"), nn.gelu_fast_approx), (nn.SiLU(), nn.silu), (nn.GLU(), nn.glu),
                 (nn.LeakyReLU(0.2), lambda x: nn.leaky_relu(x, 0.2)), (nn.Softmax(), nn.softmax),
                 (nn.LogSoftmax(), nn.log_softmax), (nn.Softmin(), nn.softmin),
                 (nn.Step(0.3), lambda x: nn.step(x, 0.3)),
                 (nn.PReLU(), lambda x: nn.prelu(x, mx.array([0.25]))), (nn.Softshrink(0.1), lambda x: nn.softshrink(
                     x, 0.1)), (nn.CELU(0.5), lambda x: nn.celu(x, 0.5)), (nn.ELU(0.5), lambda x: nn.elu(x, 0.5)))
        for layer, function in pairs:
            np.testing.assert_array_equal(numpy(layer(x)), numpy(function(x)))
        with self.assertRaisesRegex(ValueError, "'sharp'"):
            nn.GELU("sharp")

    def test_ugly_input(self):
        x = mx.array(UGLY)
        for function in (nn.relu, nn.hard_tanh, nn.relu6):
            found = numpy(function(x))
            self.assertTrue(np.isnan(found[-1]), function.__name__)
            self.assertFalse(np.isnan(found[:-1]).any(), function.__name__)
        self.assertClose(nn.softplus(mx.array(UGLY[1:-2])), np.logaddexp(UGLY[1:-2].astype(np.float64), 0))
        big = mx.array([[1e4, 1e4 - 2, -1e4]])
        self.assertClose(nn.log_softmax(big), [[-0.126928, -2.126928, -20000.126928]])


class Layers(Case):
    def test_products(self):
        x, y = random(2, 3, 5), random(2, 3, 4, seed=1)
        for bias in (True, False):
            linear, both = nn.Linear(5, 6, bias), nn.Bilinear(5, 4, 6, bias)
            weight = numpy(linear.weight)
            self.assertClose(linear(mx.array(x)), x @ weight.T + (numpy(linear.bias) if bias else 0))
            wanted = np.einsum("bli,oji,blj->blo", x, numpy(both.weight), y) + (numpy(both.bias) if bias else 0)
            self.assertClose(both(mx.array(x), mx.array(y)), wanted)
        self.assertLessEqual(np.abs(weight).max(), 1 / math.sqrt(5))
        table = nn.Embedding(7, 3)
        self.assertClose(table(mx.array([[0, 6], [3, 3]])), numpy(table.weight)[[[0, 6], [3, 3]]])

    def test_norms(self):
        x = random(2, 4, 3, 6)
        for layer, axes in ((nn.LayerNorm(6), -1), (nn.InstanceNorm(6, affine=True), (1, 2)),
                            (nn.BatchNorm(6), (0, 1, 2))):
            layer.weight, layer.bias = mx.array(random(6)), mx.array(random(6, seed=1))
            self.assertClose(layer(mx.array(x)), normalized(x, axes) * random(6) + random(6, seed=1))
        size = np.sqrt((x.astype(np.float64)**2).mean(-1, keepdims=True) + 1e-5)
        self.assertClose(nn.RMSNorm(6)(mx.array(x)), x / size)
        groups = normalized(x.reshape(2, 12, 2, 3), (1, 3)).reshape(x.shape)
        self.assertClose(nn.GroupNorm(2, 6, pytorch_compatible=True)(mx.array(x)), groups)
        every_second = normalized(x.reshape(2, 36, 2), 1).reshape(x.shape)
        self.assertClose(nn.GroupNorm(2, 6)(mx.array(x)), every_second)
        for make in (lambda: nn.RMSNorm(4, 0), lambda: nn.GroupNorm(4, 6), lambda: nn.GroupNorm(0, 6)):
            with self.assertRaises(ValueError):
                make()

    def test_batches_are_followed(self):
        layer, x = nn.BatchNorm(3), 2 + 3 * random(8, 3)
        layer(mx.array(x))
        self.assertClose(layer.running_mean, 0.1 * x.mean(0))
        self.assertClose(layer.running_var, 0.9 + 0.1 * x.var(0, ddof=1))
        layer.eval()
        self.assertClose(layer(mx.array(x)), (x - 0.1 * x.mean(0)) / np.sqrt(0.9 + 0.1 * x.var(0, ddof=1) + 1e-5))
        with self.assertRaisesRegex(ValueError, "one value for each feature"):
            layer.train()(mx.ones((1, 3)))

    def test_pooling(self):
        rng = np.random.default_rng(5)
        for case in range(12):
            dims = case % 3 + 1
            size, window = rng.integers(4, 8, dims), rng.integers(1, 4, dims)
            stride, padding = rng.integers(1, 4, dims), rng.integers(0, 2, dims)
            if case > 8:  # no overlap
                stride, size = window, window * 2
                padding = 0 * padding
            x = random(2, *size, 3, seed=case)
            for kind, reduce, outside in (("Max", np.max, -np.inf), ("Avg", np.mean, 0)):
                padded = np.pad(x, [(0, 0), *((p, p) for p in padding), (0, 0)], constant_values=outside)
                counts = [(n - w) // s + 1 for n, w, s in zip(padded.shape[1:], window, stride)]
                wanted = np.zeros((2, *counts, 3), np.float32)
                for place in itertools.product(*map(range, counts)):
                    part = tuple(slice(i * s, i * s + w) for i, s, w in zip(place, stride, window))
                    wanted[(slice(None), *place)] = reduce(padded[(slice(None), *part)], tuple(range(1, dims + 1)))
                layer = getattr(nn, f"{kind}Pool{dims}d")(*(tuple(map(int, one)) for one in (window, stride, padding)))
                self.assertClose(layer(mx.array(x)), wanted)
        for wrong in ((0,), (2, 0), (2, 1, -1), ((1, 2, 3),), (2.5,)):
            with self.assertRaises(ValueError):
                nn.MaxPool2d(*wrong)
        with self.assertRaisesRegex(ValueError, "larger than the padded input"):
            nn.AvgPool1d(9)(mx.zeros((1, 4, 1)))

    def test_convolutions(self):
        x, layer = random(2, 9, 3), nn.Conv1d(3, 4, 3, stride=2, padding=1, bias=True)
        layer.bias = mx.array(random(4))
        padded, weight = np.pad(x, [(0, 0), (1, 1), (0, 0)]), numpy(layer.weight)
        wanted = np.stack([np.einsum("bkc,okc->bo", padded[:, i:i + 3], weight) for i in range(0, 9, 2)], 1)
        self.assertClose(layer(mx.array(x)), wanted + random(4))
        self.assertEqual(nn.Conv2d(4, 6, (3, 2), groups=2)(mx.zeros((1, 5, 5, 4))).shape, (1, 3, 4, 6))
        self.assertEqual(nn.Conv3d(2, 3, 2)(mx.zeros((1, 4, 4, 4, 2))).shape, (1, 3, 3, 3, 3))
        self.assertEqual(nn.ConvTranspose2d(2, 3, 3, stride=2, output_padding=1)(mx.zeros((1, 4, 4, 2))).shape,
                         (1, 10, 10, 3))
        with self.assertRaisesRegex(ValueError, "3 channels cannot be 2 groups"):
            nn.Conv1d(3, 4, 3, groups=2)

    def test_recurrent(self):
        def sigmoid(x):
            return 1 / (1 + np.exp(-x))

        x = random(2, 4, 3)
        for bias in (True, False):
            rnn, gru, lstm = nn.RNN(3, 5, bias), nn.GRU(3, 5, bias), nn.LSTM(3, 5, bias)
            h, g, l, c = (np.zeros((2, 5)) for _ in range(4))
            wanted = [], [], [], []
            for i in range(4):
                now = x[:, i]
                h = np.tanh(now @ numpy(rnn.Wxh).T + h @ numpy(rnn.Whh).T + (numpy(rnn.bias) if bias else 0))
                inputs = now @ numpy(gru.Wx).T + (numpy(gru.b) if bias else 0)
                before = g @ numpy(gru.Wh).T
                r, z = (sigmoid(inputs[:, k:k + 5] + before[:, k:k + 5]) for k in (0, 5))
                new = np.tanh(inputs[:, 10:] + r * (before[:, 10:] + (numpy(gru.bhn) if bias else 0)))
                g = (1 - z) * new + z * g
                gates = now @ numpy(lstm.Wx).T + l @ numpy(lstm.Wh).T + (numpy(lstm.bias) if bias else 0)
                ii, f, gg, o = np.split(gates, 4, -1)
                c = sigmoid(f) * c + sigmoid(ii) * np.tanh(gg)
                l = sigmoid(o) * np.tanh(c)
                for list_, value in zip(wanted, (h, g, l, c)):
                    list_.append(value)
            found = (rnn(mx.array(x)), gru(mx.array(x)), *lstm(mx.array(x)))
            for one, values in zip(found, wanted):
                self.assertClose(one, np.stack(values, 1))
            # Read in two parts, without a batch axis.
            first = gru(mx.array(x[:, :2]))
            self.assertClose(gru(mx.array(x[:, 2:]), first[:, -1]), np.stack(wanted[1], 1)[:, 2:])
            self.assertClose(rnn(mx.array(x[0])), np.stack(wanted[0], 1)[0])

    def test_attention(self):
        layer, x = nn.MultiHeadAttention(8, 2, bias=True), random(2, 5, 8)
        mask = layer.create_additive_causal_mask(5)
        self.assertTrue((numpy(mask)[np.triu_indices(5, 1)] < -1e38).all() and (np.tril(numpy(mask)) == 0).all())
        q, k, v = (x @ numpy(p.weight).T + numpy(p.bias) for p in (layer.query_proj, layer.key_proj, layer.value_proj))
        heads = [part.reshape(2, 5, 2, 4).transpose(0, 2, 1, 3) for part in (q, k, v)]
        scores = heads[0] @ heads[1].swapaxes(-1, -2) / 2 + np.where(np.tri(5) > 0, 0, -np.inf)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        seen = (weights / weights.sum(-1, keepdims=True)) @ heads[2]
        wanted = seen.transpose(0, 2, 1, 3).reshape(2, 5, 8) @ numpy(layer.out_proj.weight).T
        x = mx.array(x)
        self.assertClose(layer(x, x, x, mask), wanted + numpy(layer.out_proj.bias))
        with self.assertRaisesRegex(ValueError, "8 features cannot be 3 heads"):
            nn.MultiHeadAttention(8, 3)

    def test_transformer(self):
        for first in (True, False):
            model = nn.Transformer(8, 2, 1, 2, norm_first=first)
            mask = nn.MultiHeadAttention.create_additive_causal_mask(5)
            source, target = mx.array(random(2, 4, 8)), mx.array(random(2, 5, 8, seed=1))
            y = numpy(model(source, target, None, mask, None))
            self.assertEqual(y.shape, (2, 5, 8))
            # Later elements do not change earlier results.
            target[:, 3:] = 0
            self.assertClose(model(source, target, None, mask, None)[:, :3], y[:, :3])

    def test_positions(self):
        sines = nn.SinusoidalPositionalEncoding(6, cos_first=True, scale=1.0)(mx.arange(4))
        frequencies = np.exp(np.linspace(0, math.log(0.0001), 3))
        angles = np.arange(4)[:, None] * frequencies
        self.assertClose(sines, np.concatenate([np.cos(angles), np.sin(angles)], -1))
        scores = numpy(nn.ALiBi()(mx.zeros((1, 4, 3, 5)), offset=2))
        wanted = -np.abs(np.arange(2, 5)[:, None] - np.arange(5)) * (0.25 ** np.arange(1, 5))[:, None, None]
        self.assertClose(scores, wanted[None])
        x, size = random(1, 2, 3, 8), 6
        angles = (np.arange(3) + 4)[:, None] * 10000.0 ** (-np.arange(0, size, 2) / size)
        for traditional in (False, True):
            a, b = (x[..., 0:6:2], x[..., 1:6:2]) if traditional else (x[..., :3], x[..., 3:6])
            turned = np.stack([a * np.cos(angles) - b * np.sin(angles), a * np.sin(angles) + b * np.cos(angles)], -1)
            turned = turned if traditional else turned.swapaxes(-1, -2)
            wanted = np.concatenate([turned.reshape(1, 2, 3, 6), x[..., 6:]], -1)
            self.assertClose(nn.RoPE(size, traditional)(mx.array(x), offset=4), wanted)

    def test_dropout(self):
        layer, x = nn.Dropout(0.25), mx.ones((100, 100))
        y = numpy(layer(x))
        self.assertEqual(set(np.unique(y)), {0, np.float32(1 / 0.75)})
        self.assertAlmostEqual(y.mean(), 1, delta=0.05)
        self.assertIs(layer.eval()(x), x)
        channels = numpy(nn.Dropout2d(0.5)(mx.ones((4, 3, 3, 50))))
        self.assertTrue((channels == channels[:, :1, :1]).all() and (channels == 0).any())
        for make in (lambda: nn.Dropout(1.0), lambda: nn.Dropout3d(0.5)(mx.ones((3, 3)))):
            with self.assertRaises(ValueError):
                make()

    def test_upsampled(self):
        x = random(1, 4, 5, 2)
        self.assertClose(nn.Upsample(2)(mx.array(x)), x.repeat(2, 1).repeat(2, 2))
        self.assertEqual(nn.Upsample(2)(mx.arange(4).reshape(1, 4, 1)).dtype, mx.int32)
        line = mx.array([0.0, 1.0, 2.0, 3.0]).reshape(1, 4, 1)
        flat = {mode: numpy(nn.Upsample(2, mode)(line)).ravel() for mode in ("linear", "cubic")}
        self.assertClose(flat["linear"], [0, 0.25, 0.75, 1.25, 1.75, 2.25, 2.75, 3])
        self.assertClose(numpy(nn.Upsample(2, "linear", align_corners=True)(line)).ravel(), np.linspace(0, 3, 8))
        self.assertClose(numpy(nn.Upsample(0.5, "linear", antialias=True)(mx.ones((1, 8, 1)))).ravel(), np.ones(4))
        ones = numpy(nn.Upsample((1.7, 0.4), "cubic", antialias=True)(mx.ones((1, 7, 9, 1))))
        self.assertClose(ones, np.ones((1, 11, 3, 1)))
        self.assertClose(numpy(nn.Upsample(3, "cubic")(mx.ones((1, 5, 1)))), np.ones((1, 15, 1)))
        for wrong in (lambda: nn.Upsample(2, "odd"), lambda: nn.Upsample(2, antialias=True),
                      lambda: nn.Upsample((2, 2))(line), lambda: nn.Upsample(2)(mx.zeros((3, 3)))):
            with self.assertRaises(ValueError):
                wrong()


class Losses(Case):
    def test_formulas(self):
        x, y = random(4, 3), random(4, 3, seed=1)
        a, b = mx.array(x), mx.array(y)
        logs = x - np.log(np.exp(x).sum(-1, keepdims=True))
        loss = nn.losses
        share = 1 / (1 + np.exp(-y))
        cases = (
            (loss.cross_entropy(a, mx.array([0, 2, 1, 1])), -logs[range(4), [0, 2, 1, 1]]),
            (loss.cross_entropy(a, mx.array([0, 2, 1, 1]), label_smoothing=0.2, weights=mx.array([1.0, 2, 0, 1])),
             (-0.8 * logs[range(4), [0, 2, 1, 1]] - 0.2 * logs.mean(-1)) * [1, 2, 0, 1]),
            (loss.cross_entropy(a, mx.array(share / share.sum(-1, keepdims=True))),
             -(logs * share / share.sum(-1, keepdims=True)).sum(-1)),
            (loss.binary_cross_entropy(a, mx.array((y > 0).astype(np.float32)), reduction="none"),
             np.where(y > 0, np.log1p(np.exp(-x)), np.log1p(np.exp(x)))),
            (loss.binary_cross_entropy(mx.array(share), mx.array((x > 0).astype(np.float32)), with_logits=False),
             -np.where(x > 0, np.log(share), np.log(1 - share)).mean()),
            (loss.l1_loss(a, b), np.abs(x - y).mean()), (loss.mse_loss(a, b, "sum"), ((x - y) ** 2).sum()),
            (loss.nll_loss(a, mx.array([0, 2, 1, 1]), reduction="mean"), -x[range(4), [0, 2, 1, 1]].mean()),
            (loss.gaussian_nll_loss(a, b, mx.array(share), full=True),
             0.5 * (np.log(share) + (x - y) ** 2 / share + math.log(2 * math.pi)).mean()),
            (loss.kl_div_loss(a, b), (np.exp(y) * (y - x)).sum(-1)),
            (loss.smooth_l1_loss(a, b, beta=0.7, reduction="none"),
             np.where(np.abs(x - y) < 0.7, (x - y) ** 2 / 1.4, np.abs(x - y) - 0.35)),
            (loss.triplet_loss(a, b, mx.array(share)), np.maximum(np.sqrt(((x - y) ** 2).sum(-1) + 1e-6) - np.sqrt(
                ((x - share) ** 2).sum(-1) + 1e-6) + 1, 0)),
            (loss.hinge_loss(a, mx.sign(b)), np.maximum(1 - x * np.sign(y), 0)),
            (loss.huber_loss(a, b, delta=0.5), np.where(np.abs(x - y) <= 0.5, (x - y) ** 2 / 2,
                                                        0.5 * (np.abs(x - y) - 0.25))),
            (loss.log_cosh_loss(a, b), np.log(np.cosh((x - y).astype(np.float64)))),
            (loss.cosine_similarity_loss(a, b),
             (x * y).sum(-1) / np.linalg.norm(x, axis=-1) / np.linalg.norm(y, axis=-1)),
            (loss.margin_ranking_loss(a, b, mx.sign(a), 0.1), np.maximum(0, 0.1 - np.sign(x) * (x - y))),
        )
        for i, (found, wanted) in enumerate(cases):
            with self.subTest(i):
                self.assertClose(found, wanted, 1e-4)

    def test_what_is_refused(self):
        x = mx.zeros((2, 3))
        for wrong in (lambda: nn.losses.l1_loss(x, mx.zeros((3, 2))), lambda: nn.losses.mse_loss(x, x, "average"),
                      lambda: nn.losses.cross_entropy(x, mx.zeros((3,))),
                      lambda: nn.losses.cross_entropy(x, mx.array([0, 1]), label_smoothing=1.0),
                      lambda: nn.losses.cross_entropy(x, mx.array([0, 1]), weights=mx.zeros((3,)))):
            with self.assertRaises(ValueError):
                wrong()


class Beginnings(Case):
    def test_spreads(self):
        weight = mx.zeros((400, 100))
        for make, deviation in ((nn.init.glorot_normal(), math.sqrt(2 / 500)), (nn.init.glorot_uniform(), math.sqrt(
                2 / 500)), (nn.init.he_normal(), 0.1), (nn.init.he_uniform(), 0.1), (nn.init.normal(1, 0.5), 0.5),
                                (nn.init.uniform(-1, 1), math.sqrt(1 / 3))):
            self.assertAlmostEqual(numpy(make(weight)).std(), deviation, delta=0.03 * deviation)
        self.assertAlmostEqual(numpy(nn.init.he_normal()(weight, "fan_out", 2)).std(), 0.1, delta=0.003)
        self.assertEqual(nn.init.he_normal(mx.float16)(weight).dtype, mx.float16)
        self.assertTrue((numpy(nn.init.constant(3)(weight)) == 3).all())
        sparse = numpy(nn.init.sparse(0.35)(mx.zeros((50, 11))))
        self.assertTrue(((sparse == 0).sum(-1) == 4).all())
        self.assertGreater(len(np.unique((sparse == 0), axis=0)), 10)

    def test_orthogonal(self):
        for shape in ((5, 5), (3, 8), (8, 3), (1, 1)):
            matrix = numpy(nn.init.orthogonal(2.0)(mx.zeros(shape)))
            product = matrix @ matrix.T if shape[0] <= shape[1] else matrix.T @ matrix
            np.testing.assert_allclose(product, 4 * np.eye(min(shape)), atol=1e-5)
        for make in (nn.init.orthogonal(), nn.init.identity(), nn.init.sparse(0.5), nn.init.glorot_normal()):
            with self.assertRaises(ValueError):
                make(mx.zeros((3,)))
        with self.assertRaisesRegex(ValueError, "'both_ways'"):
            nn.init.he_uniform()(mx.zeros((2, 2)), "both_ways")


if __name__ == "__main__":
    unittest.main()
