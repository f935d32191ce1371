// Shared by configurations of mixtures of experts.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "pippin/models/config/config.h"
#include "pippin/nn/decoder.h"
#include "pippin/nn/experts/experts.h"

namespace pippin::models {

// A class's keys of sizes, and its defaults.
struct ExpertDefaults {
  std::string_view count_key = "num_experts";
  int64_t count = 0;
  std::string_view top_k_key = "num_experts_per_tok";
  int64_t top_k = 0;
  std::string_view width_key = "moe_intermediate_size";
  int64_t width = 0;
};

// Experts with the model's features and activation, one module each, chosen by a softmax over all.
// Throws InvalidFile if more are to be chosen than there are.
nn::ExpertsOptions experts_of(const Config& config, const nn::DecoderOptions& model,
                              const ExpertDefaults& defaults);

// An expert for every token, of the given width.
void add_shared_expert(nn::ExpertsOptions& experts, const nn::DecoderOptions& model, int64_t width);
// One as wide as the number of experts in `key`, at "shared_experts"; none if that is 0 or null.
void add_shared_experts(const Config& config, nn::ExpertsOptions& experts,
                        const nn::DecoderOptions& model, std::string_view key, int64_t usual);

// DeepSeek-V3's router: the sigmoid of each score, a correction for the choice, groups by the sum
// of their best two.
void use_corrected_sigmoid(const Config& config, nn::ExpertsOptions& experts, bool normalized);
// n_group and topk_group. Throws InvalidFile if the groups do not divide the experts evenly.
void read_groups(const Config& config, nn::RouterOptions& router, int64_t groups = 1,
                 int64_t top_groups = 1);

// In the layers that mlp_layer_types lists as "sparse"; without such a list, in all layers after
// the first first_k_dense_replace.
void use_experts_by_type(const Config& config, nn::DecoderOptions& model,
                         const nn::ExpertsOptions& experts, int64_t dense);
// In all layers after the first `dense` ones.
void use_experts_after(nn::DecoderOptions& model, const nn::ExpertsOptions& experts, int64_t dense);
// Qwen's: except the layers in mlp_only_layers and those that decoder_sparse_step skips.
void use_qwen_experts(const Config& config, nn::DecoderOptions& model,
                      const nn::ExpertsOptions& experts);
// num_nextn_predict_layers: layers after the last that predict further tokens, which are ignored.
void skip_prediction_layers(const Config& config, nn::DecoderOptions& model, int64_t fallback);
// The same for modules next to the model, whose names have this prefix. `key` holds their number.
void skip_prediction_modules(const Config& config, nn::DecoderOptions& model, std::string_view key,
                             std::string_view beginning);
// After one of these, and after everything else: the form of the first prediction layer, DeepSeek's
// (eh_proj, enorm, hnorm, shared_head.norm) around a layer like the model's last, or Qwen's (fc,
// pre_fc_norm_embedding, pre_fc_norm_hidden, norm) around a layer like its last with attention.
void predict_like_deepseek(nn::DecoderOptions& model);
void predict_like_qwen(nn::DecoderOptions& model);

}  // namespace pippin::models
