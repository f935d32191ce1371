// The tensors and metadata that gguf.mjs writes for a DeepSeek-V2 model, with llama.cpp's names: the products that make
// keys and values of heads are merged into queries and results, so its cache also has one vector per token. llama.cpp
// accepts queries that are computed directly from the input only for models with 26 or 27 layers.

// Like tensorsOf() in gguf.mjs.
export function deepseek2Tensors(config, type) {
  const hidden = config.hidden_size, heads = config.num_attention_heads, latent = config.kv_lora_rank;
  const plain = config.qk_nope_head_dim, turned = config.qk_rope_head_dim, value = config.v_head_dim;
  const experts = config.n_routed_experts, width = config.moe_intermediate_size;
  const tensors = [{ name: "token_embd.weight", rows: config.vocab_size, columns: hidden, type }];
  for (let layer = 0; layer < config.num_hidden_layers; ++layer) {
    const add = (name, rows, columns, of = type, stack = 1, share = undefined) =>
      tensors.push({ name: `blk.${layer}.${name}.weight`, rows, columns, type: of, stack, share });
    add("attn_norm", 1, hidden, "f32");
    add("attn_q", heads * (plain + turned), hidden);
    add("attn_kv_a_mqa", latent + turned, hidden);
    add("attn_kv_a_norm", 1, latent, "f32");
    add("attn_k_b", latent, plain, type, heads, 1);
    add("attn_v_b", value, latent, type, heads, 1);
    add("attn_output", hidden, heads * value);
    add("ffn_norm", 1, hidden, "f32");
    if (layer < config.first_k_dense_replace) {
      add("ffn_gate", config.intermediate_size, hidden);
      add("ffn_up", config.intermediate_size, hidden);
      add("ffn_down", hidden, config.intermediate_size);
      continue;
    }
    add("ffn_gate_inp", experts, hidden, "f32");
    for (const [name, rows, columns] of [["gate", width, hidden], ["up", width, hidden], ["down", hidden, width]]) {
      add(`ffn_${name}_exps`, rows, columns, type, experts);
    }
    const shared = width * config.n_shared_experts;
    add("ffn_gate_shexp", shared, hidden);
    add("ffn_up_shexp", shared, hidden);
    add("ffn_down_shexp", hidden, shared);
  }
  tensors.push({ name: "output_norm.weight", rows: 1, columns: hidden, type: "f32" });
  tensors.push({ name: "output.weight", rows: config.vocab_size, columns: hidden, type });
  return tensors;
}

export function deepseek2Entries(meta, config) {
  const turned = config.qk_rope_head_dim, latent = config.kv_lora_rank;
  const u32 = (key, value) => () => meta.keyU32(`deepseek2.${key}`, value);
  const f32 = (key, value) => () => meta.keyF32(`deepseek2.${key}`, value);
  return [
    u32("context_length", config.max_position_embeddings),
    u32("embedding_length", config.hidden_size),
    u32("block_count", config.num_hidden_layers),
    u32("feed_forward_length", config.intermediate_size),
    u32("attention.head_count", config.num_attention_heads),
    u32("attention.head_count_kv", 1),
    f32("attention.layer_norm_rms_epsilon", config.rms_norm_eps),
    u32("attention.kv_lora_rank", latent),
    u32("attention.key_length", latent + turned),
    u32("attention.value_length", latent),
    u32("attention.key_length_mla", config.qk_nope_head_dim + turned),
    u32("attention.value_length_mla", config.v_head_dim),
    f32("rope.freq_base", config.rope_theta),
    u32("rope.dimension_count", turned),
    u32("leading_dense_block_count", config.first_k_dense_replace),
    u32("expert_count", config.n_routed_experts),
    u32("expert_used_count", config.num_experts_per_tok),
    u32("expert_shared_count", config.n_shared_experts),
    u32("expert_feed_forward_length", config.moe_intermediate_size),
    f32("expert_weights_scale", config.routed_scaling_factor),
    u32("expert_gating_func", 1), // softmax
    u32("vocab_size", config.vocab_size),
  ];
}
