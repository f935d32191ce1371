// DeepSeek-V4 (2026): several residual streams, attention to a window and to compressed keys of
// blocks, and a table from tokens to experts in the first layers. Tensors have DeepSeek's own
// names.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/experts_config.h"
#include "pippin/models/config/nested_config.h"

namespace pippin::models {
namespace {

// Both multiply the program's size.
constexpr int64_t kMaxStreams = 64, kMaxIterations = 100;
constexpr std::string_view kSlidingOnly = "sliding_attention",
                           kSparseBlocks = "compressed_sparse_attention",
                           kHeavyBlocks = "heavily_compressed_attention";

// For each layer, the tokens of a block (0: no blocks), and whether blocks are chosen.
struct BlockKind {
  int64_t rate = 0;
  bool sparse = false;
};

int64_t block_rate(const Config& config, std::string_view kind, std::string_view older,
                   int64_t fallback) {
  const auto rates = config.find("compress_rates");
  const int64_t given = rates ? Config(*rates).size(kind, fallback, kMaxContext) : fallback;
  const int64_t rate = config.size(older, given, kMaxContext);
  if (rate < 2) config.unsupported("compress_rates", fmt::format("{}: {}", kind, rate));
  return rate;
}

// The names of a key's list, one for each layer. Published lists also have those of the prediction
// modules, which come after the layers.
std::vector<std::string> names_of_layers(const Config& config, std::string_view key,
                                         const Json& list, size_t count) {
  std::vector<std::string> names = list.as_strings();
  if (names.size() < count) {
    config.invalid(key, fmt::format("{} for {} layers", names.size(), count));
  }
  names.resize(count);
  return names;
}

std::vector<BlockKind> block_kinds(const Config& config, size_t count) {
  const BlockKind sparse{block_rate(config, kSparseBlocks, "compress_rate_csa", 4), true};
  const BlockKind heavy{block_rate(config, kHeavyBlocks, "compress_rate_hca", 128), false};
  std::vector<BlockKind> kinds(count, heavy);
  if (const auto names = config.find("layer_types")) {
    const auto given = names_of_layers(config, "layer_types", *names, count);
    for (size_t i = 0; i < count; ++i) {
      if (given[i] != kSlidingOnly && given[i] != kSparseBlocks && given[i] != kHeavyBlocks) {
        config.unsupported("layer_types",
                           fmt::format("'{}' is not supported (known: {}, {}, {})", given[i],
                                       kSlidingOnly, kSparseBlocks, kHeavyBlocks));
      }
      kinds[i] = given[i] == kSparseBlocks  ? sparse
                 : given[i] == kHeavyBlocks ? heavy
                                            : BlockKind{};
    }
    config.ignore({"compress_ratios"});
    return kinds;
  }
  if (const auto ratios = config.find("compress_ratios")) {
    const std::vector<int64_t> given = ratios->as_ints();
    if (given.size() < count) {
      config.invalid("compress_ratios", fmt::format("{} for {} layers", given.size(), count));
    }
    for (size_t i = 0; i < count; ++i) {
      if (given[i] != 0 && given[i] != 4 && given[i] != 128) {
        config.unsupported("compress_ratios",
                           fmt::format("{} is not supported (known: 0, 4, 128)", given[i]));
      }
      kinds[i] = given[i] == 4 ? sparse : given[i] == 128 ? heavy : BlockKind{};
    }
    return kinds;
  }
  for (size_t i = 3; i < count; i += 2) kinds[i] = sparse;
  return kinds;
}

// rope_parameters with an object for each of both ropes, or YaRN's settings of the second one
// alone.
void add_both_ropes(const Config& config, nn::DecoderOptions& model, int64_t head_dim) {
  const auto turned = config.find_size("qk_rope_head_dim", kMaxHeadDim);
  const double part = turned ? static_cast<double>(*turned) / static_cast<double>(head_dim) : 0.125;
  const double factor = config.number("partial_rotary_factor", part);
  const double theta = config.number("rope_theta", 10000.0);
  const double block_theta = config.number("compress_rope_theta", 160000.0);
  model.ropes.push_back(nested_rope(config, "main", model.context, theta, head_dim, factor));
  const auto parameters = config.find("rope_parameters"), scaling = config.find("rope_scaling");
  const bool nested = parameters && parameters->has("compress");
  if (nested || (!parameters && !scaling)) {
    model.ropes.push_back(
        nested_rope(config, "compress", model.context, block_theta, head_dim, factor));
  } else {
    const int64_t dims = model.ropes.at(0).dims;
    model.ropes.push_back(
        rope_options(config, dims, {.theta = block_theta, .rotary_factor = factor}));
    model.ropes.back().theta = block_theta;
    const bool own = Config(scaling ? *scaling : *parameters).find("attention_factor").has_value();
    if (!own) model.ropes.back().scaling.attention_factor = 1.0;
  }
}

nn::CompressedAttentionOptions v4_attention(const Config& config, const nn::DecoderOptions& model) {
  const nn::AttentionOptions& plain = model.layers.at(0).attention();
  nn::CompressedAttentionOptions attention;
  attention.features = model.hidden_size;
  attention.num_heads = plain.num_heads;
  attention.head_dim = plain.head_dim;
  attention.query_rank = config.size("q_lora_rank", 1024);
  attention.groups = config.size("o_groups", 8, kMaxHeads);
  attention.output_rank = config.size("o_lora_rank", 1024);
  attention.window = config.size("sliding_window", 128, kMaxContext);
  attention.norm = model.norm;
  config.require_multiple("num_attention_heads", attention.num_heads, "o_groups", attention.groups);
  if (plain.num_kv_heads != 1) {
    config.unsupported("num_key_value_heads", fmt::format("{} is not 1", plain.num_kv_heads));
  }
  return attention;
}

// The attention of a kind of layer.
nn::CompressedAttentionOptions v4_attention_of_kind(const Config& config,
                                                    const nn::DecoderOptions& model,
                                                    nn::CompressedAttentionOptions attention,
                                                    BlockKind kind) {
  if (kind.rate == 0) return attention;
  attention.rope = 1;
  nn::KeyCompressorOptions blocks;
  blocks.features = model.hidden_size;
  blocks.size = attention.head_dim;
  blocks.rate = kind.rate;
  blocks.overlap = kind.sparse;
  blocks.norm = model.norm;
  blocks.frequencies = nn::rope_frequencies(model.ropes.at(1));
  blocks.state = kind.sparse ? "sparseBlockCache" : "heavyBlockCache";
  attention.blocks = blocks;
  if (!kind.sparse) return attention;
  nn::CompressedAttentionOptions::Chooser chooser;
  chooser.heads = config.size("index_n_heads", 64, kMaxHeads);
  chooser.top_k = config.size("index_topk", 512, kMaxContext);
  chooser.blocks = blocks;
  chooser.blocks.size = config.size("index_head_dim", 128, kMaxHeadDim);
  chooser.blocks.state = "indexBlockCache";
  if (chooser.blocks.size < model.ropes.at(1).dims) {
    config.invalid("index_head_dim", fmt::format("{} is less than the {} rotated dimensions",
                                                 chooser.blocks.size, model.ropes.at(1).dims));
  }
  attention.chooser = chooser;
  return attention;
}

nn::ExpertsOptions v4_experts(const Config& config, const nn::DecoderOptions& model) {
  nn::ExpertsOptions experts = experts_of(
      config, model, {.count_key = "n_routed_experts", .count = 256, .top_k = 6, .width = 2048});
  nn::RouterOptions& router = experts.router;
  const std::string scores = config.text("scoring_func", "sqrtsoftplus");
  using Scores = nn::RouterOptions::Scores;
  if (scores == "sigmoid") {
    router.scores = Scores::Sigmoid;
  } else if (scores == "sqrtsoftplus") {
    router.scores = Scores::SqrtSoftplus;
  } else if (scores != "softmax") {
    config.unsupported("scoring_func",
                       "'" + scores + "' is not supported (known: sqrtsoftplus, sigmoid, softmax)");
  }
  router.normalized = true;
  router.added_to_sum = 1e-20;
  router.scale = config.number("routed_scaling_factor", 1.5);
  router.vocab_size = model.vocab_size;
  experts.weights.gate = "w1";
  experts.weights.up = "w3";
  experts.weights.down = "w2";
  experts.limit = config.number("swiglu_limit", 10.0);
  add_shared_experts(config, experts, model, "n_shared_experts", 1);
  if (!experts.shared) return experts;
  experts.shared->gate = "w1";
  experts.shared->up = "w3";
  experts.shared->down = "w2";
  experts.shared->limit = experts.limit;
  experts.shared->bias = config.flag("mlp_bias", false);
  return experts;
}

// Whether a table gives a layer's experts.
std::vector<bool> looked_up_layers(const Config& config, size_t count) {
  constexpr std::string_view kByTable = "hash_moe", kByScores = "moe";
  std::vector<bool> result(count);
  const auto first = config.find("num_hash_layers");
  const auto names = config.find("mlp_layer_types");
  if (!names) {
    const auto tables = static_cast<size_t>(first ? first->as_int(0, kMaxLayers) : 3);
    std::fill_n(result.begin(), std::min(tables, count), true);
    return result;
  }
  const auto given = names_of_layers(config, "mlp_layer_types", *names, count);
  for (size_t i = 0; i < count; ++i) {
    result[i] = given[i] == kByTable;
    if (result[i] || given[i] == kByScores) continue;
    config.unsupported("mlp_layer_types", fmt::format("'{}' is not supported (known: {}, {})",
                                                      given[i], kByTable, kByScores));
  }
  return result;
}

}  // namespace

nn::DecoderOptions deepseek_v4(const Config& config) {
  nn::DecoderOptions model = plain_decoder(config, {.vocab_size = 129280,
                                                    .hidden_size = 4096,
                                                    .width_key = "moe_intermediate_size",
                                                    .num_layers = 43,
                                                    .num_heads = 64,
                                                    .num_kv_heads = 1,
                                                    .head_dim = 512,
                                                    .context = 1048576});
  const size_t count = model.layers.size();
  // As in its class, attention has no biases and the experts' weights are always normalized.
  config.ignore({"attention_bias", "norm_topk_prob", "mlp_bias"});
  const nn::CompressedAttentionOptions attention = v4_attention(config, model);
  add_both_ropes(config, model, attention.head_dim);
  nn::ExpertsOptions experts = v4_experts(config, model);
  const auto kinds = block_kinds(config, count);
  const auto tables = looked_up_layers(config, count);
  nn::HyperOptions hyper;
  hyper.features = model.hidden_size;
  hyper.streams = config.size("hc_mult", 4, kMaxStreams);
  hyper.iterations = config.size("hc_sinkhorn_iters", 20, kMaxIterations);
  hyper.epsilon = config.number("hc_eps", 1e-6);
  hyper.norm = model.norm;
  model.hyper = hyper;
  for (size_t i = 0; i < count; ++i) {
    nn::LayerOptions& layer = model.layers[i];
    layer.attention_norm = "attn_norm";
    layer.mlp_norm = "ffn_norm";
    layer.attention_path = "attn";
    layer.mlp_path = "ffn";
    layer.hyper = hyper;
    layer.mixer = v4_attention_of_kind(config, model, attention, kinds[i]);
    experts.router.table = tables[i] ? "gate.tid2eid" : "";
    experts.router.correction = tables[i] ? "" : "gate.bias";
    layer.feed_forward = experts;
  }
  model.base.clear();
  model.embedding = "embed";
  model.head = "head";
  skip_prediction_modules(config, model, "num_nextn_predict_layers", "mtp.");
  return model;
}

}  // namespace pippin::models
