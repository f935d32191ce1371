"""pippin.TextEncoder on golden models, with a tokenizer whose words are ids."""

import json
import shutil
import tempfile
import unittest
from pathlib import Path

try:
    import numpy as np
except ImportError:
    raise unittest.SkipTest("NumPy is not installed") from None
import pippin
import fixtures  # noqa: F401
from testing import shared_data


def word_tokenizer(folder):
    text = {"Sequence": {"id": "A", "type_id": 0}}
    pair = [text, {"Sequence": {"id": "B", "type_id": 1}}]
    tokenizer = {
        "version": "1.0",
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": {"type": "TemplateProcessing", "special_tokens": {}, "single": [text],
                           "pair": pair},
        "model": {"type": "WordLevel", "unk_token": "w0", "vocab": {f"w{i}": i for i in range(160)}},
    }
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")


class TextEncoders(unittest.TestCase):
    def golden(self, name):
        source = shared_data(f"architectures2/{name}")
        folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder)
        shutil.copytree(source, folder / name)
        word_tokenizer(folder / name)
        return folder / name, np.load(source / "golden.npz")

    @staticmethod
    def words(ids):
        return " ".join(f"w{id}" for id in ids)

    def test_embeds(self):
        folder, golden = self.golden("bert_mean")
        encoder = pippin.TextEncoder(folder)
        rows = zip(golden["input_ids"], golden["attention_mask"])
        texts = [self.words(ids[mask == 1]) for ids, mask in rows]
        vectors = encoder.embed(texts)
        self.assertEqual(vectors.dtype, np.float32)
        np.testing.assert_allclose(vectors, golden["sentence_embedding"], atol=1e-5)
        self.assertEqual(encoder.max_tokens, 64)
        self.assertEqual(encoder.prompt_names, ["document", "query"])
        self.assertFalse(encoder.is_cross_encoder)
        self.assertEqual(encoder.embed(texts, dimensions=8).shape, (3, 8))
        np.testing.assert_array_equal(encoder.embed(["w3"], prompt="w1 w2 "), encoder.embed(["w1 w2 w3"]))
        with self.assertRaises(pippin.InvalidArgumentError):
            encoder.embed([])
        with self.assertRaises(pippin.InvalidArgumentError):
            encoder.embed(["w1"], prompt_name="no such prompt")

    def test_scores(self):
        folder, golden = self.golden("bert_cross")
        encoder = pippin.TextEncoder(folder)
        self.assertTrue(encoder.is_cross_encoder)
        for row in range(3):
            ids, types = golden["input_ids"][row], golden["token_type_ids"][row]
            used = golden["attention_mask"][row] == 1
            query, document = self.words(ids[used & (types == 0)]), self.words(ids[used & (types == 1)])
            score = encoder.score(query, [document])
            self.assertAlmostEqual(score[0], float(golden["scores"][row].item()), places=5)
        with self.assertRaises(pippin.UnsupportedError):
            encoder.embed(["w1"])


if __name__ == "__main__":
    unittest.main()
