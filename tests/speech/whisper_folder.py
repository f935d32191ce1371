"""Writes a tiny Whisper model with random weights, and recordings.

    whisper_folder.py FOLDER      writes FOLDER/model and FOLDER/talk.wav, of 9 s
"""

import json
import struct
import sys
import wave
from pathlib import Path

import numpy as np

SPECIAL = ["<|endoftext|>", "<|startoftranscript|>", "<|en|>", "<|de|>", "<|zh|>", "<|translate|>", "<|transcribe|>",
           "<|startoflm|>", "<|startofprev|>", "<|nospeech|>", "<|notimestamps|>"]
POSITIONS = 200  # of a window of 4 s
WIDTH, LAYERS, HEADS, INNER, BINS, CONTEXT = 32, 2, 4, 64, 80, 64


def byte_characters():
    """The characters that stand for bytes in byte-level vocabularies."""
    own = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    return [chr(byte if byte in own else next(others)) for byte in range(256)]


def special_tokens():
    times = [f"<|{i * 0.02:.2f}|>" for i in range(POSITIONS + 1)]
    return {token: 256 + i for i, token in enumerate(SPECIAL + times)}


def sinusoids():
    half = WIDTH // 2
    angles = np.arange(POSITIONS)[:, None] * np.exp(-np.log(10000) / (half - 1) * np.arange(half))[None, :]
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1)


def make_weights(random, vocab_size):
    weights = {}

    def add(name, *shape, scale=1.0):
        fan = int(np.prod(shape[1:])) if len(shape) > 1 else 1
        weights[name] = random.normal(size=shape) * scale / np.sqrt(fan)

    def norm(name):
        weights[name + ".weight"] = 1 + 0.1 * random.normal(size=WIDTH)
        add(name + ".bias", WIDTH, scale=0.1)

    def linear(name, outputs, inputs, bias=True, scale=1.0):
        add(name + ".weight", outputs, inputs, scale=scale)
        if bias:
            add(name + ".bias", outputs, scale=0.1)

    def attention(name):
        for part in ("q_proj", "k_proj", "v_proj", "out_proj"):
            linear(f"{name}.{part}", WIDTH, WIDTH, bias=part != "k_proj", scale=2.0)

    add("model.encoder.conv1.weight", WIDTH, BINS, 3, scale=2.0)
    add("model.encoder.conv1.bias", WIDTH, scale=0.1)
    add("model.encoder.conv2.weight", WIDTH, WIDTH, 3, scale=2.0)
    add("model.encoder.conv2.bias", WIDTH, scale=0.1)
    weights["model.encoder.embed_positions.weight"] = sinusoids()
    add("model.decoder.embed_tokens.weight", vocab_size, WIDTH, scale=3.0)
    weights["model.decoder.embed_positions.weight"] = random.normal(size=(CONTEXT, WIDTH))
    for side in ("encoder", "decoder"):
        for layer in range(LAYERS):
            name = f"model.{side}.layers.{layer}"
            attention(name + ".self_attn")
            norm(name + ".self_attn_layer_norm")
            if side == "decoder":
                attention(name + ".encoder_attn")
                norm(name + ".encoder_attn_layer_norm")
            linear(name + ".fc1", INNER, WIDTH)
            linear(name + ".fc2", WIDTH, INNER)
            norm(name + ".final_layer_norm")
        norm(f"model.{side}.layer_norm")
    return {name: values.astype(np.float32) for name, values in weights.items()}


def write_safetensors(path, tensors):
    header, offset = {}, 0
    for name, tensor in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [offset, offset + tensor.nbytes]}
        offset += tensor.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(t.tobytes() for t in tensors.values()))


def write_tokenizer(path):
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    added = [{"id": i, "content": token, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
              "special": True} for token, i in special_tokens().items()]
    vocabulary = {character: byte for byte, character in enumerate(byte_characters())}
    path.write_text(json.dumps({
        "version": "1.0", "added_tokens": added, "pre_tokenizer": level, "decoder": level,
        "model": {"type": "BPE", "vocab": vocabulary, "merges": []}}), encoding="utf-8")


def write_folder(folder, seed, multilingual=True):
    """Writes a model's folder and returns its weights."""
    special = special_tokens()
    vocab_size = 256 + len(special)
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({
        "model_type": "whisper", "architectures": ["WhisperForConditionalGeneration"], "vocab_size": vocab_size,
        "num_mel_bins": BINS, "d_model": WIDTH, "encoder_layers": LAYERS, "decoder_layers": LAYERS,
        "encoder_attention_heads": HEADS, "decoder_attention_heads": HEADS, "encoder_ffn_dim": INNER,
        "decoder_ffn_dim": INNER, "max_source_positions": POSITIONS, "max_target_positions": CONTEXT,
        "activation_function": "gelu", "is_encoder_decoder": True, "scale_embedding": False,
        "decoder_start_token_id": special["<|startoftranscript|>"], "eos_token_id": special["<|endoftext|>"],
        "bos_token_id": special["<|endoftext|>"], "pad_token_id": special["<|endoftext|>"]}))
    # Control characters and bytes that are not ASCII are not written, so texts are readable.
    suppressed = [*range(32), *range(127, 256)]
    generation = {"is_multilingual": multilingual, "suppress_tokens": suppressed, "alignment_heads": [[0, 1], [1, 2]],
                  "begin_suppress_tokens": [32, special["<|endoftext|>"]],
                  "no_timestamps_token_id": special["<|notimestamps|>"]}
    if multilingual:
        generation["lang_to_id"] = {token: special[token] for token in ("<|en|>", "<|de|>", "<|zh|>")}
        generation["task_to_id"] = {"transcribe": special["<|transcribe|>"], "translate": special["<|translate|>"]}
    (folder / "generation_config.json").write_text(json.dumps(generation))
    (folder / "preprocessor_config.json").write_text(json.dumps({
        "feature_extractor_type": "WhisperFeatureExtractor", "feature_size": BINS, "chunk_length": POSITIONS // 50,
        "hop_length": 160, "n_fft": 400, "sampling_rate": 16000}))
    write_tokenizer(folder / "tokenizer.json")
    weights = make_weights(np.random.default_rng(seed), vocab_size)
    write_safetensors(folder / "model.safetensors", weights)
    return weights


def make_samples(seconds, seed):
    """Tones that rise, fall and pause, as 16-bit samples at 16 kHz."""
    random = np.random.default_rng(seed)
    time = np.arange(int(seconds * 16000)) / 16000
    sound = 0.01 * random.normal(size=time.shape)
    for _ in range(6):
        start, pitch, slope = random.uniform(0, seconds), random.uniform(100, 2000), random.uniform(-300, 300)
        envelope = np.exp(-(((time - start) / 0.4) ** 2))
        sound += 0.3 * envelope * np.sin(2 * np.pi * (pitch + slope * (time - start)) * time)
    return np.clip(np.round(sound * 20000), -32768, 32767).astype("<i2")


def write_wav(path, samples):
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(16000)
        file.writeframes(samples.tobytes())


if __name__ == "__main__":
    write_folder(Path(sys.argv[1]) / "model", 1)
    write_wav(Path(sys.argv[1]) / "talk.wav", make_samples(9, 1))
