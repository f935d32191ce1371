// What gguf.mjs writes for a Mamba 2 model: its tensors and keys, as llama.cpp names them.

const innerOf = (config) => (config.expand ?? 2) * config.hidden_size;
const headsOf = (config) => config.num_heads ?? 128;
const convolvedOf = (config) => innerOf(config) + 2 * (config.n_groups ?? 8) * (config.state_size ?? 128);

// As tensorsOf() of gguf.mjs; `fill` is what a tensor of fp32 holds where that is not one.
export function mamba2Tensors(config, type) {
  const hidden = config.hidden_size, inner = innerOf(config), heads = headsOf(config);
  const convolved = convolvedOf(config), groups = config.n_groups ?? 8;
  const tensors = [{ name: "token_embd.weight", rows: config.vocab_size, columns: hidden, type }];
  for (let layer = 0; layer < config.num_hidden_layers; ++layer) {
    const add = (name, rows, columns, of = "f32", fill = 1) =>
      tensors.push({ name: `blk.${layer}.${name}`, rows, columns, type: of, fill });
    add("attn_norm.weight", 1, hidden);
    add("ssm_in.weight", inner + convolved + heads, hidden, type);
    add("ssm_conv1d.weight", convolved, config.conv_kernel ?? 4, "f32", 0.25);
    add("ssm_conv1d.bias", 1, convolved, "f32", 0);
    add("ssm_dt.bias", 1, heads, "f32", -3);
    add("ssm_a", heads, 1, "f32", -1);
    add("ssm_d", heads, 1);
    add("ssm_norm.weight", groups, inner / groups);
    add("ssm_out.weight", hidden, inner, type);
  }
  tensors.push({ name: "output_norm.weight", rows: 1, columns: hidden, type: "f32" });
  if (!config.tie_word_embeddings) {
    tensors.push({ name: "output.weight", rows: config.vocab_size, columns: hidden, type });
  }
  return tensors;
}

export function mamba2Entries(meta, config) {
  const numbers = {
    context_length: config.max_position_embeddings ?? 1048576,
    embedding_length: config.hidden_size,
    block_count: config.num_hidden_layers,
    feed_forward_length: 0,
    "attention.head_count": 0,
    "ssm.conv_kernel": config.conv_kernel ?? 4,
    "ssm.inner_size": innerOf(config),
    "ssm.state_size": config.state_size ?? 128,
    "ssm.time_step_rank": headsOf(config),
    "ssm.group_count": config.n_groups ?? 8,
    vocab_size: config.vocab_size,
  };
  return [
    ...Object.entries(numbers).map(([key, value]) => () => meta.keyU32(`mamba2.${key}`, value)),
    () => meta.keyF32("mamba2.attention.layer_norm_rms_epsilon", config.layer_norm_epsilon ?? 1e-5),
  ];
}
