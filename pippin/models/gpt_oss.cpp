// gpt-oss (OpenAI 2025): every other layer slides, attention has a sink for each head, experts have
// biases and a bounded gate. Published files have the experts in MXFP4.
#include <cmath>

#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/experts_config.h"

namespace pippin::models {

namespace {

// OpenAI's own form, which only the experts have; MLX's mxfp4 applies to any matrix.
bool reads_mxfp4(const Config& config) {
  const auto quantization = config.json().find("quantization_config");
  if (!quantization || quantization->get_string_or("quant_method", "") != "mxfp4") return false;
  config.ignore({"quantization_config"});
  return true;
}

}  // namespace

nn::DecoderOptions gpt_oss(const Config& config) {
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 201088,
                                                 .hidden_size = 2880,
                                                 .intermediate_size = 2880,
                                                 .num_layers = 36,
                                                 .num_heads = 64,
                                                 .num_kv_heads = 8,
                                                 .head_dim = 64,
                                                 .context = 131072,
                                                 .epsilon = 1e-5,
                                                 .rope_theta = 150000.0});
  if (!config.contains("rope_scaling") && !config.contains("rope_parameters")) {
    model.ropes.at(0).scaling = {.kind = nn::RopeScaling::Kind::Yarn,
                                 .factor = 32.0,
                                 .original_context = 4096,
                                 .whole_dims = false,
                                 .attention_factor = 0.1 * std::log(32.0) + 1.0};
  }
  nn::ExpertsOptions experts = experts_of(config, model,
                                          {.count_key = "num_local_experts",
                                           .count = 128,
                                           .top_k = 4,
                                           .width_key = "intermediate_size",
                                           .width = 2880});
  experts.router.path = "router";
  experts.router.bias = true;
  experts.router.scores = nn::RouterOptions::Scores::Plain;
  experts.router.softmax_chosen = true;
  experts.weights.layout = nn::ExpertWeightsOptions::Layout::Interleaved;
  experts.weights.gate = "gate_up_proj";
  experts.weights.bias = true;
  experts.weights.mxfp4 = reads_mxfp4(config);
  // The class computes gate * sigmoid(1.702 gate) regardless of hidden_act.
  experts.activation = nn::Activation::QuickGelu;
  experts.limit = config.number("swiglu_limit", 7.0);
  experts.up_shift = 1.0;
  const bool bias = config.flag("attention_bias", true);
  for (nn::LayerOptions& layer : model.layers) {
    layer.attention().qkv_bias = layer.attention().output_bias = bias;
    layer.attention().sinks = true;
    layer.feed_forward = experts;
  }
  const size_t count = model.layers.size();
  slide(model, sliding_layers(config, count).value_or(sliding_pattern(count, 2)),
        window_size(config, 128));
  return model;
}

}  // namespace pippin::models
