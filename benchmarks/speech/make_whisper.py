#!/usr/bin/env python3
"""Writes a Whisper model of random weights as a GGML file of whisper.cpp, in f16.

    make_whisper.py base|large-v3-turbo FILE.bin
"""

import struct
import sys

import numpy as np

SHAPES = {  # width, heads, encoder layers, decoder layers, bins, vocabulary
    "tiny": (384, 6, 4, 4, 80, 51865),
    "base": (512, 8, 6, 6, 80, 51865),
    "small": (768, 12, 12, 12, 80, 51865),
    "large-v3-turbo": (1280, 20, 32, 4, 128, 51866),
}
POSITIONS, CONTEXT, BINS = 1500, 448, 201


def mel_filters(count):
    """Slaney's filters, as transformers computes them."""
    def to_mel(hertz):
        return np.where(hertz < 1000, 3 * hertz / 200, 15 + 27 / np.log(6.4) * np.log(np.maximum(hertz, 1) / 1000))

    def to_hertz(mel):
        return np.where(mel < 15, 200 * mel / 3, 1000 * np.exp(np.log(6.4) / 27 * (mel - 15)))

    frequencies = np.linspace(0, 8000, BINS)
    edges = to_hertz(np.linspace(to_mel(np.float64(0)), to_mel(np.float64(8000)), count + 2))
    slopes = edges[:, None] - frequencies[None]
    rising = -slopes[:-2] / np.diff(edges)[:-1, None]
    falling = slopes[2:] / np.diff(edges)[1:, None]
    return np.maximum(0, np.minimum(rising, falling)) * (2 / (edges[2:] - edges[:-2]))[:, None]


def tensors(width, encoder, decoder, bins, vocabulary):
    """Names and shapes, as OpenAI's checkpoints have them."""
    yield "encoder.positional_embedding", (POSITIONS, width)
    yield "encoder.conv1.weight", (width, bins, 3)
    yield "encoder.conv1.bias", (width, 1)
    yield "encoder.conv2.weight", (width, width, 3)
    yield "encoder.conv2.bias", (width, 1)
    yield "decoder.positional_embedding", (CONTEXT, width)
    yield "decoder.token_embedding.weight", (vocabulary, width)
    for side, layers in ("encoder", encoder), ("decoder", decoder):
        for layer in range(layers):
            base = f"{side}.blocks.{layer}"
            for attention in ("attn", "cross_attn") if side == "decoder" else ("attn",):
                for part in "query", "key", "value", "out":
                    yield f"{base}.{attention}.{part}.weight", (width, width)
                    if part != "key":
                        yield f"{base}.{attention}.{part}.bias", (width,)
                yield f"{base}.{attention}_ln.weight", (width,)
                yield f"{base}.{attention}_ln.bias", (width,)
            yield f"{base}.mlp.0.weight", (4 * width, width)
            yield f"{base}.mlp.0.bias", (4 * width,)
            yield f"{base}.mlp.2.weight", (width, 4 * width)
            yield f"{base}.mlp.2.bias", (width,)
            yield f"{base}.mlp_ln.weight", (width,)
            yield f"{base}.mlp_ln.bias", (width,)
        norm = "ln_post" if side == "encoder" else "ln"
        yield f"{side}.{norm}.weight", (width,)
        yield f"{side}.{norm}.bias", (width,)


def tokens():
    """50,257 different texts: bytes, pairs of bytes, numbers."""
    yield from (bytes([byte]) for byte in range(256))
    yield from (b" %d" % i for i in range(50257 - 256))


def write(shape, file):
    width, heads, encoder, decoder, bins, vocabulary = SHAPES[shape]
    random = np.random.default_rng(1)
    file.write(struct.pack("<I11i", 0x67676D6C, vocabulary, POSITIONS, width, heads, encoder, CONTEXT, width, heads,
                           decoder, bins, 1))
    file.write(struct.pack("<2i", bins, BINS))
    file.write(mel_filters(bins).astype("<f4").tobytes())
    file.write(struct.pack("<i", 50257))
    for token in tokens():
        file.write(struct.pack("<I", len(token)) + token)
    for name, dims in tensors(width, encoder, decoder, bins, vocabulary):
        inputs = np.prod(dims[1:]) if len(dims) > 1 else 100
        values = random.standard_normal(dims, dtype=np.float32) / np.float32(np.sqrt(inputs))
        if name.endswith("ln.weight") or name.endswith("ln_post.weight"):
            values += 1
        half = len(dims) > 1 and "positional" not in name and not name.endswith("bias")
        encoded = name.encode()
        file.write(struct.pack("<3i", len(dims), len(encoded), int(half)))
        file.write(struct.pack(f"<{len(dims)}i", *reversed(dims)) + encoded)
        file.write(values.astype("<f2" if half else "<f4").tobytes())


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in SHAPES:
        sys.exit(__doc__)
    with open(sys.argv[2], "wb") as output:
        write(sys.argv[1], output)
