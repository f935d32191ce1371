#!/usr/bin/env python3
"""Writes goldens.json: logits of tiny models of several architectures, for golden_test.cpp.

    python3 pippin/models/make_goldens.py > pippin/models/goldens.json

The forward passes below follow the classes of Hugging Face's transformers from their config.json, in double precision and
with lists of numbers alone; they share no code with Pippin. Weights are made from the names of the tensors by a rule that the
test follows too, so that no checkpoint has to be stored.
"""

import json
import math
import sys


def weights(name, shape):
    """Multiples of 1/512 in [-1/4, 1/4), exact in every type; vectors named weight (of norms) around 1."""
    seed = 2166136261
    for byte in name.encode():
        seed = (seed ^ byte) * 16777619 % 2**32
    flat = []
    for _ in range(math.prod(shape)):
        seed = (seed * 1664525 + 1013904223) % 2**32
        flat.append(((seed >> 24) - 128) / 512 + (1 if len(shape) == 1 and name.endswith("weight") else 0))
    if len(shape) == 1:
        return flat
    width = math.prod(shape[1:])
    return [flat[row * width:(row + 1) * width] for row in range(shape[0])]


class Checkpoint:
    def __init__(self):
        self.shapes = {}

    def __call__(self, name, *shape):
        self.shapes[name] = list(shape)
        return weights(name, shape)


# Rows of numbers: one row per token.

def linear(rows, weight, bias=None):
    bias = bias or [0] * len(weight)
    return [[sum(map(float.__mul__, row, out)) + b for out, b in zip(weight, bias)] for row in rows]


def transposed(matrix):
    return [list(column) for column in zip(*matrix)]


def add(*summands):
    return [[sum(values) for values in zip(*rows)] for rows in zip(*summands)]


def each(function, rows):
    return [[function(value) for value in row] for row in rows]


def rms_norm(rows, weight, epsilon):
    def one(row):
        scale = 1 / math.sqrt(sum(x * x for x in row) / len(row) + epsilon)
        return [x * scale * w for x, w in zip(row, weight)]
    return [one(row) for row in rows]


def layer_norm(rows, weight, bias, epsilon):
    def one(row):
        mean = sum(row) / len(row)
        scale = 1 / math.sqrt(sum((x - mean) ** 2 for x in row) / len(row) + epsilon)
        return [(x - mean) * scale * w + b for x, w, b in zip(row, weight, bias)]
    return [one(row) for row in rows]


def silu(x):
    return x / (1 + math.exp(-x))


def gelu_tanh(x):
    return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def heads(rows, count):
    """[head][token][dimension]"""
    size = len(rows[0]) // count
    return [[row[head * size:(head + 1) * size] for row in rows] for head in range(count)]


def rotated(head, frequencies):
    """The two halves of the first dimensions as pairs, turned by position times frequency."""
    half = len(frequencies)
    result = []
    for position, row in enumerate(head):
        row = list(row)
        for i, frequency in enumerate(frequencies):
            c, s = math.cos(position * frequency), math.sin(position * frequency)
            row[i], row[i + half] = row[i] * c - row[i + half] * s, row[i + half] * c + row[i] * s
        result.append(row)
    return result


def rope(dims, theta=10000.0):
    return [theta ** (-2 * i / dims) for i in range(dims // 2)]


def attention(queries, keys, values, scale, window=None, softcap=None, slopes=None):
    """Causal; query heads share key heads in groups. Rows of all heads concatenated."""
    group = len(queries) // len(keys)
    results = []
    for head, query in enumerate(queries):
        key, value = keys[head // group], values[head // group]
        rows = []
        for t, q in enumerate(query):
            seen = range(0 if window is None else max(0, t - window + 1), t + 1)
            scores = [scale * sum(map(float.__mul__, q, key[s])) for s in seen]
            if softcap:
                scores = [softcap * math.tanh(score / softcap) for score in scores]
            if slopes:
                scores = [score + slopes[head] * s for score, s in zip(scores, seen)]
            largest = max(scores)
            shares = [math.exp(score - largest) for score in scores]
            total = sum(shares)
            rows.append([sum(share * value[s][i] for share, s in zip(shares, seen)) / total
                         for i in range(len(value[0]))])
        results.append(rows)
    return [sum((head[t] for head in results), []) for t in range(len(queries[0]))]


def gated_mlp(get, path, rows, hidden, inner, activation):
    gate = each(activation, linear(rows, get(path + "gate_proj.weight", inner, hidden)))
    up = linear(rows, get(path + "up_proj.weight", inner, hidden))
    product = [[g * u for g, u in zip(*pair)] for pair in zip(gate, up)]
    return linear(product, get(path + "down_proj.weight", hidden, inner))


def llama3_frequencies(dims, theta, scaling):
    low = scaling["original_max_position_embeddings"] / scaling["low_freq_factor"]
    high = scaling["original_max_position_embeddings"] / scaling["high_freq_factor"]
    result = []
    for frequency in rope(dims, theta):
        wavelength = 2 * math.pi / frequency
        blend = ((scaling["original_max_position_embeddings"] / wavelength - scaling["low_freq_factor"]) /
                 (scaling["high_freq_factor"] - scaling["low_freq_factor"]))
        if wavelength < high:
            result.append(frequency)
        elif wavelength > low:
            result.append(frequency / scaling["factor"])
        else:
            result.append((1 - blend) * frequency / scaling["factor"] + blend * frequency)
    return result


def qkv(y, get, path, count, kv, size):
    hidden = len(y[0])
    q = heads(linear(y, get(path + "self_attn.q_proj.weight", count * size, hidden)), count)
    k = heads(linear(y, get(path + "self_attn.k_proj.weight", kv * size, hidden)), kv)
    v = heads(linear(y, get(path + "self_attn.v_proj.weight", kv * size, hidden)), kv)
    return q, k, v


def llama(config, ids, get, frequencies=None, feed_forward=None, is_qwen3=False):
    """feed_forward(rows, path of the layer): another one than the gated MLP."""
    hidden, count, kv = config["hidden_size"], config["num_attention_heads"], config["num_key_value_heads"]
    size, epsilon = config.get("head_dim", hidden // count), config["rms_norm_eps"]
    frequencies = frequencies or llama3_frequencies(size, config["rope_theta"], config["rope_scaling"])
    feed_forward = feed_forward or (
        lambda rows, path: gated_mlp(get, path + "mlp.", rows, hidden, config["intermediate_size"], silu))
    embedding = get("model.embed_tokens.weight", config["vocab_size"], hidden)
    x = [embedding[i] for i in ids]
    for layer in range(config["num_hidden_layers"]):
        path = "model.layers.%d." % layer
        y = rms_norm(x, get(path + "input_layernorm.weight", hidden), epsilon)
        q, k, v = qkv(y, get, path, count, kv, size)
        if is_qwen3:
            q = [rms_norm(h, get(path + "self_attn.q_norm.weight", size), epsilon) for h in q]
            k = [rms_norm(h, get(path + "self_attn.k_norm.weight", size), epsilon) for h in k]
        y = attention([rotated(h, frequencies) for h in q], [rotated(h, frequencies) for h in k], v, size**-0.5)
        x = add(x, linear(y, get(path + "self_attn.o_proj.weight", hidden, count * size)))
        y = rms_norm(x, get(path + "post_attention_layernorm.weight", hidden), epsilon)
        x = add(x, feed_forward(y, path))
    x = rms_norm(x, get("model.norm.weight", hidden), epsilon)
    return linear(x, embedding if is_qwen3 else get("lm_head.weight", config["vocab_size"], hidden))


def qwen3(config, ids, get):
    """Llama with a norm on each head of q and k, and the embedding as its head."""
    return llama(config, ids, get, rope(config["head_dim"], config["rope_theta"]), is_qwen3=True)


def gemma2(config, ids, get):
    hidden, count, kv = config["hidden_size"], config["num_attention_heads"], config["num_key_value_heads"]
    size = config["head_dim"]
    frequencies = rope(size, config["rope_theta"])

    def norm(rows, name):
        return rms_norm(rows, [1 + w for w in get(name, hidden)], config["rms_norm_eps"])

    embedding = get("model.embed_tokens.weight", config["vocab_size"], hidden)
    x = [[value * math.sqrt(hidden) for value in embedding[i]] for i in ids]
    for layer in range(config["num_hidden_layers"]):
        path = "model.layers.%d." % layer
        y = norm(x, path + "input_layernorm.weight")
        q, k, v = qkv(y, get, path, count, kv, size)
        y = attention([rotated(h, frequencies) for h in q], [rotated(h, frequencies) for h in k], v,
                      config["query_pre_attn_scalar"] ** -0.5, config["sliding_window"] if layer % 2 == 0 else None,
                      config["attn_logit_softcapping"])
        y = linear(y, get(path + "self_attn.o_proj.weight", hidden, count * size))
        x = add(x, norm(y, path + "post_attention_layernorm.weight"))
        y = norm(x, path + "pre_feedforward_layernorm.weight")
        y = gated_mlp(get, path + "mlp.", y, hidden, config["intermediate_size"], gelu_tanh)
        x = add(x, norm(y, path + "post_feedforward_layernorm.weight"))
    cap = config["final_logit_softcapping"]
    return each(lambda logit: cap * math.tanh(logit / cap), linear(norm(x, "model.norm.weight"), embedding))


def gpt2(config, ids, get):
    hidden, count = config["n_embd"], config["n_head"]

    def norm(rows, path):
        return layer_norm(rows, get(path + "weight", hidden), get(path + "bias", hidden), config["layer_norm_epsilon"])

    def conv1d(rows, path, inputs, outputs):
        return linear(rows, transposed(get(path + "weight", inputs, outputs)), get(path + "bias", outputs))

    embedding = get("transformer.wte.weight", config["vocab_size"], hidden)
    positions = get("transformer.wpe.weight", config["n_positions"], hidden)
    x = add([embedding[i] for i in ids], positions[:len(ids)])
    for layer in range(config["n_layer"]):
        path = "transformer.h.%d." % layer
        y = conv1d(norm(x, path + "ln_1."), path + "attn.c_attn.", hidden, 3 * hidden)
        q, k, v = (heads([row[part * hidden:(part + 1) * hidden] for row in y], count) for part in range(3))
        y = attention(q, k, v, (hidden // count) ** -0.5)
        x = add(x, conv1d(y, path + "attn.c_proj.", hidden, hidden))
        y = conv1d(norm(x, path + "ln_2."), path + "mlp.c_fc.", hidden, 4 * hidden)
        x = add(x, conv1d(each(gelu_tanh, y), path + "mlp.c_proj.", 4 * hidden, hidden))
    return linear(norm(x, "transformer.ln_f."), embedding)


def phi(config, ids, get):
    hidden, count = config["hidden_size"], config["num_attention_heads"]
    size, inner = hidden // count, config["intermediate_size"]
    frequencies = rope(int(size * config["partial_rotary_factor"]), config["rope_theta"])

    def norm(rows, path):
        return layer_norm(rows, get(path + "weight", hidden), get(path + "bias", hidden), config["layer_norm_eps"])

    def dense(rows, path, inputs, outputs):
        return linear(rows, get(path + "weight", outputs, inputs), get(path + "bias", outputs))

    embedding = get("model.embed_tokens.weight", config["vocab_size"], hidden)
    x = [embedding[i] for i in ids]
    for layer in range(config["num_hidden_layers"]):
        path = "model.layers.%d." % layer
        y = norm(x, path + "input_layernorm.")
        q, k, v = (heads(dense(y, path + "self_attn.%s_proj." % part, hidden, hidden), count) for part in "qkv")
        seen = attention([rotated(h, frequencies) for h in q], [rotated(h, frequencies) for h in k], v, size**-0.5)
        seen = dense(seen, path + "self_attn.dense.", hidden, hidden)
        fed = dense(each(gelu_tanh, dense(y, path + "mlp.fc1.", hidden, inner)), path + "mlp.fc2.", inner, hidden)
        x = add(x, seen, fed)
    return dense(norm(x, "model.final_layernorm."), "lm_head.", hidden, config["vocab_size"])


def bloom(config, ids, get):
    hidden, count = config["hidden_size"], config["n_head"]
    size = hidden // count
    slopes = [2 ** (-8 * (head + 1) / count) for head in range(count)]  # count is a power of two

    def norm(rows, path):
        return layer_norm(rows, get(path + "weight", hidden), get(path + "bias", hidden), config["layer_norm_epsilon"])

    def dense(rows, path, inputs, outputs):
        return linear(rows, get(path + "weight", outputs, inputs), get(path + "bias", outputs))

    embedding = get("transformer.word_embeddings.weight", config["vocab_size"], hidden)
    x = norm([embedding[i] for i in ids], "transformer.word_embeddings_layernorm.")
    for layer in range(config["n_layer"]):
        path = "transformer.h.%d." % layer
        y = dense(norm(x, path + "input_layernorm."), path + "self_attention.query_key_value.", hidden, 3 * hidden)
        parts = heads(y, 3 * count)  # of each head its query, key and value
        y = attention(parts[0::3], parts[1::3], parts[2::3], size**-0.5, slopes=slopes)
        x = add(x, dense(y, path + "self_attention.dense.", hidden, hidden))
        y = dense(norm(x, path + "post_attention_layernorm."), path + "mlp.dense_h_to_4h.", hidden, 4 * hidden)
        x = add(x, dense(each(gelu_tanh, y), path + "mlp.dense_4h_to_h.", 4 * hidden, hidden))
    return linear(norm(x, "transformer.ln_f."), embedding)


def sum_of(row, other):
    return sum(map(float.__mul__, row, other))


def mamba2_mixer(rows, get, path, hidden, heads_, size, groups, states, kernel, epsilon):
    """Token by token: a window of the last inputs, and a matrix of states for each head."""
    inner, shared = heads_ * size, groups * states
    width = inner + 2 * shared
    taps, bias = get(path + "conv1d.weight", width, 1, kernel), get(path + "conv1d.bias", width)
    step_bias, logs, skip = (get(path + name, heads_) for name in ("dt_bias", "A_log", "D"))
    norm = get(path + "norm.weight", inner)
    window = [[0.0] * width for _ in range(kernel)]
    state = [[[0.0] * states for _ in range(size)] for _ in range(heads_)]
    results = []
    for row in linear(rows, get(path + "in_proj.weight", inner + width + heads_, hidden)):
        gate, raw = row[:inner], row[inner + width:]
        window = window[1:] + [row[inner:inner + width]]
        mixed = [silu(sum(tap[k] * window[k][i] for k in range(kernel)) + bias[i]) for i, tap in enumerate(taps)]
        y = []
        for head in range(heads_):
            step = math.log1p(math.exp(raw[head] + step_bias[head]))
            decay = math.exp(-math.exp(logs[head]) * step)
            begin = inner + head // (heads_ // groups) * states
            keys, queries = mixed[begin:begin + states], mixed[begin + shared:begin + shared + states]
            for i in range(size):
                x = mixed[head * size + i]
                state[head][i] = [decay * s + step * x * key for s, key in zip(state[head][i], keys)]
                y.append(sum_of(state[head][i], queries) + skip[head] * x)
        results.append([value * silu(g) for value, g in zip(y, gate)])
    return linear(rms_norm(results, norm, epsilon), get(path + "out_proj.weight", hidden, inner))


def mamba2(config, ids, get):
    hidden, epsilon = config["hidden_size"], config["layer_norm_epsilon"]
    embedding = get("backbone.embeddings.weight", config["vocab_size"], hidden)
    x = [embedding[i] for i in ids]
    for layer in range(config["num_hidden_layers"]):
        path = "backbone.layers.%d." % layer
        y = rms_norm(x, get(path + "norm.weight", hidden), epsilon)
        x = add(x, mamba2_mixer(y, get, path + "mixer.", hidden, config["num_heads"], config["head_dim"],
                                config["n_groups"], config["state_size"], config["conv_kernel"], epsilon))
    return linear(rms_norm(x, get("backbone.norm_f.weight", hidden), epsilon),
                  get("lm_head.weight", config["vocab_size"], hidden))


def bamba(config, ids, get):
    hidden, epsilon = config["hidden_size"], config["rms_norm_eps"]
    count, kv = config["num_attention_heads"], config["num_key_value_heads"]
    size = hidden // count
    frequencies = rope(int(size * config["partial_rotary_factor"]), config["rope_theta"])
    embedding = get("model.embed_tokens.weight", config["vocab_size"], hidden)
    x = [embedding[i] for i in ids]
    for layer in range(config["num_hidden_layers"]):
        path = "model.layers.%d." % layer
        y = rms_norm(x, get(path + "input_layernorm.weight", hidden), epsilon)
        if layer in config["attn_layer_indices"]:
            q, k, v = qkv(y, get, path, count, kv, size)
            y = attention([rotated(h, frequencies) for h in q], [rotated(h, frequencies) for h in k], v, size**-0.5)
            x = add(x, linear(y, get(path + "self_attn.o_proj.weight", hidden, count * size)))
        else:
            x = add(x, mamba2_mixer(y, get, path + "mamba.", hidden, config["mamba_n_heads"], config["mamba_d_head"],
                                    config["mamba_n_groups"], config["mamba_d_state"], config["mamba_d_conv"], epsilon))
        y = rms_norm(x, get(path + "pre_ff_layernorm.weight", hidden), epsilon)
        x = add(x, gated_mlp(get, path + "feed_forward.", y, hidden, config["intermediate_size"], silu))
    x = rms_norm(x, get("model.final_layernorm.weight", hidden), epsilon)
    return linear(x, get("lm_head.weight", config["vocab_size"], hidden))


def mixtral(config, ids, get):
    hidden, inner = config["hidden_size"], config["intermediate_size"]

    def experts(rows, layer):
        path = layer + "block_sparse_moe."
        shares = linear(rows, get(path + "gate.weight", config["num_local_experts"], hidden))
        made = []
        for expert in range(config["num_local_experts"]):
            w1, w3 = (get(path + "experts.%d.%s.weight" % (expert, name), inner, hidden) for name in ("w1", "w3"))
            product = [[silu(g) * u for g, u in zip(*pair)] for pair in zip(linear(rows, w1), linear(rows, w3))]
            made.append(linear(product, get(path + "experts.%d.w2.weight" % expert, hidden, inner)))
        results = []
        for t, logits in enumerate(shares):
            chosen = sorted(range(len(logits)), key=lambda e: -logits[e])[:config["num_experts_per_tok"]]
            parts = [math.exp(logits[e] - max(logits)) for e in chosen]
            results.append([sum(part * made[e][t][i] for part, e in zip(parts, chosen)) / sum(parts)
                            for i in range(hidden)])
        return results

    return llama(config, ids, get, rope(hidden // config["num_attention_heads"], config["rope_theta"]), experts)


def deepseek_v2(config, ids, get):
    """Latent attention, with the keys and values of every head; pairs of neighbours are turned."""
    hidden, count, epsilon = config["hidden_size"], config["num_attention_heads"], config["rms_norm_eps"]
    plain, turned, value = config["qk_nope_head_dim"], config["qk_rope_head_dim"], config["v_head_dim"]
    rank = config["kv_lora_rank"]
    frequencies = rope(turned, config["rope_theta"])

    def halves(head):
        return rotated([row[0::2] + row[1::2] for row in head], frequencies)

    embedding = get("model.embed_tokens.weight", config["vocab_size"], hidden)
    x = [embedding[i] for i in ids]
    for layer in range(config["num_hidden_layers"]):
        path = "model.layers.%d." % layer
        y = rms_norm(x, get(path + "input_layernorm.weight", hidden), epsilon)
        q = heads(linear(y, get(path + "self_attn.q_proj.weight", count * (plain + turned), hidden)), count)
        joint = linear(y, get(path + "self_attn.kv_a_proj_with_mqa.weight", rank + turned, hidden))
        latent = rms_norm([row[:rank] for row in joint], get(path + "self_attn.kv_a_layernorm.weight", rank), epsilon)
        key = halves([row[rank:] for row in joint])
        kv = heads(linear(latent, get(path + "self_attn.kv_b_proj.weight", count * (plain + value), rank)), count)
        queries = [[row[:plain] + other for row, other in zip(head, halves([row[plain:] for row in head]))]
                   for head in q]
        keys = [[row[:plain] + other for row, other in zip(head, key)] for head in kv]
        y = attention(queries, keys, [[row[plain:] for row in head] for head in kv], (plain + turned) ** -0.5)
        x = add(x, linear(y, get(path + "self_attn.o_proj.weight", hidden, count * value)))
        y = rms_norm(x, get(path + "post_attention_layernorm.weight", hidden), epsilon)
        x = add(x, gated_mlp(get, path + "mlp.", y, hidden, config["intermediate_size"], silu))
    x = rms_norm(x, get("model.norm.weight", hidden), epsilon)
    return linear(x, get("lm_head.weight", config["vocab_size"], hidden))


CASES = [
    (llama, {"vocab_size": 13, "hidden_size": 32, "intermediate_size": 20, "num_hidden_layers": 2, "num_attention_heads": 4,
             "num_key_value_heads": 2, "max_position_embeddings": 512, "rms_norm_eps": 1e-5, "rope_theta": 500.0,
             "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                              "original_max_position_embeddings": 256}, "tie_word_embeddings": False}),
    (qwen3, {"vocab_size": 13, "hidden_size": 16, "intermediate_size": 20, "num_hidden_layers": 2, "num_attention_heads": 4,
             "num_key_value_heads": 2, "head_dim": 6, "max_position_embeddings": 64, "rms_norm_eps": 1e-6,
             "rope_theta": 1000.0, "tie_word_embeddings": True}),
    (gemma2, {"vocab_size": 13, "hidden_size": 16, "intermediate_size": 20, "num_hidden_layers": 2, "num_attention_heads": 4,
              "num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": 64, "rms_norm_eps": 1e-6,
              "rope_theta": 1000.0, "query_pre_attn_scalar": 5, "sliding_window": 3, "attn_logit_softcapping": 2.0,
              "final_logit_softcapping": 3.0, "hidden_activation": "gelu_pytorch_tanh"}),
    (gpt2, {"vocab_size": 13, "n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 64, "layer_norm_epsilon": 1e-5}),
    (phi, {"vocab_size": 13, "hidden_size": 32, "intermediate_size": 20, "num_hidden_layers": 2, "num_attention_heads": 4,
           "max_position_embeddings": 64, "layer_norm_eps": 1e-5, "partial_rotary_factor": 0.5, "rope_theta": 1000.0,
           "hidden_act": "gelu_new", "tie_word_embeddings": False}),
    (bloom, {"vocab_size": 13, "hidden_size": 16, "n_layer": 2, "n_head": 4, "layer_norm_epsilon": 1e-5}),
    (mamba2, {"vocab_size": 13, "hidden_size": 16, "num_hidden_layers": 2, "num_heads": 4, "head_dim": 8, "n_groups": 2,
              "state_size": 5, "conv_kernel": 4, "expand": 2, "layer_norm_epsilon": 1e-5, "tie_word_embeddings": False}),
    (bamba, {"vocab_size": 13, "hidden_size": 16, "intermediate_size": 20, "num_hidden_layers": 2, "num_attention_heads": 2,
             "num_key_value_heads": 1, "attn_layer_indices": [1], "mamba_n_heads": 4, "mamba_d_head": 8, "mamba_n_groups": 1,
             "mamba_d_state": 6, "mamba_d_conv": 4, "mamba_expand": 2, "partial_rotary_factor": 0.5, "rope_theta": 1000.0,
             "rms_norm_eps": 1e-5, "max_position_embeddings": 64, "tie_word_embeddings": False}),
    (mixtral, {"vocab_size": 13, "hidden_size": 16, "intermediate_size": 12, "num_hidden_layers": 2, "num_attention_heads": 4,
               "num_key_value_heads": 2, "num_local_experts": 5, "num_experts_per_tok": 2, "rms_norm_eps": 1e-5,
               "rope_theta": 1000.0, "max_position_embeddings": 64, "tie_word_embeddings": False}),
    (deepseek_v2, {"vocab_size": 13, "hidden_size": 16, "intermediate_size": 20, "num_hidden_layers": 2,
                   "num_attention_heads": 2, "num_key_value_heads": 2, "q_lora_rank": None, "kv_lora_rank": 10,
                   "qk_nope_head_dim": 6, "qk_rope_head_dim": 4, "v_head_dim": 5, "first_k_dense_replace": 2,
                   "rms_norm_eps": 1e-6, "rope_theta": 1000.0, "max_position_embeddings": 64,
                   "tie_word_embeddings": False}),
]
IDS = [3, 12, 0, 7, 7, 1, 9, 4]


def main():
    cases = []
    for forward, config in CASES:
        get = Checkpoint()
        config = {"model_type": forward.__name__, **config}
        logits = forward(config, IDS, get)
        cases.append({"config": config, "tensors": get.shapes, "ids": IDS,
                      "logits": [[float("%.9g" % value) for value in row] for row in logits]})
    lines = ",\n".join(json.dumps(case) for case in cases)
    sys.stdout.write('{"cases": [\n%s\n]}\n' % lines)


if __name__ == "__main__":
    main()
