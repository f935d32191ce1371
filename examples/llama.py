"""Llama in plain array code: llama.py FOLDER PROMPT [--tokens N] [--temp T] [--top-p P] [--seed S] [--bits B]

FOLDER is a model folder from the Hugging Face Hub. The modules are named like the weights, which are loaded by name.
--bits quantizes the matrices (4, 8).
"""

import argparse
import itertools
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pippin
from pippin import core as mx, nn

Cache = list[tuple[mx.array, mx.array]]


def norm(config: dict[str, Any]) -> nn.RMSNorm:
    return nn.RMSNorm(config["hidden_size"], config.get("rms_norm_eps", 1e-6))


class Attention(nn.Module):
    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        width, self.heads = config["hidden_size"], config["num_attention_heads"]
        self.kv_heads = config.get("num_key_value_heads") or self.heads
        self.size = config.get("head_dim") or width // self.heads
        for name, heads in (("q_proj", self.heads), ("k_proj", self.kv_heads), ("v_proj", self.kv_heads)):
            self[name] = nn.Linear(width, heads * self.size, bias=False)
        self.o_proj = nn.Linear(self.heads * self.size, width, bias=False)
        self.rope = nn.RoPE(self.size, base=config.get("rope_theta", 10000.0))

    def split(self, x: mx.array, heads: int) -> mx.array:
        """Converts (batch, length, heads * size) to (batch, heads, length, size)."""
        return x.reshape(x.shape[0], x.shape[1], heads, self.size).transpose(0, 2, 1, 3)

    def __call__(self, x: mx.array, cache: Cache, layer: int) -> mx.array:
        past = cache[layer][0].shape[2] if layer < len(cache) else 0
        queries = self.rope(self.split(self.q_proj(x), self.heads), offset=past)
        keys = self.rope(self.split(self.k_proj(x), self.kv_heads), offset=past)
        values = self.split(self.v_proj(x), self.kv_heads)
        if past:
            keys = mx.concatenate([cache[layer][0], keys], axis=2)
            values = mx.concatenate([cache[layer][1], values], axis=2)
        cache[layer:layer + 1] = [(keys, values)]
        # Query heads in groups that share a key head: (batch, kv_heads, group, length, size).
        group = self.heads // self.kv_heads
        grouped = queries.reshape(x.shape[0], self.kv_heads, group, x.shape[1], self.size)
        scores = (grouped / math.sqrt(self.size)) @ keys[:, :, None].swapaxes(-1, -2)
        places = past + mx.arange(x.shape[1])[:, None]
        scores = mx.where(mx.arange(past + x.shape[1]) <= places, scores, -math.inf)
        seen = mx.softmax(scores, axis=-1, precise=True) @ values[:, :, None]
        return self.o_proj(seen.reshape(queries.shape).transpose(0, 2, 1, 3).flatten(2))


class MLP(nn.Module):
    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.gate_proj, self.up_proj = nn.Linear(width, hidden, bias=False), nn.Linear(width, hidden, bias=False)
        self.down_proj = nn.Linear(hidden, width, bias=False)

    def __call__(self, x: mx.array) -> mx.array:
        return self.down_proj(nn.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        self.self_attn, self.mlp = Attention(config), MLP(config["hidden_size"], config["intermediate_size"])
        self.input_layernorm, self.post_attention_layernorm = norm(config), norm(config)

    def __call__(self, x: mx.array, cache: Cache, layer: int) -> mx.array:
        x = x + self.self_attn(self.input_layernorm(x), cache, layer)
        return x + self.mlp(self.post_attention_layernorm(x))


class Llama(nn.Module):
    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        if config.get("model_type") != "llama" or config.get("rope_scaling"):
            raise ValueError("not model_type llama, or with rope_scaling")
        self.model = body = nn.Module()
        body.embed_tokens = nn.Embedding(config["vocab_size"], config["hidden_size"])
        body.layers = [Layer(config) for _ in range(config["num_hidden_layers"])]
        body.norm = norm(config)
        if not config.get("tie_word_embeddings"):
            self.lm_head = nn.Linear(config["hidden_size"], config["vocab_size"], bias=False)

    def __call__(self, ids: mx.array, cache: Cache) -> mx.array:
        """Returns the logits after the last of `ids` (batch, length), and adds all of them to the cache."""
        x = self.model.embed_tokens(ids)
        for i, layer in enumerate(self.model.layers):
            x = layer(x, cache, i)
        x = self.model.norm(x[:, -1])
        logits: mx.array = self.lm_head(x) if "lm_head" in self else self.model.embed_tokens.as_linear(x)
        return logits


def sample(logits: mx.array, temperature: float, top_p: float) -> mx.array:
    """Returns a token per row: the most likely one, or a random one of those with `top_p` of the probability."""
    if temperature == 0:
        return mx.argmax(logits, axis=-1)
    order = mx.argsort(-logits, axis=-1)
    ranked = mx.softmax(mx.take_along_axis(logits, order, axis=-1) / temperature, axis=-1, precise=True)
    kept = mx.where(mx.cumsum(ranked, axis=-1) - ranked < top_p, mx.log(ranked), -math.inf)
    return mx.take_along_axis(order, mx.random.categorical(kept)[:, None], axis=-1)[:, 0]


def generate(model: Llama, ids: list[int], temperature: float, top_p: float) -> Iterator[int]:
    cache: Cache = []
    token = sample(model(mx.array([ids]), cache), temperature, top_p)
    while True:
        # The next step is computed while the caller processes this token.
        following = sample(model(token[:, None], cache), temperature, top_p)
        mx.async_eval(following)
        yield int(token.item())
        token = following


def load(folder: Path, bits: int | None = None) -> Llama:
    model = Llama(json.loads((folder / "config.json").read_text()))
    model.load_weights(folder)
    if bits:
        nn.quantize(model, 32, bits)
    mx.eval(model.parameters())
    return model


def main() -> None:
    parser = argparse.ArgumentParser(usage=str(__doc__).split(": ")[1].split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("prompt")
    for name, default in {"tokens": 64, "temp": 0.0, "top-p": 1.0, "seed": 0, "bits": 0}.items():
        parser.add_argument("--" + name, type=type(default), default=default)
    options = parser.parse_args()
    mx.random.seed(options.seed)
    model, tokenizer = load(options.folder, options.bits), pippin.Tokenizer(options.folder)
    end = json.loads((options.folder / "config.json").read_text()).get("eos_token_id")
    text = tokenizer.stream()
    tokens = generate(model, tokenizer.encode(options.prompt), options.temp, options.top_p)
    for token in itertools.takewhile(lambda token: token != end, itertools.islice(tokens, options.tokens)):
        print(text.push(token), end="", flush=True)
    print(text.finish())


if __name__ == "__main__":
    main()
