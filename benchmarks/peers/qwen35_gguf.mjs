// The tensors and metadata that gguf.mjs writes for Qwen3.5's dense models, with llama.cpp's names: gated delta rules,
// and attention with gated outputs, whose gates are rows of the queries' matrix.

// Like tensorsOf() in gguf.mjs.
export function qwen35Tensors(config, type) {
  const hidden = config.hidden_size, width = config.intermediate_size, size = config.head_dim;
  const heads = config.linear_num_value_heads, inner = heads * config.linear_value_head_dim;
  const convolved = inner + 2 * config.linear_num_key_heads * config.linear_key_head_dim;
  const queries = config.num_attention_heads * size, keys = config.num_key_value_heads * size;
  const tensors = [{ name: "token_embd.weight", rows: config.vocab_size, columns: hidden, type }];
  for (let layer = 0; layer < config.num_hidden_layers; ++layer) {
    const add = (name, rows, columns, of = type, fill = 1) =>
      tensors.push({ name: `blk.${layer}.${name}`, rows, columns, type: of, fill });
    add("attn_norm.weight", 1, hidden, "f32");
    if ((layer + 1) % config.full_attention_interval === 0) {
      add("attn_q.weight", 2 * queries, hidden);
      add("attn_k.weight", keys, hidden);
      add("attn_v.weight", keys, hidden);
      add("attn_q_norm.weight", 1, size, "f32");
      add("attn_k_norm.weight", 1, size, "f32");
      add("attn_output.weight", hidden, queries);
    } else {
      add("attn_qkv.weight", convolved, hidden);
      add("attn_gate.weight", inner, hidden);
      add("ssm_alpha.weight", heads, hidden);
      add("ssm_beta.weight", heads, hidden);
      add("ssm_conv1d.weight", convolved, config.linear_conv_kernel_dim, "f32", 0.25);
      add("ssm_dt.bias", 1, heads, "f32", -3);
      add("ssm_a", 1, heads, "f32", -1);
      add("ssm_norm.weight", 1, config.linear_value_head_dim, "f32");
      add("ssm_out.weight", hidden, inner);
    }
    add("post_attention_norm.weight", 1, hidden, "f32");
    add("ffn_gate.weight", width, hidden);
    add("ffn_up.weight", width, hidden);
    add("ffn_down.weight", hidden, width);
  }
  tensors.push({ name: "output_norm.weight", rows: 1, columns: hidden, type: "f32" });
  if (!config.tie_word_embeddings) {
    tensors.push({ name: "output.weight", rows: config.vocab_size, columns: hidden, type });
  }
  return tensors;
}

export function qwen35Entries(meta, config) {
  const heads = config.linear_num_value_heads, rope = config.rope_parameters;
  const turned = config.head_dim * rope.partial_rotary_factor;
  const numbers = {
    block_count: config.num_hidden_layers,
    context_length: config.max_position_embeddings,
    embedding_length: config.hidden_size,
    feed_forward_length: config.intermediate_size,
    "attention.head_count": config.num_attention_heads,
    "attention.head_count_kv": config.num_key_value_heads,
    "attention.key_length": config.head_dim,
    "attention.value_length": config.head_dim,
    "ssm.conv_kernel": config.linear_conv_kernel_dim,
    "ssm.state_size": config.linear_key_head_dim,
    "ssm.group_count": config.linear_num_key_heads,
    "ssm.time_step_rank": heads,
    "ssm.inner_size": heads * config.linear_value_head_dim,
    full_attention_interval: config.full_attention_interval,
    "rope.dimension_count": turned,
    vocab_size: config.vocab_size,
  };
  return [
    ...Object.entries(numbers).map(([key, value]) => () => meta.keyU32(`qwen35.${key}`, value)),
    () => meta.keyF32("qwen35.rope.freq_base", rope.rope_theta),
    () => meta.keyF32("qwen35.attention.layer_norm_rms_epsilon", config.rms_norm_eps),
    () => meta.keyNumbers("qwen35.rope.dimension_sections", [...rope.mrope_section, 0]),
  ];
}
