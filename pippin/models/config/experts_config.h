// What configurations of mixtures of experts have in common.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "pippin/models/config/config.h"
#include "pippin/nn/decoder.h"
#include "pippin/nn/experts/experts.h"

namespace pippin::models {

// Keys of the sizes and the defaults of a class.
struct ExpertDefaults {
  std::string_view count_key = "num_experts";
  int64_t count = 0;
  std::string_view top_k_key = "num_experts_per_tok";
  int64_t top_k = 0;
  std::string_view width_key = "moe_intermediate_size";
  int64_t width = 0;
};

// Experts of the model's features and activation, a module each, chosen by a softmax over all.
// Throws InvalidFile where more are to be chosen than there are.
nn::ExpertsOptions experts_of(const Config& config, const nn::DecoderOptions& model,
                              const ExpertDefaults& defaults);

// An expert for every token, as wide as told.
void add_shared_expert(nn::ExpertsOptions& experts, const nn::DecoderOptions& model, int64_t width);

// DeepSeek-V3's router: the sigmoid of each score, a correction where experts are chosen, groups by
// the sum of their best two.
void use_corrected_sigmoid(const Config& config, nn::ExpertsOptions& experts, bool normalized);
// n_group and topk_group. Throws InvalidFile for groups that experts do not fill.
void read_groups(const Config& config, nn::RouterOptions& router, int64_t groups = 1,
                 int64_t top_groups = 1);

// Those of mlp_layer_types that are "sparse", where there is such a list; else all but the first
// layers, as many as first_k_dense_replace says.
void use_experts_by_type(const Config& config, nn::DecoderOptions& model,
                         const nn::ExpertsOptions& experts, int64_t dense);
// All layers' but the first `dense` ones.
void use_experts_after(nn::DecoderOptions& model, const nn::ExpertsOptions& experts, int64_t dense);
// Qwen's: neither those of mlp_only_layers nor those that decoder_sparse_step leaves out.
void use_qwen_experts(const Config& config, nn::DecoderOptions& model,
                      const nn::ExpertsOptions& experts);
// num_nextn_predict_layers: layers behind the last that predict further tokens, which are left
// alone.
void skip_prediction_layers(const Config& config, nn::DecoderOptions& model, int64_t fallback);
// The same of modules that lie next to the model, whose names begin so. `key` says how many there
// are.
void skip_prediction_modules(const Config& config, nn::DecoderOptions& model, std::string_view key,
                             std::string_view beginning);

}  // namespace pippin::models
