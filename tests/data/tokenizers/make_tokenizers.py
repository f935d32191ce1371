#!/usr/bin/env python3
"""Trains the tokenizers of tests/data/tokenizers.tar.xz: small ones, with every kind of pipeline, on the documents of
this repository and the strings of the vectors.

    make_tokenizers.py STRINGS.json OUT    OUT/NAME/tokenizer.json ...; needs the sentencepiece module

make_vectors.mjs then computes their ids with Hugging Face's library.
"""

import base64
import collections
import json
import re
import shutil
import struct
import sys
import tempfile
import unicodedata
from pathlib import Path

import sentencepiece

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "models-src"))
from tokenizer import LETTER_OF, train  # noqa: E402

ENGLISH = r"'s|'t|'re|'ve|'m|'ll|'d"
GROUPS = (rf"(?i:{ENGLISH})|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|\s*[\r\n]+|"
          r"\s+(?!\S)|\s+")
SINGLE = GROUPS.replace("{1,3}", "")
CALLS = {
    "marked": ("{% for t in tools or [] %}{{ t | tojson }}\n{% endfor %}"
               "{% for m in messages %}<|start|>{{ m.role }}\n{{ m.content }}"
               "{% for c in m.tool_calls or [] %}{{ '\\n' }}<call>\n"
               '{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}\n</call>{% endfor %}'
               "<|end|>\n{% endfor %}{% if add_generation_prompt %}<|start|>assistant\n{% endif %}"),
    "listed": ("{{ bos_token }}{% for t in tools or [] %}[TOOL]{{ t | tojson }}{% endfor %}"
               "{% for m in messages %}{% if m.role == 'user' %}[ASK]{{ m.content }}[/ASK]{% else %}"
               "{{ m.content }}{% if m.tool_calls %}[CALLS][{% for c in m.tool_calls %}"
               '{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}, "id": "{{ c.id }}"}'
               "{{ '' if loop.last else ', ' }}{% endfor %}]{% endif %}{{ eos_token }}{% endif %}{% endfor %}"),
}


def texts(strings):
    files = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    return [file.read_text(encoding="utf-8") for file in files] + strings


def added(id, content, special=True, **options):
    return {"id": id, "content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
            "special": special, **options}


def template(tokens, pair=True):
    """A post-processor that adds tokens (name, id) around the text, which is None."""
    parts = [{"Sequence": {"id": "A", "type_id": 0}} if token is None else {"SpecialToken": {"id": token[0], "type_id": 0}}
             for token in tokens]
    specials = {name: {"id": name, "ids": [id], "tokens": [name]} for name, id in filter(None, tokens)}
    second = [{"Sequence": {"id": "B", "type_id": 1}}]
    return {"type": "TemplateProcessing", "single": parts, "pair": parts + second, "special_tokens": specials}


def byte_level(use_regex, **options):
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": use_regex, **options}


def split(pattern):
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


def sequence(key, *parts):
    return {"type": "Sequence", key: list(parts)}


def bpe(vocab, merges, **options):
    return {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
            "fuse_unk": False, "byte_fallback": False, "ignore_merges": False, **options, "vocab": vocab, "merges": merges}


def file(model, added_tokens, normalizer=None, pre=None, post=None, decoder=None):
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added_tokens, "normalizer": normalizer,
            "pre_tokenizer": pre, "post_processor": post, "decoder": decoder, "model": model}


def byte_tokenizers(corpus):
    merges = train(corpus, 1100)
    tokens = list(dict.fromkeys([*sorted(LETTER_OF.values(), key=ord), *(a + b for a, b in merges)]))
    joined = [" ".join(pair) for pair in merges]

    def vocab(before=(), after=()):
        return {token: id for id, token in enumerate([*before, *tokens, *after])}

    count = len(tokens)
    yield "bytes", file(bpe(vocab(after=["<|endoftext|>"]), joined), [added(count, "<|endoftext|>", normalized=True)],
                        pre=byte_level(True), post=byte_level(True), decoder=byte_level(True)), {}
    names = ["<|endoftext|>", "<|start|>", "<|end|>"]
    others = [added(count + 3, "<call>", False), added(count + 4, "</call>", False), added(count + 5, "lone", False, single_word=True),
              added(count + 6, "<mask>", lstrip=True), added(count + 7, "<tail>", rstrip=True)]
    yield "single-digits", file(
        bpe(vocab(), [list(pair) for pair in merges]), [added(count + i, name) for i, name in enumerate(names)] + others,
        normalizer={"type": "NFC"}, pre=sequence("pretokenizers", split(SINGLE), byte_level(False)), post=byte_level(False),
        decoder=byte_level(False)), {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": None, "eos_token": "<|end|>",
                                     "pad_token": "<|endoftext|>", "chat_template": CALLS["marked"]}
    # Tokens that no merge produces.
    whole = ["Ġthereabouts", "Hello", "Ġworld"]
    whole = [token for token in whole if token not in tokens]
    begin = ("<|begin|>", count + len(whole))
    yield "whole-words", file(
        bpe(vocab(after=whole), joined, ignore_merges=True), [added(begin[1], begin[0]), added(begin[1] + 1, "<|end|>")],
        pre=sequence("pretokenizers", split(GROUPS), byte_level(False)),
        post=sequence("processors", byte_level(True), template([begin, None])), decoder=byte_level(True)), {}
    yield "digit-groups", file(
        bpe(vocab(before=[">>TITLE<<", "<|endoftext|>"]), joined), [added(0, ">>TITLE<<"), added(1, "<|endoftext|>")],
        pre=sequence("pretokenizers", {"type": "Punctuation", "behavior": "Contiguous"}, byte_level(True),
                     {"type": "Digits", "individual_digits": False}, split("[0-9][0-9][0-9]")),
        decoder=byte_level(True)), {}


def fields(data):
    """(number, value) of the fields of a protobuf message: bytes, integers and floats."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
            continue
        size = {2: varint, 5: lambda: 4, 1: lambda: 8}[key & 7]()
        value, at = data[at:at + size], at + size
        yield key >> 3, struct.unpack("<f", value)[0] if key & 7 == 5 else value


def normalizer_rules(corpus):
    """The NFKC form of the characters of the texts and of some blocks, in SentencePiece's format; controls are
    removed."""
    characters = set("".join(corpus)) | set(map(chr, [*range(0xA0, 0x180), *range(0xFB00, 0xFB07), *range(0xFF01, 0xFFEF)]))
    lines = []
    for character in sorted(characters - {"\0"}):
        becomes = unicodedata.normalize("NFKC", character)
        if character in "\t\n\r":
            becomes = " "
        elif unicodedata.category(character) == "Cc":
            becomes = ""
        if becomes != character:
            lines.append(" ".join(f"{ord(c):X}" for c in character) + "\t" + " ".join(f"{ord(c):X}" for c in becomes))
    return "\n".join(lines) + "\n"


def sentencepiece_model(corpus, **options):
    """(pieces with scores, charsmap, bytes) of a trained model."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        lines = [line for text in corpus for line in text.splitlines() if line.strip()]
        (path / "text").write_text("\n".join(lines), encoding="utf-8")
        if options.get("normalization_rule_name") is None:
            (path / "rules.tsv").write_text(normalizer_rules(corpus), encoding="utf-8")
            options["normalization_rule_tsv"] = str(path / "rules.tsv")
        sentencepiece.SentencePieceTrainer.train(
            input=str(path / "text"), model_prefix=str(path / "m"), minloglevel=2, num_threads=1,
            max_sentence_length=10000, **options)
        data = (path / "m.model").read_bytes()
    pieces, charsmap = [], b""
    for number, value in fields(data):
        if number == 1:
            piece = dict(fields(value))
            pieces.append((piece[1].decode(), piece.get(2, 0.0)))
        elif number == 3:
            charsmap = dict(fields(value)).get(2, b"")
    return pieces, charsmap, data


def merges_of(pieces):
    """Merges of two pieces into one, most likely first."""
    ids = {piece: id for id, (piece, _) in enumerate(pieces)}
    found = []
    for piece, score in pieces:
        halves = [(piece[:i], piece[i:]) for i in range(1, len(piece)) if piece[:i] in ids and piece[i:] in ids]
        found += [(score, *pair) for pair in sorted(halves, key=lambda pair: (ids[pair[0]], ids[pair[1]]))]
    found.sort(key=lambda merge: -merge[0])
    return [[left, right] for _, left, right in found]


UNDERSCORE = "\u2581"


def metaspace_decoder():
    return sequence("decoders", {"type": "Replace", "pattern": {"String": UNDERSCORE}, "content": " "}, {"type": "ByteFallback"},
                    {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0})


def sentencepiece_tokenizers(corpus):
    llama = {"model_type": "bpe", "vocab_size": 1000, "byte_fallback": True, "split_digits": True, "character_coverage": 0.99,
             "normalization_rule_name": "identity", "remove_extra_whitespaces": False, "allow_whitespace_only_pieces": True}
    for name, marks in (("metaspace", []), ("metaspace-first", ["[ASK]", "[/ASK]", "[CALLS]", "[TOOL]"])):
        pieces, _, data = sentencepiece_model(corpus, **llama, control_symbols=",".join(marks))
        ids = {piece: id for id, (piece, _) in enumerate(pieces)}
        specials = [added(ids[token], token) for token in ["<unk>", "<s>", "</s>", *marks]]
        first = name == "metaspace-first"
        prepend = sequence("normalizers", {"type": "Prepend", "prepend": UNDERSCORE},
                           {"type": "Replace", "pattern": {"String": " "}, "content": UNDERSCORE})
        pre = {"type": "Metaspace", "replacement": UNDERSCORE, "prepend_scheme": "first", "split": False}
        content = file(bpe(ids, merges_of(pieces), unk_token="<unk>", fuse_unk=True, byte_fallback=True), specials,
                       normalizer=None if first else prepend, pre=pre if first else None,
                       post=template([("<s>", ids["<s>"]), None]), decoder=metaspace_decoder())
        config = {"tokenizer_class": "LlamaTokenizer", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>",
                  "add_bos_token": True, "add_eos_token": False, "legacy": not first}
        if first:
            config["chat_template"] = CALLS["listed"]
        yield name, content, config, data

    pieces, charsmap, _ = sentencepiece_model(corpus, model_type="unigram", vocab_size=1000, pad_id=0, eos_id=1, unk_id=2,
                                                 bos_id=-1, character_coverage=0.99)
    model = {"type": "Unigram", "unk_id": 2, "vocab": [list(piece) for piece in pieces], "byte_fallback": False}
    metaspace = {"type": "Metaspace", "replacement": UNDERSCORE, "prepend_scheme": "always", "split": True}
    extra = [added(len(pieces) + i, f"<extra_{i}>") for i in range(3)]
    content = file(model, [added(i, name) for i, name in enumerate(["<pad>", "</s>", "<unk>"])] + extra,
                   normalizer=sequence("normalizers",
                                       {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap).decode()},
                                       {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}),
                   pre=metaspace, post=template([None, ("</s>", 1)]), decoder=metaspace)
    yield "unigram", content, {"tokenizer_class": "T5Tokenizer", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}


def wordpiece(corpus):
    counts = collections.Counter(re.findall(r"[a-z0-9]+", "\n".join(corpus).lower()))
    pieces = collections.Counter()
    for word, count in counts.items():
        for size in range(2, min(6, len(word))):
            pieces["##" + word[-size:]] += count * size
            pieces[word[:size]] += count * size
    letters = sorted({c for text in corpus for c in unicodedata.normalize("NFD", text.lower())
                      if not c.isspace() and unicodedata.category(c)[0] not in "CM"})
    words = [word for word, _ in counts.most_common(400) if len(word) > 1]
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *("##" + c for c in letters if c.isalnum()), *words,
              *(piece for piece, _ in pieces.most_common(400))]
    vocab = {token: id for id, token in enumerate(dict.fromkeys(tokens))}
    model = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
             "vocab": vocab}
    normalizer = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None,
                  "lowercase": True}
    content = file(model, [added(i, token) for i, token in enumerate(tokens[:5])], normalizer=normalizer,
                   pre={"type": "BertPreTokenizer"}, post=template([("[CLS]", 2), None, ("[SEP]", 3)]),
                   decoder={"type": "WordPiece", "prefix": "##", "cleanup": True})
    return "wordpiece", content, {"tokenizer_class": "BertTokenizer", "do_lower_case": True}


def main(strings, out):
    corpus = texts(json.loads(Path(strings).read_text(encoding="utf-8")))
    for name, content, config, *model in [*byte_tokenizers(corpus), *sentencepiece_tokenizers(corpus), wordpiece(corpus)]:
        folder = Path(out) / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "tokenizer.json").write_text(json.dumps(content, ensure_ascii=False, indent=1), encoding="utf-8")
        if config:
            (folder / "tokenizer_config.json").write_text(json.dumps(config, ensure_ascii=False, indent=1), encoding="utf-8")
        if model:
            (folder / "tokenizer.model").write_bytes(model[0])


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    main(*sys.argv[1:])
