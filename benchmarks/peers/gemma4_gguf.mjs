// The tensors and metadata that gguf.mjs writes for Gemma 4's text models, with llama.cpp's names: other heads in full
// layers, layers that read earlier keys and values, rows of a table for each layer, and experts next to a dense
// feed-forward.

const slides = (config, layer) => config.layer_types[layer] === "sliding_attention";
const shares = (config, layer) => layer >= config.num_hidden_layers - config.num_kv_shared_layers;
const widthOf = (config, layer) =>
  config.intermediate_size * (config.use_double_wide_mlp && shares(config, layer) ? 2 : 1);
const keyHeads = (config, layer) =>
  slides(config, layer) ? config.num_key_value_heads
                        : config.num_global_key_value_heads ?? config.num_key_value_heads;
const each = (config, make) => config.layer_types.map((_, layer) => make(config, layer));

function addExperts(add, config, type) {
  const hidden = config.hidden_size, count = config.num_experts, width = config.moe_intermediate_size;
  add("ffn_gate_inp.weight", count, hidden);
  add("ffn_gate_inp.scale", 1, hidden);
  add("ffn_gate_up_exps.weight", 2 * width, hidden, type, count);
  add("ffn_down_exps.weight", hidden, width, type, count);
  add("ffn_down_exps.scale", 1, count);
  for (const name of ["post_ffw_norm_1", "pre_ffw_norm_2", "post_ffw_norm_2"]) add(`${name}.weight`, 1, hidden);
}

// Like tensorsOf() in gguf.mjs. A token reads one row of the layers' table.
export function gemma4Tensors(config, type) {
  const hidden = config.hidden_size, row = config.hidden_size_per_layer_input, layers = config.num_hidden_layers;
  const tensors = [{ name: "token_embd.weight", rows: config.vocab_size, columns: hidden, type },
                   { name: "rope_freqs.weight", rows: 1, columns: config.global_head_dim / 2, type: "f32" }];
  if (row > 0) {
    tensors.push({ name: "per_layer_token_embd.weight", rows: config.vocab_size, columns: layers * row, type, share: 0 },
                 { name: "per_layer_model_proj.weight", rows: layers * row, columns: hidden, type },
                 { name: "per_layer_proj_norm.weight", rows: 1, columns: row, type: "f32" });
  }
  for (let layer = 0; layer < layers; ++layer) {
    const add = (name, rows, columns, of = "f32", stack = 1) =>
      tensors.push({ name: `blk.${layer}.${name}`, rows, columns, type: of, stack });
    const size = slides(config, layer) ? config.head_dim : config.global_head_dim;
    const queries = config.num_attention_heads * size, keys = keyHeads(config, layer) * size;
    const width = widthOf(config, layer);
    for (const name of ["attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm"]) add(`${name}.weight`, 1, hidden);
    add("layer_output_scale.weight", 1, 1);
    add("attn_q.weight", queries, hidden, type);
    add("attn_q_norm.weight", 1, size);
    add("attn_output.weight", hidden, queries, type);
    if (!shares(config, layer)) {
      add("attn_k.weight", keys, hidden, type);
      add("attn_k_norm.weight", 1, size);
      if (slides(config, layer) || !config.attention_k_eq_v) add("attn_v.weight", keys, hidden, type);
    }
    add("ffn_gate.weight", width, hidden, type);
    add("ffn_up.weight", width, hidden, type);
    add("ffn_down.weight", hidden, width, type);
    if (config.enable_moe_block) addExperts(add, config, type);
    if (row > 0) {
      add("inp_gate.weight", row, hidden, type);
      add("proj.weight", hidden, row, type);
      add("post_norm.weight", 1, hidden);
    }
  }
  tensors.push({ name: "output_norm.weight", rows: 1, columns: hidden, type: "f32" });
  return tensors;
}

export function gemma4Entries(meta, config) {
  const { full_attention: full, sliding_attention: sliding } = config.rope_parameters;
  const numbers = {
    block_count: config.num_hidden_layers,
    context_length: config.max_position_embeddings,
    embedding_length: config.hidden_size,
    "attention.head_count": config.num_attention_heads,
    "attention.key_length": config.global_head_dim,
    "attention.value_length": config.global_head_dim,
    "attention.key_length_swa": config.head_dim,
    "attention.value_length_swa": config.head_dim,
    "rope.dimension_count": config.global_head_dim,
    "rope.dimension_count_swa": config.head_dim,
    "attention.sliding_window": config.sliding_window,
    "attention.shared_kv_layers": config.num_kv_shared_layers,
    embedding_length_per_layer_input: config.hidden_size_per_layer_input,
    vocab_size: config.vocab_size,
    ...(config.enable_moe_block ? {
      expert_count: config.num_experts, expert_used_count: config.top_k_experts,
      expert_feed_forward_length: config.moe_intermediate_size,
    } : {}),
  };
  const floats = {
    "rope.freq_base": full.rope_theta,
    "rope.freq_base_swa": sliding.rope_theta,
    "attention.layer_norm_rms_epsilon": config.rms_norm_eps,
    final_logit_softcapping: config.final_logit_softcapping,
  };
  return [
    ...Object.entries(numbers).map(([key, value]) => () => meta.keyU32(`gemma4.${key}`, value)),
    ...Object.entries(floats).map(([key, value]) => () => meta.keyF32(`gemma4.${key}`, value)),
    () => meta.keyNumbers("gemma4.feed_forward_length", each(config, widthOf)),
    () => meta.keyNumbers("gemma4.attention.head_count_kv", each(config, keyHeads)),
    () => meta.keyFlags("gemma4.attention.sliding_window_pattern", each(config, slides)),
  ];
}
