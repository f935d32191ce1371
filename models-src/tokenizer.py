"""A byte-level BPE tokenizer: training, encoding, decoding and the tokenizer.json format."""

import json
import re
from collections import Counter, defaultdict

from template import SPECIAL

# The split of Hugging Face's ByteLevel pre-tokenizer, with the closest classes in Python for \p{L} and \p{N}.
SPLIT = re.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+")
SPECIAL_SPLIT = re.compile("(" + "|".join(map(re.escape, SPECIAL)) + ")")


def byte_letters():
    """A printable letter for each byte: itself if printable, else one from U+0100 up."""
    letters, shift = {}, 0
    for byte in range(256):
        if 33 <= byte <= 126 or 161 <= byte <= 172 or 174 <= byte <= 255:
            letters[byte] = chr(byte)
        else:
            letters[byte] = chr(256 + shift)
            shift += 1
    return letters


LETTER_OF = byte_letters()
BYTE_OF = {letter: byte for byte, letter in LETTER_OF.items()}


def letters(text):
    return "".join(LETTER_OF[byte] for byte in text.encode())


def merged(word, pair):
    out, i = [], 0
    while i < len(word):
        if i + 1 < len(word) and (word[i], word[i + 1]) == pair:
            out.append(word[i] + word[i + 1])
            i += 2
        else:
            out.append(word[i])
            i += 1
    return tuple(out)


def train(texts, vocab_size):
    """The merges learnt from the texts, for a vocabulary of that total size."""
    counts = Counter(letters(piece) for text in texts for part in SPECIAL_SPLIT.split(text)
                     if part not in SPECIAL for piece in SPLIT.findall(part))
    words = [tuple(word) for word in counts]
    weights = list(counts.values())
    pairs, where = Counter(), defaultdict(set)
    for index, word in enumerate(words):
        for pair in zip(word, word[1:]):
            pairs[pair] += weights[index]
            where[pair].add(index)
    merges = []
    while len(merges) < vocab_size - len(SPECIAL) - 256:
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        merges.append(best)
        for index in sorted(where.pop(best)):
            old, new = words[index], merged(words[index], best)
            for pair in zip(old, old[1:]):
                pairs[pair] -= weights[index]
            for pair in zip(new, new[1:]):
                pairs[pair] += weights[index]
                where[pair].add(index)
            words[index] = new
        pairs = +pairs
    return merges


class Tokenizer:
    def __init__(self, merges):
        self.merges = [tuple(pair) for pair in merges]
        tokens = SPECIAL + sorted(LETTER_OF.values(), key=ord) + [a + b for a, b in self.merges]
        self.tokens = list(dict.fromkeys(tokens))
        self.ids = {token: index for index, token in enumerate(self.tokens)}
        self.rank = {pair: index for index, pair in enumerate(self.merges)}
        self.cache = {}

    def encode_piece(self, piece):
        ids = self.cache.get(piece)
        if ids is None:
            word = tuple(letters(piece))
            while len(word) > 1:
                best = min(zip(word, word[1:]), key=lambda pair: self.rank.get(pair, len(self.rank)))
                if best not in self.rank:
                    break
                word = merged(word, best)
            ids = self.cache[piece] = [self.ids[token] for token in word]
            if len(self.cache) > 100_000:
                self.cache.clear()
        return ids

    def encode(self, text):
        ids = []
        for part in SPECIAL_SPLIT.split(text):
            if part in SPECIAL:
                ids.append(self.ids[part])
            else:
                for piece in SPLIT.findall(part):
                    ids.extend(self.encode_piece(piece))
        return ids

    def decode(self, ids, skip_special=True):
        data = b""
        for index in ids:
            token = self.tokens[index]
            if token in SPECIAL:
                data += b"" if skip_special else token.encode()
            else:
                data += bytes(BYTE_OF[letter] for letter in token)
        return data.decode(errors="replace")

    def save(self, path):
        byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
        added = [{"id": index, "content": token, "single_word": False, "lstrip": False, "rstrip": False,
                  "normalized": False, "special": True} for index, token in enumerate(SPECIAL)]
        model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                 "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
                 "vocab": self.ids, "merges": [" ".join(pair) for pair in self.merges]}
        content = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None,
                   "pre_tokenizer": byte_level, "post_processor": byte_level, "decoder": byte_level, "model": model}
        path.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path):
        content = json.loads(path.read_text(encoding="utf-8"))
        tokenizer = cls(merge.split(" ") for merge in content["model"]["merges"])
        assert tokenizer.ids == content["model"]["vocab"]
        return tokenizer
