// The architectures' options of a model folder, for the modules in Python (pippin/nn).
#include <string>
#include <utility>
#include <variant>

#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include "pippin/app/open/gguf_model.h"
#include "pippin/base/error.h"
#include "pippin/models/architectures.h"
#include "pippin/models/gguf/gguf.h"
#include "pippin/models/model_source.h"
#include "pippin/nn/decoder.h"
#include "pippin/python/bindings.h"

namespace pippin::python {
namespace {

namespace py = pybind11;

// Throws Unsupported if the layer has a part that the Python modules do not support.
void refuse(bool present, size_t layer, const char* what) {
  if (!present) return;
  fail(ErrorCode::Unsupported,
       "layer {} has {}, which the modules of pippin.nn have no form for; run or convert the model "
       "instead",
       layer, what);
}

const char* name_of(nn::Activation activation) {
  switch (activation) {
    case nn::Activation::Silu:
      return "silu";
    case nn::Activation::Gelu:
      return "gelu";
    case nn::Activation::GeluTanh:
      return "gelu_approx";
    case nn::Activation::QuickGelu:
      return "gelu_fast_approx";
    case nn::Activation::Relu:
      return "relu";
    case nn::Activation::Relu2:
      return "relu2";
    case nn::Activation::Tanh:
      return "tanh";
    case nn::Activation::Sigmoid:
      return "sigmoid";
    case nn::Activation::Softplus:
      return "softplus";
    case nn::Activation::Identity:
    case nn::Activation::XIELU:
      break;
  }
  return "";
}

py::dict dict_of(const nn::NormOptions& norm) {
  return py::dict(py::arg("kind") = norm.kind == nn::NormOptions::Kind::RMS ? "rms" : "layer",
                  py::arg("epsilon") = norm.epsilon, py::arg("weight") = norm.weight,
                  py::arg("bias") = norm.bias, py::arg("scale") = norm.scale,
                  py::arg("one_plus") = norm.one_plus);
}

py::dict dict_of(const nn::RopeOptions& rope, int64_t context) {
  const nn::RopeScaling& scaling = rope.scaling;
  if (scaling.kind == nn::RopeScaling::Kind::Dynamic && context > scaling.original_context) {
    fail(ErrorCode::Unsupported,
         "positions are scaled by the length (dynamic), which the modules of pippin.nn have no "
         "form for");
  }
  if (rope.reversed) {
    fail(ErrorCode::Unsupported,
         "positions rotate in reverse, which the modules of pippin.nn have no form for");
  }
  py::dict result(py::arg("dims") = rope.dims, py::arg("frequencies") = rope_frequencies(rope),
                  py::arg("factor") = scaling.attention_factor);
  if (scaling.kind == nn::RopeScaling::Kind::LongRope && context > scaling.original_context) {
    result["original_context"] = scaling.original_context;
    result["long_frequencies"] = rope_frequencies(rope, scaling.original_context + 1);
    result["long_factor"] = scaling.long_attention_factor.value_or(scaling.attention_factor);
  }
  return result;
}

py::dict dict_of(const nn::AttentionOptions& attention, size_t layer) {
  const nn::QkNorm& qk = attention.qk_norm;
  refuse(attention.chunk.has_value(), layer, "attention in chunks");
  refuse(attention.sinks, layer, "attention with sinks");
  refuse(attention.temperature.has_value(), layer, "attention with temperatures");
  refuse(!attention.output_norm.name.empty() || attention.value_norm.has_value(), layer,
         "a norm of values");
  refuse(attention.keys_of.has_value(), layer, "keys of another layer");
  refuse(attention.output_gate || attention.gate.has_value(), layer, "a gated output");
  refuse(attention.values_of_keys || attention.value_dim != 0 || attention.value_scale != 1, layer,
         "values of keys, or of another size or scale");
  refuse(attention.layout > nn::QkvLayout::PerGroup, layer,
         "q, k and v by quarters of the heads, or with a gate");
  refuse(!std::holds_alternative<nn::NoScoreBiasOptions>(attention.bias), layer,
         "attention with something added to its scores");
  refuse(attention.differential.has_value(), layer, "differential attention");
  refuse(attention.convolution.has_value(), layer, "convolutions of keys and values");
  refuse(attention.adapter_rank > 0, layer, "adapters");
  refuse(attention.output_features != 0 && attention.output_features != attention.features, layer,
         "an output of another size");
  refuse(qk.place != nn::QkNorm::Place::None && qk.weights != nn::QkNorm::Weights::Shared, layer,
         "norms of single heads");
  static constexpr const char* kLayouts[] = {"separate", "blocks", "per_group"};
  static constexpr const char* kPlaces[] = {"", "projection", "before_rope", "after_rope"};
  py::dict result;
  result["num_heads"] = attention.num_heads;
  result["num_kv_heads"] = attention.num_kv_heads;
  result["head_dim"] = attention.head_dim;
  result["qkv_bias"] = attention.qkv_bias;
  result["output_bias"] = attention.output_bias;
  result["layout"] = kLayouts[static_cast<size_t>(attention.layout)];
  result["names"] = py::dict(py::arg("query") = attention.query, py::arg("key") = attention.key,
                             py::arg("value") = attention.value, py::arg("qkv") = attention.qkv,
                             py::arg("output") = attention.output, py::arg("query_norm") = qk.query,
                             py::arg("key_norm") = qk.key);
  result["transposed"] = attention.transposed;
  result["clip"] = attention.clip;
  result["clip_normed"] = attention.clip_normed;
  result["scale"] = attention.scale;
  result["softcap"] = attention.softcap;
  result["window"] = attention.window;
  result["rope"] = attention.rope;
  result["rope_dims"] = attention.rope_dims;
  result["interleaved"] = attention.interleaved;
  result["qk_norm"] = kPlaces[static_cast<size_t>(qk.place)];
  result["qk_norm_options"] = dict_of(qk.norm);
  return result;
}

py::dict dict_of(const nn::MLPOptions& mlp, size_t layer) {
  refuse(mlp.activation == nn::Activation::Identity || mlp.activation == nn::Activation::XIELU,
         layer, "an activation with parameters, or none");
  refuse(!mlp.inner_norm.name.empty(), layer, "a norm inside its feed-forward");
  refuse(mlp.cutoff != 0, layer, "gates with a cutoff");
  refuse(mlp.limit || mlp.up_shift != 0, layer, "limits of its feed-forward");
  refuse(!mlp.result_scale.empty(), layer, "a factor of its feed-forward's result");
  refuse(mlp.adapter_rank > 0, layer, "adapters");
  py::dict result;
  result["hidden_features"] = mlp.hidden_features;
  result["activation"] = name_of(mlp.activation);
  result["gated"] = mlp.gated;
  result["bias"] = mlp.bias;
  result["transposed"] = mlp.transposed;
  result["fused"] = mlp.gated && mlp.fused;
  result["names"] =
      py::dict(py::arg("gate") = mlp.gate, py::arg("up") = mlp.up, py::arg("down") = mlp.down);
  result["gate_scale"] = mlp.gate_scale;
  result["down_scale"] = mlp.down_scale;
  return result;
}

py::dict dict_of(const nn::LayerOptions& layer, size_t index) {
  const auto* attention = std::get_if<nn::AttentionOptions>(&layer.mixer);
  const auto* mlp = std::get_if<nn::MLPOptions>(&layer.feed_forward);
  refuse(attention == nullptr, index, "something else than attention over keys and values");
  refuse(mlp == nullptr, index, "experts, or no feed-forward");
  refuse(layer.altup.has_value() || layer.shortcut.has_value() || layer.takes_shortcut, index,
         "several streams");
  refuse(layer.rows.has_value(), index, "embeddings per layer");
  refuse(!layer.output_scale.empty(), index, "a factor of its result");
  refuse(!layer.path.empty(), index, "a name of its own");
  refuse(layer.attention_path.empty(), index, "attention that is not part of it");
  refuse(layer.attention_norm_rank != 0 || layer.mlp_norm_rank != 0, index, "gated norms");
  refuse(layer.post_norm_epsilon.has_value(), index, "norms of two epsilons");
  for (const nn::FeatureShiftOptions* shift :
       {&layer.attention_residual, &layer.attention_added, &layer.mlp_residual, &layer.mlp_added}) {
    refuse(!shift->bias.empty() || !shift->scale.empty(), index, "shifts of its residual");
  }
  refuse(layer.convolution_length != 0, index, "convolutions of its results");
  refuse(layer.hyper.has_value(), index, "several residual streams");
  refuse(layer.turn.has_value(), index, "turns");
  static constexpr const char* kForms[] = {"serial", "parallel", "norm_after", "norm_carried"};
  py::dict result;
  result["form"] = kForms[static_cast<size_t>(layer.form)];
  result["norm"] = dict_of(layer.norm);
  result["names"] = py::dict(
      py::arg("attention") = layer.attention_path, py::arg("mlp") = layer.mlp_path,
      py::arg("attention_norm") = layer.attention_norm,
      py::arg("attention_post_norm") = layer.attention_post_norm,
      py::arg("mlp_norm") = layer.mlp_norm, py::arg("mlp_post_norm") = layer.mlp_post_norm);
  result["residual_scale"] = layer.residual_scale;
  result["carry"] = py::make_tuple(layer.attention_carry, layer.attention_scale, layer.mlp_carry,
                                   layer.mlp_scale);
  result["post_norm_scale"] = layer.post_norm_scale;
  result["attention"] = dict_of(*attention, index);
  result["mlp"] = dict_of(*mlp, index);
  return result;
}

py::dict decoder_options(const std::filesystem::path& source) {
  const auto gguf = app::find_gguf(source);
  const models::Config config(models::load_config(gguf ? app::gguf_folder(*gguf) : source));
  // MLX's quantized folders: layers are built to match their weights (pippin/nn/_weights.py).
  if (config.contains("quantization")) config.ignore({"quantization", "quantization_config"});
  nn::DecoderOptions model = models::describe_architecture(config, "");
  models::apply_gguf(config, model);
  config.refuse_unread();
  const std::initializer_list<std::pair<bool, const char*>> others = {
      {model.packed && !gguf, "packed matrices"},
      {model.altup.has_value(), "several streams"},
      {model.layer_rows.has_value(), "embeddings per layer"},
      {model.hyper.has_value(), "several residual streams"},
      {model.embedding_norm_form.has_value(), "a norm of embeddings of another form"},
      {!model.embedding_shift.bias.empty() || !model.embedding_shift.scale.empty(),
       "a shift of its embeddings"},
      {!model.embedded_as_first.empty(), "ids that stand for pictures"},
      {model.positions && model.positions->sinusoids != nn::LearnedPositions::Sinusoids::None,
       "sinusoidal positions"},
      {!model.head_layer.path.empty(), "a layer before its head"},
      {model.embedding_rows != 0 && model.embedding_rows != model.vocab_size,
       "an embedding with more rows than its head"},
      {model.embedding_size != 0 && model.embedding_size != model.hidden_size,
       "an embedding of another size"},
  };
  for (const auto& [is_there, what] : others) {
    if (!is_there) continue;
    fail(ErrorCode::Unsupported, "'{}' has {}, which the modules of pippin.nn have no form for",
         source.string(), what);
  }
  py::dict result;
  result["vocab_size"] = model.vocab_size;
  result["hidden_size"] = model.hidden_size;
  result["context"] = model.context;
  result["names"] = py::dict(
      py::arg("base") = model.base, py::arg("embedding") = model.embedding,
      py::arg("embedding_norm") = model.embedding_norm, py::arg("layers") = model.layers_path,
      py::arg("final_norm") = model.final_norm, py::arg("head") = model.head);
  if (model.positions) {
    result["positions"] =
        py::dict(py::arg("name") = model.positions->path, py::arg("rows") = model.positions->rows,
                 py::arg("offset") = model.positions->offset);
  }
  if (model.alibi) {
    result["alibi"] =
        py::dict(py::arg("slopes") = model.alibi->slopes, py::arg("scale") = model.alibi->scale,
                 py::arg("rounded") = model.alibi->rounded);
  }
  result["embedding_scale"] = model.embedding_scale;
  result["norm"] = dict_of(model.norm);
  result["tied"] = model.tied;
  result["tied_without_head"] = model.tied_without_head;
  result["head_bias"] = model.head_bias;
  result["logit_scale"] = model.logit_scale;
  result["logit_softcap"] = model.logit_softcap;
  py::list ropes, layers;
  for (const nn::RopeOptions& rope : model.ropes) ropes.append(dict_of(rope, model.context));
  for (size_t i = 0; i < model.layers.size(); ++i) layers.append(dict_of(model.layers[i], i));
  result["ropes"] = ropes;
  result["layers"] = layers;
  result["is_gguf"] = gguf.has_value();
  result["unused"] = model.unused;
  result["other_parts"] = model.other_parts;
  result["ignored_endings"] = model.ignored_endings();
  py::list roots;
  for (const nn::DecoderOptions::Root& root : model.roots) {
    roots.append(py::make_tuple(root.base, root.head));
  }
  result["roots"] = roots;
  return result;
}

}  // namespace

void bind_decoders(py::module_& module) {
  module.def("_decoder_options", &decoder_options, py::arg("folder"));
}

}  // namespace pippin::python
