// The tensors and metadata that gguf.mjs writes for models with Mamba 2 layers, with llama.cpp's names: Mamba 2 itself,
// and Granite 4 hybrids of Mamba 2 and attention without experts. In a hybrid, a layer without key heads is a state
// space.

// The sizes of a state space, under any of their names in config.json.
function sizesOf(config) {
  const inner = (config.mamba_expand ?? config.expand ?? 2) * config.hidden_size;
  const groups = config.mamba_n_groups ?? config.n_groups ?? 8, state = config.mamba_d_state ?? config.state_size ?? 128;
  return {
    inner, groups, state, heads: config.mamba_n_heads ?? config.num_heads ?? 128,
    convolved: inner + 2 * groups * state, taps: config.mamba_d_conv ?? config.conv_kernel ?? 4,
  };
}

function addStateSpace(add, config, type) {
  const { inner, groups, heads, convolved, taps } = sizesOf(config);
  add("ssm_in.weight", inner + convolved + heads, config.hidden_size, type);
  add("ssm_conv1d.weight", convolved, taps, "f32", 0.25);
  add("ssm_conv1d.bias", 1, convolved, "f32", 0);
  add("ssm_dt.bias", 1, heads, "f32", -3);
  add("ssm_a", heads, 1, "f32", -1);
  add("ssm_d", heads, 1);
  add("ssm_norm.weight", groups, inner / groups);
  add("ssm_out.weight", config.hidden_size, inner, type);
}

// Like tensorsOf() in gguf.mjs, with addLayer(add, layer) for the tensors of a layer; `fill` is the value of an fp32
// tensor if it is not one.
function tensorsWith(config, type, addLayer) {
  const hidden = config.hidden_size;
  const tensors = [{ name: "token_embd.weight", rows: config.vocab_size, columns: hidden, type }];
  for (let layer = 0; layer < config.num_hidden_layers; ++layer) {
    const add = (name, rows, columns, of = "f32", fill = 1) =>
      tensors.push({ name: `blk.${layer}.${name}`, rows, columns, type: of, fill });
    add("attn_norm.weight", 1, hidden);
    addLayer(add, layer);
  }
  tensors.push({ name: "output_norm.weight", rows: 1, columns: hidden, type: "f32" });
  if (!config.tie_word_embeddings) {
    tensors.push({ name: "output.weight", rows: config.vocab_size, columns: hidden, type });
  }
  return tensors;
}

export function mamba2Tensors(config, type) {
  return tensorsWith(config, type, (add) => addStateSpace(add, config, type));
}

export function graniteHybridTensors(config, type) {
  if ((config.num_local_experts ?? 0) > 0) throw new Error("num_local_experts: hybrids are written without experts");
  const hidden = config.hidden_size, width = config.shared_intermediate_size;
  const keys = (hidden / config.num_attention_heads) * config.num_key_value_heads;
  return tensorsWith(config, type, (add, layer) => {
    if (config.layer_types[layer] === "attention") {
      add("attn_q.weight", hidden, hidden, type);
      add("attn_k.weight", keys, hidden, type);
      add("attn_v.weight", keys, hidden, type);
      add("attn_output.weight", hidden, hidden, type);
    } else {
      addStateSpace(add, config, type);
    }
    add("ffn_norm.weight", 1, hidden);
    add("ffn_gate.weight", width, hidden, type);
    add("ffn_up.weight", width, hidden, type);
    add("ffn_down.weight", hidden, width, type);
  });
}

function entriesWith(meta, kind, config, numbers, floats) {
  const { inner, groups, heads, state, taps } = sizesOf(config);
  const all = {
    context_length: config.max_position_embeddings ?? 1048576,
    embedding_length: config.hidden_size,
    block_count: config.num_hidden_layers,
    "ssm.conv_kernel": taps,
    "ssm.inner_size": inner,
    "ssm.state_size": state,
    "ssm.time_step_rank": heads,
    "ssm.group_count": groups,
    vocab_size: config.vocab_size,
    ...numbers,
  };
  return [
    ...Object.entries(all).map(([key, value]) => () => meta.keyU32(`${kind}.${key}`, value)),
    ...Object.entries(floats).map(([key, value]) => () => meta.keyF32(`${kind}.${key}`, value)),
  ];
}

export function mamba2Entries(meta, config) {
  return entriesWith(meta, "mamba2", config, { feed_forward_length: 0, "attention.head_count": 0 },
                     { "attention.layer_norm_rms_epsilon": config.layer_norm_epsilon ?? 1e-5 });
}

export function graniteHybridEntries(meta, config) {
  const keys = config.layer_types.map((kind) => (kind === "attention" ? config.num_key_value_heads : 0));
  return [
    ...entriesWith(meta, "granitehybrid", config,
                   {
                     feed_forward_length: config.shared_intermediate_size,
                     "attention.head_count": config.num_attention_heads,
                     "rope.dimension_count": config.hidden_size / config.num_attention_heads,
                   },
                   {
                     "attention.layer_norm_rms_epsilon": config.rms_norm_eps,
                     "attention.scale": config.attention_multiplier,
                     embedding_scale: config.embedding_multiplier,
                     residual_scale: config.residual_multiplier,
                     logit_scale: config.logits_scaling,
                   }),
    () => meta.keyNumbers("granitehybrid.attention.head_count_kv", keys),
    () => meta.keyFlag("granitehybrid.rope.scaling.finetuned", config.position_embedding_type === "rope"),
  ];
}
