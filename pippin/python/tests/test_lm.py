"""pippin.lm: texts from Python."""

import doctest
import json
import os
import signal
import subprocess
import sys
import threading
import unittest

import pippin
from fixtures import PROGRAM, folder, package
from pippin import lm

QUESTION = [{"role": "user", "content": "Tell me a story about a fox called Mia."}]


class Texts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model, cls.tokenizer = lm.load("demo", num_threads=2)
        cls.prompt = cls.tokenizer.apply_chat_template(QUESTION)

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
        last = [one.token for one in begin if one.token >= 0][-1]
        rest = self.generate([last], max_tokens=12, prompt_cache=cache)
        self.assertEqual("".join(one.text for one in begin) + rest, whole)
        file = folder() / "cache.bin"
        lm.save_prompt_cache(file, cache)
        loaded = lm.load_prompt_cache(file, self.model)
        self.assertEqual(loaded.tokens, cache.tokens)
        self.assertTrue(lm.can_trim_prompt_cache(cache))
        self.assertEqual(lm.trim_prompt_cache(cache, 5), 5)
        self.assertEqual(cache.position, loaded.position - 5)
        self.assertEqual(cache.fork().tokens, cache.tokens)

    def test_leaving_a_loop_ends_the_text(self):
        cache = lm.make_prompt_cache(self.model)
        for response in lm.stream_generate(self.model, self.tokenizer, self.prompt, max_tokens=400,
                                           prompt_cache=cache):
            if response.generation_tokens == 3:
                break
        position = cache.position
        self.assertLess(position, len(self.prompt) + 20)
        self.assertTrue(self.generate([259], max_tokens=3, prompt_cache=cache))

    def test_packages_are_models_too(self):
        model, tokenizer = lm.load(package())
        self.assertEqual(tokenizer.apply_chat_template(QUESTION), self.prompt)
        self.assertTrue(lm.generate(model, tokenizer, self.prompt, max_tokens=5))

    def test_interrupts_leave_the_sequence_usable(self):
        cache = lm.make_prompt_cache(self.model)
        generation = self.model.generate(cache, self.prompt, {"max_tokens": 100000})
        timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with self.assertRaises(KeyboardInterrupt):
            for _ in generation:
                pass
            # The text may have ended before: then the wait does.
            signal.pause()
        generation.close()
        timer.join()
        cache.reset()
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

    def test_errors(self):
        with self.assertRaises(FileNotFoundError):
            lm.load("/nowhere/at/all")
        with self.assertRaisesRegex(ValueError, "top-p is 2"):
            self.generate(sampler=lm.make_sampler(top_p=2.0, temp=1.0))
        with self.assertRaisesRegex(ValueError, 'there is no option "warmth"'):
            self.generate(sampler={"warmth": 3})
        with self.assertRaisesRegex(ValueError, "temperature: 'hot' is of the wrong type"):
            self.generate(sampler={"temperature": "hot"})
        with self.assertRaises(MemoryError):
            self.generate([259] * 600)
        other, _ = lm.load("demo")
        with self.assertRaisesRegex(ValueError, "another model"):
            self.generate(prompt_cache=lm.make_prompt_cache(other))
        with self.assertRaises(ValueError):
            self.model.encode_chat([{"content": "x"}])
        with self.assertRaises(TypeError):
            self.generate(sampler=len)

    def test_the_documentation(self):
        for module in (pippin, lm):
            self.assertEqual(doctest.testmod(module).failed, 0)

    def test_import_is_quick_and_quiet(self):
        ended = subprocess.run([sys.executable, "-c", "import pippin, pippin.lm, sys; print('numpy' in sys.modules)"],
                               capture_output=True, text=True, check=True)
        self.assertEqual((ended.stdout, ended.stderr), ("False\n", ""))


if __name__ == "__main__":
    unittest.main()
