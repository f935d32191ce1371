"""Samplers and processors of pippin.lm: the library's and Python functions."""

import math
import random
import unittest

try:
    import numpy as np
except ImportError:
    raise unittest.SkipTest("NumPy is not installed") from None

import pippin
from pippin import _seeds, lm
from pippin.lm import sample_utils


def log_softmax(logits):
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


class Filters(unittest.TestCase):
    """The documented behaviour of mlx-lm's functions, on small distributions."""

    def seen(self, probabilities, draws=300, **options):
        sampler = lm.make_sampler(temp=1.0, seed=1, **options)
        logprobs = np.log(np.array([probabilities], np.float64)).astype(np.float32)
        return {int(sampler(logprobs)[0]) for _ in range(draws)}

    def test_filters_drop_tokens(self):
        p = [0.5, 0.3, 0.15, 0.05]
        self.assertEqual(self.seen(p), {0, 1, 2, 3})
        self.assertEqual(self.seen(p, top_k=2), {0, 1})
        self.assertEqual(self.seen(p, top_p=0.7), {0, 1})
        self.assertEqual(self.seen(p, min_p=0.25), {0, 1, 2})
        self.assertEqual(self.seen(p, min_p=0.9), {0})
        self.assertEqual(self.seen(p, min_p=0.9, min_tokens_to_keep=3), {0, 1, 2})

    def test_xtc_drops_all_top_choices_but_one(self):
        p = [0.45, 0.3, 0.2, 0.05]
        self.assertEqual(self.seen(p, xtc_probability=1.0, xtc_threshold=0.1), {2, 3})
        self.assertEqual(self.seen(p, xtc_probability=1.0, xtc_threshold=0.1, xtc_special_tokens=[0]), {0, 2, 3})
        self.assertEqual(self.seen(p, xtc_probability=0.0, xtc_threshold=0.1), {0, 1, 2, 3})

        self.assertEqual(self.seen(p, xtc_probability=1.0), {2, 3})  # above 0.1, as in mlx-lm

    def test_filters_by_name(self):
        p = np.log(np.array([[0.5, 0.3, 0.15, 0.05], [0.05, 0.15, 0.3, 0.5]], np.float32))
        for filtered, count in (
                (sample_utils.apply_top_p(p, 0.7), 2), (sample_utils.apply_top_k(p, 2), 2),
                (sample_utils.apply_min_p(p, 0.25), 3), (sample_utils.apply_min_p(p, 0.9, 3), 3)):
            np.testing.assert_array_equal(filtered[0], np.where(np.arange(4) < count, p[0], -np.inf))
            np.testing.assert_array_equal(filtered[1], filtered[0][::-1])
        filtered = sample_utils.apply_xtc(p, 1.0, 0.1, [])
        np.testing.assert_array_equal(np.isfinite(filtered), [[False, False, True, True], [True, True, False, False]])
        np.testing.assert_array_equal(sample_utils.apply_xtc(p, 0.0, 0.1, []), p)
        self.assertEqual(sample_utils.apply_xtc(p, 1.0, 0.1, [0])[0, 0], p[0, 0])
        tokens = sample_utils.categorical_sampling(sample_utils.apply_top_k(p, 1), 1.0)
        self.assertEqual(tokens.tolist(), [0, 3])
        array = sample_utils.apply_top_k(pippin.core.array(p), 1)
        self.assertIsInstance(array, pippin.core.array)
        for wrong in (lambda: sample_utils.apply_top_k(p, 4), lambda: sample_utils.apply_min_p(p, 1.5),
                      lambda: sample_utils.apply_xtc(p, 1.0, 0.7, [])):
            with self.assertRaises(ValueError):
                wrong()

    def test_penalties_by_name(self):
        tokens, ones = np.array([0, 0, 1]), np.ones((1, 3), np.float32)
        for make, wanted in ((sample_utils.make_repetition_penalty, [0.5, 0.5, 1.0]),
                             (sample_utils.make_presence_penalty, [-1.0, -1.0, 1.0]),
                             (sample_utils.make_frequency_penalty, [-3.0, -1.0, 1.0])):
            self.assertEqual(make(2.0)(tokens, ones).tolist(), [wanted])
        self.assertEqual(sample_utils.make_presence_penalty(0.0)(tokens, ones).tolist(), [[1.0, 1.0, 1.0]])

    def test_the_temperature_comes_last(self):
        # At temperature 2 the first two together have less than 0.7; filters apply before the temperature.
        sampler = lm.make_sampler(temp=2.0, top_p=0.7, seed=3)
        logprobs = np.log(np.array([[0.5, 0.3, 0.15, 0.05]], np.float32))
        drawn = [int(sampler(logprobs)[0]) for _ in range(3000)]
        self.assertEqual(set(drawn), {0, 1})
        wanted = math.sqrt(0.5) / (math.sqrt(0.5) + math.sqrt(0.3))
        self.assertAlmostEqual(drawn.count(0) / len(drawn), wanted, delta=0.03)

    def test_rows_and_greed(self):
        rows = np.random.default_rng(5).normal(size=(7, 50)).astype(np.float32)
        np.testing.assert_array_equal(lm.make_sampler()(rows), rows.argmax(-1))
        self.assertEqual(lm.make_sampler()(rows[0]).shape, (1,))

    def test_what_there_cannot_be(self):
        for options in ({"temp": -1.0}, {"temp": math.nan}, {"min_p": 1.5}, {"top_k": -1},
                        {"min_tokens_to_keep": 0}, {"xtc_threshold": 0.7}, {"xtc_probability": 2.0}):
            with self.assertRaisesRegex(ValueError, next(iter(options))):
                lm.make_sampler(**options)
        with self.assertRaisesRegex(ValueError, "repetition_penalty"):
            lm.make_logits_processors(repetition_penalty=-1.0)


class Processors(unittest.TestCase):
    def test_they_are_those_of_mlx_lm(self):
        generator = np.random.default_rng(7)
        logits = generator.normal(size=(1, 40)).astype(np.float32)
        tokens = generator.integers(0, 40, 30).tolist() + [3, 3, 5]
        bias, repetition, presence, frequency = lm.make_logits_processors(
            {1: 2.0, 39: -1.5}, repetition_penalty=1.3, repetition_context_size=20, presence_penalty=0.5,
            presence_context_size=3, frequency_penalty=0.25, frequency_context_size=None)
        wanted = logits.copy()
        wanted[:, 1] += 2.0
        wanted[:, 39] -= 1.5
        np.testing.assert_allclose(bias(tokens, logits), wanted, rtol=1e-6)
        wanted = logits.copy()
        for token in set(tokens[-20:]):
            score = logits[0, token]
            wanted[0, token] = score * 1.3 if score < 0 else score / 1.3
        np.testing.assert_allclose(repetition(tokens, logits), wanted, rtol=1e-6)
        wanted = logits.copy()
        wanted[:, [3, 5]] -= 0.5
        np.testing.assert_allclose(presence(tokens, logits), wanted, rtol=1e-5, atol=1e-6)
        wanted = logits.copy()
        for token in tokens:
            wanted[0, token] -= 0.25
        np.testing.assert_allclose(frequency(tokens, logits), wanted, rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(presence([], logits), logits)
        self.assertEqual(lm.make_logits_processors(), [])


class Functions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model, cls.tokenizer = lm.load("demo", num_threads=2)
        question = [{"role": "user", "content": "Tell me a story about a fox called Mia."}]
        cls.prompt = cls.tokenizer.apply_chat_template(question, add_generation_prompt=True)

    def generate(self, **options):
        return lm.generate(self.model, self.tokenizer, self.prompt, **{"max_tokens": 12, **options})

    def test_a_sampler_of_ones_own(self):
        shapes = []

        def greedy(logprobs):
            shapes.append((logprobs.shape, logprobs.dtype, abs(np.exp(logprobs).sum() - 1) < 1e-4))
            return np.argmax(logprobs, axis=-1)

        self.assertEqual(self.generate(sampler=greedy), self.generate())
        self.assertEqual(set(shapes), {((1, self.model.vocab_size), np.dtype(np.float32), True)})
        always = self.tokenizer.encode("fox", False)[0]
        self.assertEqual(self.generate(sampler=lambda logprobs: always, max_tokens=3),
                         self.tokenizer.decode([always] * 3))
        drawn = random.Random(1)
        picked = [one.token for one in lm.stream_generate(
            self.model, self.tokenizer, self.prompt, 5, sampler=lambda logprobs: drawn.randrange(300, 310))]
        again = random.Random(1)
        self.assertEqual(picked, [again.randrange(300, 310) for _ in range(5)])

    def test_processors_of_ones_own(self):
        first = [one.token for one in lm.stream_generate(self.model, self.tokenizer, self.prompt, 1)][0]
        seen = []

        def never_first(tokens, logits):
            seen.append(tokens.tolist())
            logits[:, first] = -np.inf
            return logits

        responses = list(lm.stream_generate(self.model, self.tokenizer, self.prompt, 4,
                                            logits_processors=[never_first]))
        chosen = [one.token for one in responses]
        self.assertNotIn(first, chosen)
        self.assertEqual(seen, [self.prompt + chosen[:count] for count in range(4)])
        self.assertEqual(responses[0].logprobs[first], -np.inf)
        # In their order, with the library's processors between them.
        order = []
        mixed = [lambda tokens, logits: (order.append(logits[0, first]), logits)[1],
                 *lm.make_logits_processors({first: -5.0}),
                 lambda tokens, logits: (order.append(logits[0, first]), logits)[1]]
        self.generate(max_tokens=1, logits_processors=mixed)
        self.assertAlmostEqual(order[0] - order[1], 5.0, places=3)

    def test_both_with_forms_and_stops(self):
        def greedy(logprobs):
            return int(np.argmax(logprobs))

        self.assertRegex(self.generate(sampler=greedy, regex="[0-9]{3}"), "^[0-9]{3}$")
        self.assertEqual(self.generate(sampler=greedy, choices=["yes", "no"]), self.generate(choices=["yes", "no"]))

    def test_what_they_raise_comes_out(self):
        cache = lm.make_prompt_cache(self.model)
        calls = []

        def fails(tokens, logits):
            calls.append(len(tokens))
            if len(calls) == 4:
                raise ZeroDivisionError("not today")
            return logits

        texts = []
        with self.assertRaisesRegex(ZeroDivisionError, "not today"):
            for response in lm.stream_generate(self.model, self.tokenizer, self.prompt, 12, logits_processors=[fails],
                                               prompt_cache=cache):
                texts.append(response.token)
        self.assertEqual(cache.tokens, self.prompt + texts)
        rest = lm.generate(self.model, self.tokenizer, [texts[-1]], max_tokens=9, prompt_cache=lm.PromptCache(
            sequence=self.trimmed(cache)))
        self.assertEqual(self.tokenizer.decode(texts, True) + rest, self.generate())

    def trimmed(self, cache):
        cache.trim(1)
        return cache.sequence()

    def test_what_they_may_not_return(self):
        for sampler, words in (
            (lambda logprobs: None, "sampler: it returned a NoneType"),
            (lambda logprobs: 10**9, "sampler: it returned 1000000000, tokens are 0 to"),
            (lambda logprobs: -1, "sampler: it returned -1"),
            (lambda logprobs: 0.5, "sampler: it returned a float"),
            (lambda logprobs: np.array([1, 2]), "sampler: it returned 2 tokens"),
        ):
            with self.assertRaisesRegex(ValueError, words):
                self.generate(sampler=sampler)
        for processor, words in (
            (lambda tokens, logits: None, "a NoneType that is not an array"),
            (lambda tokens, logits: logits[:, :5], "not an array of"),
            (lambda tokens, logits: "text", "not an array of"),
            (lambda tokens, logits: logits * np.nan, "NaN"),
            (lambda tokens, logits: logits - np.inf, "no token is left|no finite"),
        ):
            with self.assertRaisesRegex((ValueError, RuntimeError), words):
                self.generate(logits_processors=[processor])
        with self.assertRaisesRegex(TypeError, "logits_processors: a dict is not a function"):
            self.generate(logits_processors=[{}])
        with self.assertRaises(TypeError):
            self.generate(sampler=lambda: 1)

    def test_several_texts(self):
        prompts = [self.prompt, self.prompt[:-2], self.tokenizer.encode("Once upon a time")]
        lengths = []

        def count(tokens, logits):
            lengths.append(len(tokens))
            return logits

        got = lm.batch_generate(self.model, self.tokenizer, prompts, max_tokens=4, logits_processors=[count],
                                sampler=lambda logprobs: logprobs.argmax(-1), return_logprobs=True,
                                return_token_ids=True)
        self.assertEqual(got.texts, lm.batch_generate(self.model, self.tokenizer, prompts, max_tokens=4).texts)
        self.assertEqual(sorted(set(lengths)), sorted({len(p) + n for p in prompts for n in range(4)}))
        single = list(lm.stream_generate(self.model, self.tokenizer, self.prompt, 4))
        np.testing.assert_allclose(got.logprobs[0], [float(one.logprobs[one.token]) for one in single], atol=1e-3)
        drawn = lm.batch_generate(self.model, self.tokenizer, [self.prompt] * 3, max_tokens=8,
                                  sampler=lm.make_sampler(temp=1.5, seed=4))
        self.assertEqual(len(set(drawn.texts)), 3)  # each text has its own random numbers
        with self.assertRaises(ZeroDivisionError):
            lm.batch_generate(self.model, self.tokenizer, prompts, max_tokens=4, sampler=lambda logprobs: 1 // 0)

    def test_log_probabilities(self):
        for response in lm.stream_generate(self.model, self.tokenizer, self.prompt, 5):
            self.assertEqual(response.logprobs.shape, (self.model.vocab_size,))
            self.assertAlmostEqual(float(np.exp(response.logprobs).sum()), 1, places=4)
            self.assertEqual(int(response.logprobs.argmax()), response.token)
        kept = list(lm.stream_generate(self.model, self.tokenizer, self.prompt, 5))
        self.assertEqual([int(one.logprobs.argmax()) for one in kept], [one.token for one in kept])
        self.assertIsNone(next(lm.stream_generate(self.model, self.tokenizer, self.prompt, 5, logprobs=False)).logprobs)

    def test_seeds(self):
        fixed = lm.make_sampler(temp=1.5, seed=9)
        self.assertEqual(self.generate(sampler=fixed), self.generate(sampler=fixed))
        free = lm.make_sampler(temp=1.5)
        self.assertNotEqual(self.generate(sampler=free, max_tokens=20), self.generate(sampler=free, max_tokens=20))
        random.seed(3)
        first = self.generate(sampler=free)
        random.seed(3)
        self.assertEqual(self.generate(sampler=free), first)
        self.addCleanup(setattr, _seeds, "_begun", None)
        texts = []
        for _ in range(2):
            pippin.core.random.seed(3)
            texts.append([self.generate(sampler=free, max_tokens=20) for _ in range(2)])
        self.assertEqual(texts[0], texts[1])
        self.assertNotEqual(*texts[0])


if __name__ == "__main__":
    unittest.main()
