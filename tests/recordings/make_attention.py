#!/usr/bin/env python3
"""Writes attention.npz: the weights with which Whisper's decoder attends to a recording.

usage: make_attention.py FOLDER OUTPUT

FOLDER has a tiny Whisper in safetensors and golden.npz with Hugging Face's states of the encoder and
logits of a target. The decoder is computed here with NumPy in double precision, without a cache;
the script fails if its logits differ from Hugging Face's, so the weights are theirs too. Of each
head, [layers * heads, 3, positions], the rows of three tokens are written, as float32.
"""

import json
import math
import struct
import sys
from pathlib import Path

import numpy as np

TOKENS = [0, 6, 13]


def read_safetensors(path):
    data = path.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    tensors = {}
    for name, tensor in json.loads(data[8 : 8 + size]).items():
        if name == "__metadata__":
            continue
        begin, end = tensor["data_offsets"]
        raw = data[8 + size + begin : 8 + size + end]
        if tensor["dtype"] == "BF16":
            values = (np.frombuffer(raw, "<u2").astype(np.uint32) << 16).view(np.float32)
        else:
            values = np.frombuffer(raw, "<f4")
        tensors[name] = values.reshape(tensor["shape"]).astype(np.float64)
    return tensors


class Decoder:
    def __init__(self, folder):
        self.tensors = read_safetensors(folder / "model.safetensors")
        config = json.loads((folder / "config.json").read_text())
        self.layers = config["decoder_layers"]
        self.heads = config["decoder_attention_heads"]

    def linear(self, x, name):
        bias = self.tensors.get(name + ".bias")
        y = x @ self.tensors[name + ".weight"].T
        return y if bias is None else y + bias

    def norm(self, x, name):
        centered = x - x.mean(-1, keepdims=True)
        scaled = centered / np.sqrt((centered**2).mean(-1, keepdims=True) + 1e-5)
        return scaled * self.tensors[name + ".weight"] + self.tensors[name + ".bias"]

    def attend(self, x, source, name, causal):
        def split(rows):
            return rows.reshape(len(rows), self.heads, -1).transpose(1, 0, 2)

        queries = split(self.linear(x, name + ".q_proj"))
        keys = split(self.linear(source, name + ".k_proj"))
        values = split(self.linear(source, name + ".v_proj"))
        scores = queries @ keys.transpose(0, 2, 1) / math.sqrt(queries.shape[-1])
        if causal:
            scores = np.where(np.tri(len(x), dtype=bool), scores, -np.inf)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        joined = (weights @ values).transpose(1, 0, 2).reshape(x.shape)
        return self.linear(joined, name + ".out_proj"), weights

    def run(self, states, ids):
        base = "model.decoder."
        gelu = np.vectorize(lambda v: 0.5 * v * (1 + math.erf(v / math.sqrt(2))))
        embedding = self.tensors[base + "embed_tokens.weight"]
        x = embedding[ids] + self.tensors[base + "embed_positions.weight"][: len(ids)]
        attention = []
        for index in range(self.layers):
            layer = f"{base}layers.{index}."
            y = self.norm(x, layer + "self_attn_layer_norm")
            x = x + self.attend(y, y, layer + "self_attn", True)[0]
            y = self.norm(x, layer + "encoder_attn_layer_norm")
            y, weights = self.attend(y, states, layer + "encoder_attn", False)
            x = x + y
            attention.append(weights)
            y = self.norm(x, layer + "final_layer_norm")
            x = x + self.linear(gelu(self.linear(y, layer + "fc1")), layer + "fc2")
        return self.norm(x, base + "layer_norm") @ embedding.T, np.concatenate(attention)


def main():
    folder, output = Path(sys.argv[1]), sys.argv[2]
    golden = np.load(folder / "golden.npz")
    states = golden["encoder_last_hidden_state"][0].astype(np.float64)
    logits, weights = Decoder(folder).run(states, golden["decoder_input_ids"][0])
    difference = np.abs(logits - golden["logits"][0]).max()
    if difference > 1e-5:
        sys.exit(f"the logits differ from Hugging Face's by {difference}")
    np.savez_compressed(output, weights=weights[:, TOKENS].astype(np.float32))


main()
