#!/usr/bin/env python3
"""Writes encoder_goldens.json: states of tiny encoders that transformers has no class of, for encoder_golden_test.cpp.

    python3 pippin/models/make_encoder_goldens.py > pippin/models/encoder_goldens.json

The forward passes follow the published configurations of Nomic Embed 2, GTE 1.5 and Jina Embeddings 2, in double
precision; see
make_goldens.py, whose rule for weights they share.
"""

import json
import math
import sys

from make_goldens import Checkpoint, add, each, heads, layer_norm, linear, rotated


def gelu(x):
    return 0.5 * x * (1 + math.erf(x / math.sqrt(2)))


def softmax(row):
    most = max(row)
    powers = [math.exp(value - most) for value in row]
    return [power / sum(powers) for power in powers]


def attend(q, k, v, slopes=None):
    """All queries see all keys; a list of heads, back to rows. Distances times a head's slope lower its scores."""
    result = []
    for queries, keys, values, slope in zip(q, k, v, slopes or [0] * len(q)):
        scale = len(queries[0]) ** -0.5
        scores = [softmax([scale * sum(map(float.__mul__, query, key)) - slope * abs(i - j)
                           for j, key in enumerate(keys)]) for i, query in enumerate(queries)]
        result.append([[sum(w * value[i] for w, value in zip(row, values)) for i in range(len(values[0]))]
                       for row in scores])
    return [sum((head[token] for head in result), []) for token in range(len(q[0]))]


def mix(x, get, qkv, out, hidden, count, frequencies):
    rows = linear(x, get(qkv + ".weight", 3 * hidden, hidden), get(qkv + ".bias", 3 * hidden))
    q, k, v = ([row[part * hidden:(part + 1) * hidden] for row in rows] for part in range(3))
    q, k = ([rotated(head, frequencies) for head in heads(part, count)] for part in (q, k))
    return linear(attend(q, k, heads(v, count)), get(out + ".weight", hidden, hidden), get(out + ".bias", hidden))


def norm(x, get, path, hidden, epsilon):
    return layer_norm(x, get(path + ".weight", hidden), get(path + ".bias", hidden), epsilon)


def nomic_bert(config, ids, get):
    hidden, inner, epsilon = config["n_embd"], config["n_inner"], config["layer_norm_epsilon"]
    dims = hidden // config["n_head"]
    frequencies = [config["rotary_emb_base"] ** (-2 * i / dims) for i in range(dims // 2)]
    table = get("embeddings.word_embeddings.weight", config["vocab_size"], hidden)
    kind = get("embeddings.token_type_embeddings.weight", 1, hidden)[0]
    x = norm([[a + b for a, b in zip(table[i], kind)] for i in ids], get, "emb_ln", hidden, epsilon)
    for layer in range(config["n_layer"]):
        path = f"encoder.layers.{layer}."
        x = norm(add(x, mix(x, get, path + "attn.Wqkv", path + "attn.out_proj", hidden, config["n_head"], frequencies)),
                 get, path + "norm1", hidden, epsilon)
        if layer % config["moe_every_n_layers"] == 1:
            y = experts(config, x, get, path + "mlp.")
        else:
            y = linear(x, get(path + "mlp.fc1.weight", inner, hidden), get(path + "mlp.fc1.bias", inner))
            y = linear(each(gelu, y), get(path + "mlp.fc2.weight", hidden, inner), get(path + "mlp.fc2.bias", hidden))
        x = norm(add(x, y), get, path + "norm2", hidden, epsilon)
    return x


def experts(config, x, get, path):
    hidden, inner, count = config["n_embd"], config["n_inner"], config["num_experts"]
    router = get(path + "router.layer.weight", count, hidden)
    w1 = get(path + "experts.mlp.w1", count * inner, hidden)
    w2 = get(path + "experts.mlp.w2", count * inner, hidden)
    bias = get(path + "experts.bias", hidden)
    result = []
    for row, scores in zip(x, linear(x, router)):
        weights = softmax(scores)
        total = list(bias)
        for expert in sorted(range(count), key=lambda i: -weights[i])[:config["moe_top_k"]]:
            part = slice(expert * inner, (expert + 1) * inner)
            activated = [gelu(value) for value in linear([row], w1[part])[0]]
            for i in range(hidden):
                total[i] += weights[expert] * sum(a * w[i] for a, w in zip(activated, w2[part]))
        result.append(total)
    return result


def new(config, ids, get):
    hidden, inner, epsilon = config["hidden_size"], config["intermediate_size"], config["layer_norm_eps"]
    dims, scaling = hidden // config["num_attention_heads"], config["rope_scaling"]
    factor = scaling["factor"]
    frequencies = [(config["rope_theta"] * factor) ** (-2 * i / dims) / factor ** (2 / dims) for i in range(dims // 2)]
    table = get("embeddings.word_embeddings.weight", config["vocab_size"], hidden)
    x = norm([list(table[i]) for i in ids], get, "embeddings.LayerNorm", hidden, epsilon)
    for layer in range(config["num_hidden_layers"]):
        path = f"encoder.layer.{layer}."
        y = mix(x, get, path + "attention.qkv_proj", path + "attention.o_proj", hidden, config["num_attention_heads"],
                frequencies)
        x = norm(add(x, y), get, path + "attn_ln", hidden, epsilon)
        both = linear(x, get(path + "mlp.up_gate_proj.weight", 2 * inner, hidden))
        y = [[up * gelu(gate) for up, gate in zip(row[:inner], row[inner:])] for row in both]
        y = linear(y, get(path + "mlp.down_proj.weight", hidden, inner), get(path + "mlp.down_proj.bias", hidden))
        x = norm(add(x, y), get, path + "mlp_ln", hidden, epsilon)
    return x


def slopes_of(count):
    """Of the next smaller power of two, then every second one of the next larger."""
    power = 2 ** math.floor(math.log2(count))
    finer = [2 ** (-4 * (i + 1) / power) for i in range(2 * power)]
    return [2 ** (-8 * (i + 1) / power) for i in range(power)] + finer[::2][:count - power]


def jina_bert(config, ids, get, normed=False):
    """Jina Embeddings 2; `normed`: the form of its models of code, with further norms and other names."""
    hidden, inner, count = config["hidden_size"], config["intermediate_size"], config["num_attention_heads"]

    def layer_normed(x, path):
        return norm(x, get, path, hidden, config["layer_norm_eps"])

    def project(x, path):
        return linear(x, get(path + ".weight", hidden, hidden), get(path + ".bias", hidden))

    table = get("embeddings.word_embeddings.weight", config["vocab_size"], hidden)
    kind = get("embeddings.token_type_embeddings.weight", config["type_vocab_size"], hidden)[0]
    x = layer_normed([[a + b for a, b in zip(table[i], kind)] for i in ids], "embeddings.LayerNorm")
    for layer in range(config["num_hidden_layers"]):
        path = f"encoder.layer.{layer}."
        q, k, v = (project(x, path + "attention.self." + name) for name in ("query", "key", "value"))
        if normed:
            q = layer_normed(q, path + "attention.self.layer_norm_q")
            k = layer_normed(k, path + "attention.self.layer_norm_k")
        y = project(attend(heads(q, count), heads(k, count), heads(v, count), slopes_of(count)),
                    path + "attention.output.dense")
        h = layer_normed(add(x, y), path + "attention.output.LayerNorm")
        x = layer_normed(add(x, h), path + "layer_norm_1") if normed else h
        up, down = ("up_gated_layer", "down_layer") if normed else ("gated_layers", "wo")
        y = [(row[inner:], row[:inner]) if normed else (row[:inner], row[inner:])
             for row in linear(x, get(path + f"mlp.{up}.weight", 2 * inner, hidden))]
        act = gelu if config["feed_forward_type"] == "geglu" else lambda value: max(value, 0.0)
        y = [[act(gate) * value for gate, value in zip(*row)] for row in y]
        y = linear(y, get(path + f"mlp.{down}.weight", hidden, inner), get(path + f"mlp.{down}.bias", hidden))
        x = layer_normed(add(x, y), path + ("layer_norm_2" if normed else "mlp.layernorm"))
    return x


def jina_bert_code(config, ids, get):
    return jina_bert(config, ids, get, normed=True)


JINA = {"model_type": "bert", "architectures": ["JinaBertModel"], "vocab_size": 13, "hidden_size": 12,
        "num_hidden_layers": 2, "intermediate_size": 10, "max_position_embeddings": 64, "layer_norm_eps": 1e-12,
        "hidden_act": "gelu", "type_vocab_size": 2, "position_embedding_type": "alibi", "emb_pooler": "mean",
        "attn_implementation": "torch"}
CASES = [
    (nomic_bert, {"architectures": ["NomicBertModel"], "vocab_size": 13, "n_embd": 16, "n_head": 2, "n_layer": 2,
                  "n_inner": 12, "n_positions": 64, "layer_norm_epsilon": 1e-5, "activation_function": "gelu",
                  "type_vocab_size": 1, "rotary_emb_base": 1000, "rotary_emb_fraction": 1.0, "rotary_emb_scale_base": None,
                  "rotary_scaling_factor": None, "num_experts": 4, "moe_top_k": 2, "moe_every_n_layers": 2,
                  "moe_normalize_expert_weights": False, "expert_choice_router": False, "num_shared_experts": 0,
                  "ffn_div": 1, "mlp_fc1_bias": True, "mlp_fc2_bias": True, "qkv_proj_bias": True, "prenorm": False,
                  "causal": False, "use_rms_norm": None, "pad_vocab_size_multiple": 1}),
    (new, {"architectures": ["NewModel"], "vocab_size": 13, "hidden_size": 16, "num_attention_heads": 2,
           "num_hidden_layers": 2, "intermediate_size": 12, "max_position_embeddings": 64, "layer_norm_eps": 1e-12,
           "layer_norm_type": "layer_norm", "hidden_act": "gelu", "type_vocab_size": 0, "position_embedding_type": "rope",
           "rope_theta": 1000, "rope_scaling": {"type": "ntk", "factor": 8.0}, "pack_qkv": True,
           "logn_attention_scale": False, "logn_attention_clip1": False, "unpad_inputs": False}),
    (jina_bert, {**JINA, "num_attention_heads": 3, "feed_forward_type": "geglu"}),
    (jina_bert, {**JINA, "num_attention_heads": 2, "feed_forward_type": "reglu"}),
    (jina_bert_code, {**JINA, "num_attention_heads": 3, "feed_forward_type": "geglu"}),
]
IDS = [3, 12, 0, 7, 7, 1, 9, 4]


def main():
    cases = []
    for forward, config in CASES:
        get = Checkpoint()
        config = {"model_type": forward.__name__, **config}
        states = forward(config, IDS, get)
        cases.append({"config": config, "tensors": get.shapes, "ids": IDS,
                      "states": [[float("%.9g" % value) for value in row] for row in states]})
    lines = ",\n".join(json.dumps(case) for case in cases)
    sys.stdout.write('{"cases": [\n%s\n]}\n' % lines)


if __name__ == "__main__":
    main()
