"""Writes a tiny wav2vec 2.0 model with random weights, and tokenizers for models with random weights."""

import json

import numpy as np

from whisper_folder import write_safetensors

WIDTH, HEADS, INNER, LAYERS = 16, 2, 24, 2
CONVOLUTIONS = ((8, 10, 5), (8, 8, 8), (8, 8, 8))  # features, kernel, stride: 320 samples per frame
LETTERS = {token: i for i, token in enumerate(["<pad>", "<s>", "</s>", "<unk>", "|", *"ABCDEFGHIJKLMNOPQRSTUVWXYZ'"])}
SPECIAL = {0, 1, 2, 3}


def letter_text(token):
    return {"|": " "}.get(list(LETTERS)[token], list(LETTERS)[token])


def write_letters(folder, **settings):
    (folder / "vocab.json").write_text(json.dumps(LETTERS))
    (folder / "tokenizer_config.json").write_text(json.dumps(
        {"tokenizer_class": "Wav2Vec2CTCTokenizer", "pad_token": "<pad>", "word_delimiter_token": "|", **settings}))


def piece(token):
    return ("▁" if token % 3 == 0 else "") + chr(ord("a") + token % 26) + chr(ord("a") + token // 26)


def write_pieces(folder, count, special=()):
    """A tokenizer of pieces of words, of which each third begins one."""
    metaspace = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    added = [{"id": i, "content": piece(i), "single_word": False, "lstrip": False, "rstrip": False,
              "normalized": False, "special": True} for i in special]
    (folder / "tokenizer.json").write_text(json.dumps({
        "version": "1.0", "added_tokens": added, "pre_tokenizer": metaspace, "decoder": metaspace,
        "model": {"type": "BPE", "vocab": {piece(i): i for i in range(count)}, "merges": []}}))


def make_weights(random):
    weights = {}

    def add(name, *shape, scale=1.0):
        fan = int(np.prod(shape[1:])) if len(shape) > 1 else 1
        weights[name] = (random.normal(size=shape) * scale / np.sqrt(fan)).astype(np.float32)

    def norm(name, width):
        weights[name + ".weight"] = (1 + 0.1 * random.normal(size=width)).astype(np.float32)
        add(name + ".bias", width, scale=0.1)

    def linear(name, outputs, inputs, scale=1.0):
        add(name + ".weight", outputs, inputs, scale=scale)
        add(name + ".bias", outputs, scale=0.1)

    width = 1
    for i, (features, kernel, _) in enumerate(CONVOLUTIONS):
        add(f"wav2vec2.feature_extractor.conv_layers.{i}.conv.weight", features, width, kernel, scale=2.0)
        width = features
    norm("wav2vec2.feature_extractor.conv_layers.0.layer_norm", CONVOLUTIONS[0][0])
    norm("wav2vec2.feature_projection.layer_norm", width)
    linear("wav2vec2.feature_projection.projection", WIDTH, width, scale=2.0)
    convolution = "wav2vec2.encoder.pos_conv_embed.conv"
    add(convolution + ".bias", WIDTH, scale=0.1)
    weights[convolution + ".parametrizations.weight.original0"] = np.full((1, 1, 8), 0.5, np.float32)
    add(convolution + ".parametrizations.weight.original1", WIDTH, WIDTH // 2, 8)
    norm("wav2vec2.encoder.layer_norm", WIDTH)
    for layer in range(LAYERS):
        name = f"wav2vec2.encoder.layers.{layer}"
        for part in ("q_proj", "k_proj", "v_proj", "out_proj"):
            linear(f"{name}.attention.{part}", WIDTH, WIDTH)
        norm(name + ".layer_norm", WIDTH)
        linear(name + ".feed_forward.intermediate_dense", INNER, WIDTH)
        linear(name + ".feed_forward.output_dense", WIDTH, INNER)
        norm(name + ".final_layer_norm", WIDTH)
    linear("lm_head", len(LETTERS), WIDTH, scale=3.0)
    weights["lm_head.bias"][[LETTERS["<pad>"], LETTERS["|"]]] += 3.5  # as often as in speech, nearly
    return weights


def write_folder(folder, seed):
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({
        "model_type": "wav2vec2", "architectures": ["Wav2Vec2ForCTC"], "vocab_size": len(LETTERS), "pad_token_id": 0,
        "hidden_size": WIDTH, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "intermediate_size": INNER,
        "conv_dim": [c[0] for c in CONVOLUTIONS], "conv_kernel": [c[1] for c in CONVOLUTIONS],
        "conv_stride": [c[2] for c in CONVOLUTIONS], "num_conv_pos_embeddings": 8,
        "num_conv_pos_embedding_groups": 2}))
    (folder / "preprocessor_config.json").write_text(json.dumps({
        "feature_extractor_type": "Wav2Vec2FeatureExtractor", "feature_size": 1, "sampling_rate": 16000,
        "padding_value": 0.0, "do_normalize": True, "return_attention_mask": False}))
    write_letters(folder)
    write_safetensors(folder / "model.safetensors", make_weights(np.random.default_rng(seed)))


def window_length(rest, most, rate=16000):
    """The rule of windows (docs/speech.md)."""
    if len(rest) <= most:
        return len(rest)
    begin, end, step = most - most // 3, min(most, len(rest) - min(rate, most // 4)), rate // 100
    count = (end - begin) // step
    if count < 10:
        return end
    steps = (rest[begin : begin + count * step].astype(np.float64) ** 2).reshape(count, step).sum(1)
    sums = np.array([steps[i : i + 10].sum() for i in range(count - 9)])
    return begin + (np.flatnonzero(sums == sums.min())[-1] + 5) * step


def greedy(logits, blank):
    """CTC: the tokens of rows of logits, as (id, first frame, last frame, probability)."""
    tokens, last = [], blank
    shifted = np.exp(logits - logits.max(-1, keepdims=True))
    probabilities = shifted.max(-1) / shifted.sum(-1)
    for frame, (best, probability) in enumerate(zip(logits.argmax(-1).tolist(), probabilities.tolist())):
        if best == last and best != blank:
            _, begin, _, before = tokens[-1]
            tokens[-1] = best, begin, frame, max(before, probability)
        elif best != blank:
            tokens.append((best, frame, frame, probability))
        last = best
    return tokens


def letter_words(tokens, offset, frame):
    """The words of letters, as (text, start, end) in seconds of the recording."""
    words, begins = [], True
    for token, first, last, _ in tokens:
        if letter_text(token) == " ":
            begins = True
            continue
        start, end = offset + first * frame, offset + (last + 1) * frame
        if begins:
            words.append(("", start, end))
        text, start, _ = words.pop()
        words.append((text + letter_text(token), start, end))
        begins = False
    return words


def join_words(left, right, begin, end):
    """The rule of windows that overlap (docs/speech.md)."""
    def after(words, time):
        return next((i for i, (_, start, stop) in enumerate(words) if (start + stop) / 2 >= time), len(words))

    def agree(i, k):
        return left[i][0] == right[k][0] and abs(left[i][1] - right[k][1]) <= (end - begin) / 4

    middle, first, last = (begin + end) / 2, after(left, begin), after(right, end)
    runs = [(-n, i, k) for i in range(first, len(left)) for k in range(last)
            for n in range(1, min(i + 1 - first, k + 1) + 1) if all(agree(i - j, k - j) for j in range(n))]
    if runs:
        n, i, k = min(runs)
        cut = min(max(after(left, middle), i + 1 + n), i + 1)
        return left[:cut] + right[k + 1 - (i + 1 - cut) :]
    stop, start = left[-1][2] if left else begin, right[0][1] if right else end
    cut = stop if stop <= start else min(max(middle, start), stop)
    return left[: after(left, cut)] + right[after(right, cut) :]
