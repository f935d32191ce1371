// Gemma 3n (Google 2025, text): several residual streams (AltUp), a low-rank product next to
// attention, rows of a table for each layer, feed-forwards of which only the strongest part counts;
// the last layers read the keys and values of earlier ones.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/rope_settings.h"
#include "pippin/models/lineages.h"

namespace pippin::models {
namespace {

// The quantile of the normal distribution for a fraction.
double normal_quantile(double share) {
  double low = -10, high = 10;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (0.5 * std::erfc(-middle / std::sqrt(2.0)) < share ? low : high) = middle;
  }
  return (low + high) / 2;
}

// activation_sparsity_pattern: the fraction of each layer's feed-forward that is dropped.
std::vector<double> sparsities(const Config& config, size_t layers) {
  std::vector<double> shares(layers, 0.0);
  const auto value = config.find("activation_sparsity_pattern");
  if (value && value->is_array()) {
    shares = value->as_floats();
    if (shares.size() != layers) {
      config.invalid("activation_sparsity_pattern",
                     fmt::format("{} for {} layers", shares.size(), layers));
    }
  } else if (value) {
    std::fill(shares.begin(), shares.end(), value->as_float());
  } else if (!config.contains("activation_sparsity_pattern")) {
    std::fill_n(shares.begin(), std::min<size_t>(10, layers), 0.95);
  }
  for (const double share : shares) {
    if (!(share >= 0 && share < 1)) {
      config.invalid("activation_sparsity_pattern", "not between 0 and 1");
    }
  }
  return shares;
}

nn::AltUpOptions altup_options(const Config& config, const nn::DecoderOptions& model) {
  nn::AltUpOptions altup;
  altup.features = model.hidden_size;
  altup.streams = config.size("altup_num_inputs", 4, 64);
  if (altup.streams < 2) config.unsupported("altup_num_inputs", "1 is not supported");
  if (const auto active = config.find("altup_active_idx")) altup.active = active->as_int();
  if (altup.active < 0 || altup.active >= altup.streams) {
    config.invalid("altup_active_idx", "not the number of an input");
  }
  const bool own_clip = !config.contains("altup_coef_clip");
  altup.coef_clip = own_clip ? 120.0 : config.find_number("altup_coef_clip");
  altup.correct_scale = config.flag("altup_correct_scale", true);
  altup.laurel_rank = config.size("laurel_rank", 64);
  altup.rows = layer_rows(config, model);
  altup.norm = model.norm;
  return altup;
}

}  // namespace

nn::LayerRowsOptions layer_rows(const Config& config, const nn::DecoderOptions& model) {
  nn::LayerRowsOptions rows;
  rows.features = model.hidden_size;
  rows.row = config.size("hidden_size_per_layer_input", 256);
  rows.vocab_size = config.size("vocab_size_per_layer_input", 262144);
  rows.activation = model.layers.at(0).mlp().activation;
  rows.norm = model.norm;
  return rows;
}

void share_keys(const Config& config, const std::vector<bool>& sliding, nn::DecoderOptions& model,
                int64_t fallback) {
  const auto value = config.find("num_kv_shared_layers");
  const int64_t shared = value ? value->as_int() : fallback;
  const auto count = static_cast<int64_t>(model.layers.size());
  const int64_t own = count - shared;
  if (shared < 0 || own < 0) config.invalid("num_kv_shared_layers", "more than there are layers");
  if (own == 0) return;
  for (int64_t i = own; i < count; ++i) {
    int64_t from = own - 1;
    while (from >= 0 && sliding[static_cast<size_t>(from)] != sliding[static_cast<size_t>(i)])
      --from;
    if (from < 0) config.invalid("num_kv_shared_layers", "no layer of the same kind to share with");
    model.layers[static_cast<size_t>(i)].attention().keys_of = from;
    for (const char* part : {"k_proj.", "v_proj.", "k_norm."}) {
      model.unused.push_back("layers." + std::to_string(i) + ".self_attn." + part);
    }
  }
}

nn::DecoderOptions gemma3n_text(const Config& config) {
  config.ignore({"hidden_act"});
  const auto widths = config.find("intermediate_size");
  const bool listed = widths && widths->is_array();
  Defaults defaults = {.vocab_size = 262400,
                       .hidden_size = 2048,
                       .intermediate_size = 16384,
                       .num_layers = 35,
                       .num_heads = 8,
                       .num_kv_heads = 2,
                       .head_dim = 256,
                       .context = 32768,
                       .activation_key = "hidden_activation",
                       .activation = "gelu_pytorch_tanh",
                       .rope_theta = 1e6,
                       .rope_kind = kFullLayers,
                       .tied = true};
  if (listed) defaults.width_key = "";  // read below
  nn::DecoderOptions model = llama_like(config, defaults);
  model.embedding_scale = std::sqrt(static_cast<double>(model.hidden_size));
  const auto cap = config.find_number("final_logit_softcapping");
  model.logit_softcap =
      cap || config.contains("final_logit_softcapping") ? cap : std::optional(30.0);
  const size_t count = model.layers.size();
  const auto sliding = sliding_layers(config, count).value_or(sliding_pattern(count, 5));
  slide(model, sliding, window_size(config, 512));
  const int64_t head_dim = model.layers.at(0).attention().head_dim;
  model.ropes.push_back(
      sliding_rope(config, head_dim, config.number("rope_local_base_freq", 10000.0)));
  const auto shares = sparsities(config, count);
  const bool bias = config.flag("attention_bias", false);
  model.altup = altup_options(config, model);
  share_keys(config, sliding, model, 15);
  for (size_t i = 0; i < count; ++i) {
    nn::LayerOptions& layer = model.layers[i];
    layer.attention_post_norm = "post_attention_layernorm";
    layer.mlp_norm = "pre_feedforward_layernorm";
    layer.mlp_post_norm = "post_feedforward_layernorm";
    layer.altup = model.altup;
    if (!model.altup->correct_scale) {  // the file holds the scale nevertheless
      model.unused.push_back("layers." + std::to_string(i) + ".altup.correct_output_scale");
    }
    nn::AttentionOptions& attention = layer.attention();
    attention.scale = 1.0;
    attention.qkv_bias = attention.output_bias = bias;
    attention.qk_norm = {.place = nn::QkNorm::Place::BeforeRope, .norm = layer.norm};
    attention.value_norm = layer.norm;
    if (sliding[i]) attention.rope = 1;
    if (shares[i] > 0) layer.mlp().cutoff = normal_quantile(shares[i]);
  }
  if (!listed) return model;
  const std::vector<int64_t> sizes = widths->as_ints();
  if (sizes.size() != count) {
    config.invalid("intermediate_size", fmt::format("{} for {} layers", sizes.size(), count));
  }
  for (size_t i = 0; i < count; ++i) {
    if (sizes[i] < 1 || sizes[i] > kMaxSize) config.invalid("intermediate_size", "out of range");
    model.layers[i].mlp().hidden_features = sizes[i];
  }
  return model;
}

}  // namespace pippin::models
