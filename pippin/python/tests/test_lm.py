"""pippin.lm: texts from Python."""

import copy
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import unittest
from array import array

from fixtures import PROGRAM, folder, package
from pippin import lm
from testing import needs_numpy

QUESTION = [{"role": "user", "content": "Tell me a story about a fox called Mia."}]


class Texts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model, cls.tokenizer = lm.load("demo", num_threads=2)
        cls.prompt = cls.tokenizer.apply_chat_template(QUESTION, add_generation_prompt=True)

    def generate(self, prompt=None, **options):
        return lm.generate(self.model, self.tokenizer, prompt or self.prompt, **options)

    def test_a_text_is_that_of_the_program(self):
        wanted = subprocess.run([PROGRAM, "run", "--no-stats", "-n", "30", QUESTION[0]["content"]],
                                capture_output=True, text=True, check=True).stdout
        self.assertEqual(self.generate(max_tokens=30), wanted.removesuffix("\n"))

    def test_tokens_come_one_by_one(self):
        responses = list(lm.stream_generate(self.model, self.tokenizer, self.prompt, max_tokens=12))
        self.assertEqual("".join(one.text for one in responses), self.generate(max_tokens=12))
        tokens = [one.token for one in responses if one.token >= 0]
        self.assertEqual(len(tokens), 12)
        self.assertEqual([one.finish_reason for one in responses], [None] * (len(responses) - 1) + ["length"])
        self.assertEqual(responses[-1].prompt_tokens, len(self.prompt))
        self.assertGreater(responses[-1].generation_tps, 0)

    def test_the_end_of_a_text(self):
        responses = list(lm.stream_generate(self.model, self.tokenizer, self.prompt, max_tokens=400))
        self.assertEqual(responses[-1].finish_reason, "stop")
        self.assertIn(responses[-1].token, self.tokenizer.eos_token_ids)
        self.assertEqual([one.generation_tokens for one in responses], list(range(1, len(responses) + 1)))
        self.assertTrue(self.generate(max_tokens=200, stop=["Mia"]).strip())
        self.assertNotIn("Mia", self.generate(max_tokens=200, stop=["Mia"]))

    def test_sampling(self):
        def text(seed):
            return self.generate(max_tokens=20, sampler=lm.make_sampler(temp=1.5, top_p=0.95, seed=seed))

        self.assertEqual(text(1), text(1))
        self.assertNotEqual(text(1), text(2))
        first = self.tokenizer.encode(self.generate(max_tokens=1), False)[0]
        never = lm.make_logits_processors(logit_bias={first: -100.0}, repetition_penalty=1.1)
        self.assertNotEqual(self.generate(max_tokens=1), self.generate(max_tokens=1, logits_processors=never))

    def test_options_of_the_table_are_those_of_the_program(self):
        for options in ({"mirostat_tau": 3.0}, {"dry_multiplier": 2.0, "dry_allowed_length": 1},
                        {"repetition_penalty": 1.5, "penalty_last_n": 8}):
            flags = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
            wanted = subprocess.run([PROGRAM, "run", "--no-stats", "-n", "40", "--temp", "1", "--seed", "3", *flags,
                                     QUESTION[0]["content"]], capture_output=True, text=True, check=True).stdout
            self.assertEqual(self.generate(max_tokens=40, temperature=1.0, seed=3, **options),
                             wanted.removesuffix("\n"), options)
        with self.assertRaisesRegex(ValueError, "dry_base is 0.5, must be 1 or more"):
            self.generate(max_tokens=1, dry_base=0.5)
        with self.assertRaisesRegex(ValueError, 'unknown option "warmth"'):
            self.generate(max_tokens=1, warmth=0.5)

    def test_answers_in_a_form(self):
        self.assertIn(self.generate(choices=["yes", "no"]), ("yes", "no"))
        schema = {"type": "object", "properties": {"legs": {"type": "integer", "maximum": 9, "minimum": 0}},
                  "required": ["legs"], "additionalProperties": False}
        answer = json.loads(self.generate(json_schema=json.dumps(schema)))
        self.assertEqual(list(answer), ["legs"])
        self.assertRegex(self.generate(regex="[0-9]{3}"), "^[0-9]{3}$")
        with self.assertRaisesRegex(ValueError, 'the rule "x" is not defined'):
            self.generate(grammar="root ::= x")

    def test_a_cache_goes_on(self):
        whole = self.generate(max_tokens=20)
        cache = lm.make_prompt_cache(self.model)
        begin = list(lm.stream_generate(self.model, self.tokenizer, self.prompt, max_tokens=8, prompt_cache=cache))
        last = begin[-1].token
        rest = self.generate([last], max_tokens=12, prompt_cache=copy.deepcopy(cache))
        self.assertEqual("".join(one.text for one in begin) + rest, whole)
        self.assertEqual(cache.offset, len(self.prompt) + 7)
        file = folder() / "cache.bin"
        lm.save_prompt_cache(file, cache, {"model": "demo", "turn": "1"})
        loaded, metadata = lm.load_prompt_cache(file, self.model, return_metadata=True)
        self.assertEqual(loaded.tokens, cache.tokens)
        self.assertEqual(metadata, {"model": "demo", "turn": "1"})
        # As in mlx-lm: the model is given later.
        late = lm.load_prompt_cache(file)
        with self.assertRaisesRegex(ValueError, "is read when a text goes on from it"):
            self.assertEqual(late.offset, 0)
        self.assertEqual(self.generate([last], max_tokens=12, prompt_cache=late), rest)
        lm.save_prompt_cache(file, cache)
        self.assertEqual(lm.load_prompt_cache(file, return_metadata=True)[1], {})
        self.assertTrue(lm.can_trim_prompt_cache(cache))
        self.assertEqual(lm.trim_prompt_cache(cache, 5), 5)
        self.assertEqual(cache.offset, loaded.offset - 5)
        self.assertEqual(lm.trim_prompt_cache(cache, 5000), loaded.offset - 5)
        self.assertEqual(cache.offset, 0)
        with self.assertRaises(FileNotFoundError):
            lm.load_prompt_cache(folder() / "nowhere.bin")
        with self.assertRaisesRegex(NotImplementedError, "max_kv_size"):
            lm.make_prompt_cache(self.model, max_kv_size=8)

    def test_prompts_of_all_kinds(self):
        wanted = self.generate(max_tokens=6)
        text = self.tokenizer.apply_chat_template(QUESTION, add_generation_prompt=True, tokenize=False)
        self.assertTrue(text.startswith(self.tokenizer.bos_token))  # and is not added again
        for prompt in (text, tuple(self.prompt), array("i", self.prompt), iter(self.prompt)):
            self.assertEqual(self.generate(prompt, max_tokens=6), wanted)
        with self.assertRaisesRegex(ValueError, "no tokens"):
            list(lm.stream_generate(self.model, self.tokenizer, [], max_tokens=6))
        with self.assertRaisesRegex(TypeError, "tokens: a float is not a token"):
            list(lm.stream_generate(self.model, self.tokenizer, [1.5], max_tokens=6))
        with self.assertRaisesRegex(ValueError, "vocabulary"):
            self.generate([10**6], max_tokens=6)

    def test_other_end_tokens(self):
        _, tokenizer = lm.load("demo")
        third = [one.token for one in lm.stream_generate(self.model, tokenizer, self.prompt, max_tokens=5)][3]
        tokenizer.add_eos_token(third)
        responses = list(lm.stream_generate(self.model, tokenizer, self.prompt, max_tokens=50))
        self.assertEqual((responses[-1].token, responses[-1].finish_reason), (third, "stop"))
        self.assertLessEqual(len(responses), 4)

    def test_how_far_a_prompt_is(self):
        calls = []
        wanted = self.generate(max_tokens=6)
        size = len(self.prompt)
        got = self.generate(max_tokens=6, prefill_step_size=4,
                            prompt_progress_callback=lambda done, total: calls.append((done, total)))
        self.assertEqual(got, wanted)
        self.assertEqual(calls[0], (0, size))
        self.assertEqual(calls[1], (4, size))
        self.assertEqual(calls[-1], (size, size))
        self.assertEqual(sorted(set(calls)), calls)
        cache = lm.make_prompt_cache(self.model)

        def stop(done, total):
            if done >= 8:
                raise RuntimeError("enough")

        with self.assertRaisesRegex(RuntimeError, "enough"):
            self.generate(max_tokens=6, prefill_step_size=4, prompt_progress_callback=stop, prompt_cache=cache)
        self.assertEqual(cache.offset, 8)
        self.assertEqual(self.generate(self.prompt[8:], max_tokens=6, prompt_cache=cache), wanted)

    def test_drafts_of_a_model(self):
        draft, _ = lm.load("demo", num_threads=2)
        wanted = self.generate(max_tokens=40)
        responses = list(lm.stream_generate(self.model, self.tokenizer, self.prompt, 40, draft, num_draft_tokens=3))
        self.assertEqual("".join(one.text for one in responses), wanted)
        self.assertTrue(any(one.from_draft for one in responses))
        self.assertFalse(responses[0].from_draft)
        self.assertEqual(self.generate(max_tokens=40, draft_model=draft), wanted)
        with self.assertRaisesRegex(ValueError, "draft_model: a str is not a language model"):
            self.generate(draft_model="demo")

    def test_several_texts_at_once(self):
        prompts = [self.prompt, self.prompt[:-3], self.tokenizer.encode("Once upon a time"), "A fox"]
        limits = [12, 1, 20, 7]
        singles = [self.generate(prompt, max_tokens=limit) for prompt, limit in zip(prompts, limits)]
        for at_a_time in (32, 3, 1):
            got = lm.batch_generate(self.model, self.tokenizer, prompts, max_tokens=limits,
                                    completion_batch_size=at_a_time, return_token_ids=True)
            self.assertEqual(got.texts, singles)
            self.assertEqual([len(tokens) for tokens in got.token_ids], limits)
        self.assertEqual(got.stats.generation_tokens, sum(limits))
        self.assertGreater(got.stats.generation_tps, 0)
        self.assertIsNone(got.caches)
        self.assertEqual(lm.batch_generate(self.model, self.tokenizer, []).texts, [])
        with self.assertRaisesRegex(ValueError, r"prompts\[1\]"):
            lm.batch_generate(self.model, self.tokenizer, [[5], []])
        with self.assertRaisesRegex(MemoryError, r"prompts\[1\]: the prompt has 600 tokens"):
            lm.batch_generate(self.model, self.tokenizer, [[5], [259] * 600])

    def test_caches_of_several_texts(self):
        cache = lm.make_prompt_cache(self.model)
        self.generate(max_tokens=0, prompt_cache=cache)
        position = cache.offset
        more = self.tokenizer.encode("The fox", False)
        got = lm.batch_generate(self.model, self.tokenizer, [more, more[:1]], prompt_caches=[cache, cache],
                                max_tokens=5, return_prompt_caches=True)
        self.assertEqual(cache.offset, position)
        self.assertEqual(got.texts[0], self.generate(more, max_tokens=5, prompt_cache=copy.deepcopy(cache)))
        self.assertEqual(got.caches[0].offset, position + len(more) + 4)

    @needs_numpy
    def test_steps(self):
        wanted = [one.token for one in lm.stream_generate(self.model, self.tokenizer, self.prompt, 6)]
        self.assertEqual([token for token, _ in lm.generate_step(self.prompt, self.model, max_tokens=6)], wanted)
        self.assertEqual(len(list(lm.generate_step(self.prompt, self.model, max_tokens=200))), 200)
        with self.assertRaisesRegex(TypeError, "a text needs a tokenizer"):
            next(lm.generate_step("Once", self.model))

    def test_a_model_is_pickled_by_its_path(self):
        model, _ = lm.load(package(), context=64, num_threads=1)
        again = pickle.loads(pickle.dumps(model))
        self.assertEqual((again.name, again.context), (package(), 64))
        self.assertEqual(lm.generate(again, self.tokenizer, self.prompt, max_tokens=5), self.generate(max_tokens=5))

    @needs_numpy
    def test_perplexity(self):
        text = "Once upon a time there was a little fox. " * 4
        whole = lm.perplexity(self.model, self.tokenizer, text)
        self.assertGreater(whole, 1)
        rows = [self.tokenizer.encode(text)]
        value, error = lm.eval_ppl(self.model, rows)
        self.assertAlmostEqual(value, whole, places=4)
        self.assertGreater(error, 0)
        self.assertGreater(lm.perplexity(self.model, self.tokenizer, rows[0][::-1]), whole)
        with self.assertRaisesRegex(ValueError, "2 at least"):
            lm.perplexity(self.model, self.tokenizer, [5])

    def test_leaving_a_loop_ends_the_text(self):
        cache = lm.make_prompt_cache(self.model)
        for response in lm.stream_generate(self.model, self.tokenizer, self.prompt, max_tokens=400,
                                           prompt_cache=cache):
            if response.generation_tokens == 3:
                break
        self.assertLess(cache.offset, len(self.prompt) + 20)
        self.assertTrue(self.generate([259], max_tokens=3, prompt_cache=cache))

    def test_one_text_at_a_time_goes_into_a_cache(self):
        cache = lm.make_prompt_cache(self.model)
        stream = lm.stream_generate(self.model, self.tokenizer, self.prompt, max_tokens=400, prompt_cache=cache)
        next(stream)
        for use in (lambda: self.generate(max_tokens=3, prompt_cache=cache), lambda: cache.trim(1),
                    lambda: cache.tokens, lambda: copy.deepcopy(cache),
                    lambda: lm.save_prompt_cache(folder() / "busy.bin", cache)):
            with self.assertRaisesRegex(ValueError, "a text is being written into the sequence"):
                use()
        self.assertFalse((folder() / "busy.bin").exists())
        self.assertGreater(cache.offset, 0)
        stream.close()
        self.assertTrue(self.generate([259], max_tokens=3, prompt_cache=cache))
        with self.assertRaisesRegex(TypeError, "prompt_cache: a list is not a PromptCache"):
            self.generate(max_tokens=3, prompt_cache=[cache])

    def test_a_process_may_fork(self):
        wanted = self.generate(max_tokens=5)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                status = 0 if self.generate(max_tokens=5) == wanted else 2
            finally:
                os._exit(status)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_packages_are_models_too(self):
        model, tokenizer = lm.load(package())
        self.assertEqual(tokenizer.apply_chat_template(QUESTION, add_generation_prompt=True), self.prompt)
        self.assertTrue(lm.generate(model, tokenizer, self.prompt, max_tokens=5))

    def test_interrupts_leave_the_sequence_usable(self):
        cache = lm.make_prompt_cache(self.model)
        generation = self.model.generate(cache.sequence(), self.prompt, {"max_tokens": 100000})
        timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with self.assertRaises(KeyboardInterrupt):
            for _ in generation:
                pass
            # If the text has ended before, the wait ends as well.
            signal.pause()
        generation.close()
        timer.join()
        cache.sequence().reset()
        self.assertTrue(self.generate(max_tokens=3, prompt_cache=cache))

    def test_threads(self):
        wanted = self.generate(max_tokens=20)
        texts = []
        threads = [threading.Thread(target=lambda: texts.append(self.generate(max_tokens=20))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(texts, [wanted] * 4)

    def test_a_model_is_called_for_logits(self):
        import numpy as np
        tokens = self.model.encode("Once upon a time")
        logits = self.model(np.array([tokens]))
        self.assertEqual(logits.shape, (1, len(tokens), self.model.vocab_size))
        losses = [np.log(np.exp(row).sum()) - row[token] for row, token in zip(logits[0], tokens[1:])]
        np.testing.assert_allclose(losses, self.model.losses(tokens), atol=1e-4)
        cache = lm.make_prompt_cache(self.model)
        self.model([tokens[:2]], cache)
        np.testing.assert_allclose(self.model([tokens[2:]], cache=[cache])[0], logits[0, 2:], atol=1e-4)
        self.assertEqual(cache.offset, len(tokens))
        self.assertEqual(self.model(np.array([tokens, tokens])).shape[0], 2)
        for wrong in ([[]], [tokens, tokens[:1]]):
            with self.assertRaisesRegex(ValueError, "one length"):
                self.model(wrong)
        with self.assertRaises(NotImplementedError):
            self.model([tokens, tokens], cache)

    def test_errors(self):
        with self.assertRaises(FileNotFoundError):
            lm.load("/nowhere/at/all")
        with self.assertRaisesRegex(ValueError, "top_p is 2"):
            self.generate(sampler=lm.make_sampler(top_p=2.0, temp=1.0))
        with self.assertRaisesRegex(ValueError, 'unknown option "warmth"'):
            self.model.generate(self.model.new_sequence(), self.prompt, {"warmth": 3})
        with self.assertRaisesRegex(ValueError, "temperature: 'hot' is of the wrong type"):
            self.model.generate(self.model.new_sequence(), self.prompt, {"temperature": "hot"})
        for name, value in (("kv_bits", 4), ("input_embeddings", [1.0])):
            with self.assertRaisesRegex(NotImplementedError, name):
                self.generate(**{name: value})
        with self.assertRaisesRegex(ValueError, "an answer has one form"):
            self.generate(regex="a", choices=["a"])
        for options in ({"model_config": {"a": 1}}, {"tokenizer_config": {"pad_token": "x"}}):
            with self.assertRaisesRegex(NotImplementedError, next(iter(options))):
                lm.load("demo", **options)
        with self.assertRaisesRegex(FileNotFoundError, "/nowhere/at/all: there is no such adapter"):
            lm.load("demo", adapter_path="/nowhere/at/all")
        with self.assertRaises(MemoryError):
            self.generate([259] * 600)
        other, _ = lm.load("demo")
        with self.assertRaisesRegex(ValueError, "another model"):
            self.generate(prompt_cache=lm.make_prompt_cache(other))
        with self.assertRaises(ValueError):
            self.model.encode_chat([{"content": "x"}])
        with self.assertRaisesRegex(TypeError, "sampler: a int is not a function"):
            self.generate(sampler=3)

    def test_import_is_quick_and_quiet(self):
        ended = subprocess.run([sys.executable, "-c", "import pippin, pippin.lm, sys; print('numpy' in sys.modules)"],
                               capture_output=True, text=True, check=True)
        self.assertEqual((ended.stdout, ended.stderr), ("False\n", ""))


if __name__ == "__main__":
    unittest.main()
