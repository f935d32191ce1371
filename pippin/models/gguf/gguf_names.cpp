#include "pippin/models/gguf/gguf_names.h"

#include <fmt/format.h>

namespace pippin::models {
namespace {

std::string joined(std::string_view path, std::string_view name) {
  if (path.empty() || name.empty()) return std::string(path.empty() ? name : path);
  return fmt::format("{}.{}", path, name);
}

}  // namespace

GgufNames::GgufNames(const nn::DecoderOptions& model, bool two_norms) : two_norms_(two_norms) {
  const auto below = [&](const std::string& name) { return joined(model.base, name); };
  add("token_embd", below(model.embedding));
  add("output_norm", below(model.final_norm));
  add("token_embd_norm", below(model.embedding_norm));
  // LFM2's name for the last norm.
  if (model.embedding_norm.empty()) add("token_embd_norm", below(model.final_norm));
  add("output", model.head);
  if (model.positions) add("position_embd", below(model.positions->path));
  if (model.altup) {
    add("altup_proj", below("altup_projections"), Form::Experts);
    add("altup_unembd_proj", below("altup_unembed_projections"), Form::Experts);
  }
  if (model.layer_rows || model.altup) {
    add("per_layer_token_embd", below("embed_tokens_per_layer"));
    add("per_layer_model_proj", below("per_layer_model_projection"));
    add("per_layer_proj_norm", below("per_layer_projection_norm"));
  }
  for (size_t i = 0; i < model.layers.size(); ++i) {
    const nn::LayerOptions& layer = model.layers[i];
    block_ = fmt::format("blk.{}.", i);
    const std::string number = std::to_string(i);
    layer_ = below(joined(model.layers_path, layer.path.empty() ? number : layer.path));
    add_norms(layer);
    add_mixer(layer);
    add_feed_forward(layer);
  }
}

const GgufNames::Place* GgufNames::find(std::string_view name) const {
  const auto found = places_.find(name);
  return found == places_.end() ? nullptr : &found->second;
}

void GgufNames::add(const std::string& name, std::string place, Form form) {
  if (!place.empty()) places_.insert_or_assign(name, Place{std::move(place), form});
}

void GgufNames::add_norms(const nn::LayerOptions& layer) {
  const auto norm = [&](const char* name, const std::string& own) {
    if (!own.empty()) add(block_ + name, joined(layer_, own));
  };
  // A layer with one part has one norm.
  norm("attn_norm", layer.attention_norm.empty() ? layer.mlp_norm : layer.attention_norm);
  if (two_norms_) {
    norm("attn_norm", layer.mlp_norm);
    norm("attn_norm_2", layer.attention_norm);
  }
  norm("ffn_norm", layer.mlp_norm);
  // The norm after attention; in layers without one, the norm before the feed-forward.
  const bool after = !layer.attention_post_norm.empty();
  norm("post_attention_norm", after ? layer.attention_post_norm : layer.mlp_norm);
  norm("attn_post_norm", layer.attention_post_norm);
  norm("post_ffw_norm", layer.mlp_post_norm);
  if (layer.form == nn::LayerOptions::Form::NormAfter) {
    norm("attn_output_norm", layer.attention_norm);
    norm("attn_norm_2", layer.attention_second_norm);
    norm("layer_output_norm", layer.mlp_norm);
  } else {
    norm("attn_output_norm", layer.mlp_norm);  // DBRX's
  }
  if (!layer.output_scale.empty()) {
    add(block_ + "layer_output_scale.weight", joined(layer_, layer.output_scale));
  }
  if (layer.rows || layer.altup) {
    norm("inp_gate", "per_layer_input_gate");
    norm("proj", "per_layer_projection");
    norm("post_norm", "post_per_layer_input_norm");
  }
  if (layer.altup) {
    norm("altup_correct_coef", "altup.correction_coefs");
    norm("altup_predict_coef", "altup.prediction_coefs");
    norm("altup_router", "altup.modality_router");
    norm("altup_router_norm", "altup.router_norm");
    norm("altup_correct_scale.weight", "altup.correct_output_scale");
    norm("laurel_l", "laurel.linear_left");
    norm("laurel_r", "laurel.linear_right");
    norm("laurel_post_norm", "laurel.post_laurel_norm");
  }
}

void GgufNames::add_mixer(const nn::LayerOptions& layer) {
  const std::string path = joined(layer_, layer.attention_path);
  if (const auto* attention = std::get_if<nn::AttentionOptions>(&layer.mixer)) {
    add(*attention, path);
  } else if (const auto* latent = std::get_if<nn::LatentAttentionOptions>(&layer.mixer)) {
    add(*latent, path);
  } else if (const auto* convolution = std::get_if<nn::ShortConvolutionOptions>(&layer.mixer)) {
    add(*convolution, path);
  } else if (const auto* mamba = std::get_if<nn::MambaOptions>(&layer.mixer)) {
    add(*mamba, path);
  } else if (const auto* mamba2 = std::get_if<nn::Mamba2Options>(&layer.mixer)) {
    add(*mamba2, path);
  } else if (const auto* delta = std::get_if<nn::GatedDeltaOptions>(&layer.mixer)) {
    add(*delta, path);
  } else if (const auto* both = std::get_if<nn::AttentionWithMambaOptions>(&layer.mixer)) {
    add(both->attention, joined(path, both->attention_path));
    add(both->mamba, joined(path, both->mamba_path));
  }
}

void GgufNames::add(const nn::AttentionOptions& attention, const std::string& path) {
  add(block_ + "attn_q", joined(path, attention.query));
  add(block_ + "attn_k", joined(path, attention.key));
  add(block_ + "attn_v", joined(path, attention.value));
  add(block_ + "attn_qkv", joined(path, attention.qkv));
  add(block_ + "attn_output", joined(path, attention.output));
  add(block_ + "attn_q_norm", joined(path, attention.qk_norm.query));
  add(block_ + "attn_k_norm", joined(path, attention.qk_norm.key));
  add(block_ + "attn_sinks.weight", joined(path, attention.sinks_name));
  if (!attention.output_norm.name.empty()) {
    add(block_ + "attn_sub_norm", joined(path, attention.output_norm.name));
  }
  if (attention.gate) add(block_ + "attn_gate", joined(path, attention.gate->path));
}

void GgufNames::add(const nn::LatentAttentionOptions& attention, const std::string& path) {
  add(block_ + "attn_q", joined(path, "q_proj"));
  add(block_ + "attn_q_a", joined(path, "q_a_proj"));
  add(block_ + "attn_q_a_norm", joined(path, "q_a_layernorm"));
  add(block_ + "attn_q_b", joined(path, "q_b_proj"));
  add(block_ + "attn_kv_a_mqa", joined(path, "kv_a_proj_with_mqa"));
  add(block_ + "attn_kv_a_norm", joined(path, "kv_a_layernorm"));
  add(block_ + "attn_kv_b", joined(path, "kv_b_proj"));
  add(block_ + "attn_k_b", joined(path, "k_b_proj"), Form::Matrix);
  add(block_ + "attn_v_b", joined(path, "v_b_proj"), Form::Matrix);
  add(block_ + "attn_output", joined(path, "o_proj"));
  if (!attention.indexer) return;
  const std::string indexer = joined(path, "indexer");
  add(block_ + "indexer.k_norm", joined(indexer, "k_norm"));
  add(block_ + "indexer.proj", joined(indexer, "weights_proj"));
  add(block_ + "indexer.attn_k", joined(indexer, "wk"));
  add(block_ + "indexer.attn_q_b", joined(indexer, "wq_b"));
}

void GgufNames::add(const nn::ShortConvolutionOptions& convolution, const std::string& path) {
  add(block_ + "shortconv.in_proj", joined(path, convolution.input));
  add(block_ + "shortconv.conv", joined(path, convolution.kernel), Form::Convolution);
  add(block_ + "shortconv.out_proj", joined(path, convolution.output));
}

void GgufNames::add(const nn::MambaOptions& mamba, const std::string& path) {
  add(block_ + "ssm_in", joined(path, "in_proj"));
  add(block_ + "ssm_conv1d", joined(path, "conv1d"), Form::Convolution);
  add(block_ + "ssm_x", joined(path, "x_proj"));
  add(block_ + "ssm_dt", joined(path, "dt_proj"));
  add(block_ + "ssm_a", joined(path, "A_log"));
  add(block_ + "ssm_d", joined(path, "D"));
  add(block_ + "ssm_out", joined(path, "out_proj"));
  add(block_ + "ssm_dt_norm", joined(path, mamba.step_norm));
  add(block_ + "ssm_b_norm", joined(path, mamba.key_norm));
  add(block_ + "ssm_c_norm", joined(path, mamba.query_norm));
}

void GgufNames::add(const nn::Mamba2Options& /*mamba*/, const std::string& path) {
  add(block_ + "ssm_in", joined(path, "in_proj"));
  add(block_ + "ssm_conv1d", joined(path, "conv1d"), Form::Convolution);
  add(block_ + "ssm_dt.bias", joined(path, "dt_bias"));
  add(block_ + "ssm_a", joined(path, "A_log"), Form::Vector);
  add(block_ + "ssm_d", joined(path, "D"), Form::Vector);
  add(block_ + "ssm_norm", joined(path, "norm"), Form::Vector);
  add(block_ + "ssm_out", joined(path, "out_proj"));
}

void GgufNames::add(const nn::GatedDeltaOptions& delta, const std::string& path) {
  add(block_ + "attn_qkv", joined(path, "in_proj_qkv"));
  add(block_ + "attn_gate", joined(path, "in_proj_z"));
  add(block_ + "ssm_alpha", joined(path, "in_proj_a"));
  add(block_ + "ssm_beta", joined(path, "in_proj_b"));
  add(block_ + "ssm_ba", joined(path, "in_proj_ba"));
  add(block_ + "ssm_conv1d", joined(path, "conv1d"), Form::Convolution);
  add(block_ + "ssm_dt.bias", joined(path, "dt_bias"));
  add(block_ + "ssm_a", joined(path, "A_log"), Form::Vector);
  add(block_ + "ssm_norm", joined(path, delta.norm_name));
  add(block_ + "ssm_out", joined(path, delta.output));
}

void GgufNames::add_feed_forward(const nn::LayerOptions& layer) {
  const std::string path = joined(layer_, layer.mlp_path);
  if (const auto* mlp = std::get_if<nn::MLPOptions>(&layer.feed_forward)) {
    add(*mlp, path);
  } else if (const auto* experts = std::get_if<nn::ExpertsOptions>(&layer.feed_forward)) {
    add(*experts, path);
  } else if (const auto* both = std::get_if<nn::MlpWithExpertsOptions>(&layer.feed_forward)) {
    add(both->mlp, joined(layer_, both->mlp_path));
    add(both->experts, path);
    add(block_ + "ffn_norm", joined(layer_, both->mlp_norm.name));
    add(block_ + "post_ffw_norm_1", joined(layer_, both->mlp_post_norm.name));
    add(block_ + "post_ffw_norm_2", joined(layer_, both->experts_post_norm.name));
    add(block_ + "pre_ffw_norm_2", joined(layer_, both->experts.input_norm.name));
  }
}

void GgufNames::add(const nn::MLPOptions& mlp, const std::string& path, std::string_view ending) {
  const auto name = [&](const char* part) { return fmt::format("{}{}{}", block_, part, ending); };
  if (!mlp.fused && mlp.gated) add(name("ffn_gate"), joined(path, mlp.gate));
  add(name("ffn_up"), joined(path, mlp.fused ? mlp.gate : mlp.up));
  add(name("ffn_down"), joined(path, mlp.down));
  if (!mlp.inner_norm.name.empty()) add(name("ffn_sub_norm"), joined(path, mlp.inner_norm.name));
}

void GgufNames::add(const nn::ExpertsOptions& experts, const std::string& path) {
  const nn::RouterOptions& router = experts.router;
  add(block_ + "ffn_gate_inp", joined(path, router.path));
  if (!router.correction.empty()) {
    for (const char* name : {"exp_probs_b.bias", "exp_probs_b"}) {
      add(block_ + name, joined(path, router.correction), Form::Vector);
    }
  }
  if (!router.input_scale.empty()) {
    add(block_ + "ffn_gate_inp.scale", joined(path, router.input_scale));
  }
  if (!router.expert_scale.empty()) {
    add(block_ + "ffn_down_exps.scale", joined(path, router.expert_scale));
  }
  const std::string stack = joined(path, experts.path);
  const auto part = [&](const char* name, const char* own) {
    places_.insert_or_assign(block_ + name, Place{stack, Form::Experts, own});
  };
  part("ffn_gate_exps", "gate_proj");
  part("ffn_up_exps", "up_proj");
  part("ffn_down_exps", "down_proj");
  places_.insert_or_assign(block_ + "ffn_gate_up_exps", Place{stack, Form::GateAndUp});
  if (!experts.into_latent.empty()) {
    add(block_ + "ffn_latent_down", joined(path, experts.into_latent));
    add(block_ + "ffn_latent_up", joined(path, experts.out_of_latent));
  }
  if (experts.shared) add(*experts.shared, joined(path, experts.shared_path), "_shexp");
  if (!experts.shared_gate.empty()) {
    add(block_ + "ffn_gate_inp_shexp", joined(path, experts.shared_gate));
  }
}

}  // namespace pippin::models
