// The complete T5 (Raffel et al. 2020), Flan-T5, mT5 and UMT5: the decoder's layers attend to
// earlier target tokens and to the encoded source.
#include "pippin/models/encoders/encoder_decoder.h"

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "pippin/array/builder.h"
#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/families/encoder_decoder.h"
#include "pippin/families/package.h"
#include "pippin/families/stateful.h"
#include "pippin/models/causal_lm.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/t5_config.h"
#include "pippin/models/encoders.h"
#include "pippin/models/family/package_part.h"
#include "pippin/models/model_source.h"
#include "pippin/nn/attention/cross_attention.h"
#include "pippin/nn/attention/stateful_cache.h"
#include "pippin/nn/encoder.h"

namespace pippin::models {
namespace {

namespace fs = std::filesystem;
namespace encoder_decoder = families::encoder_decoder;
namespace stateful = families::stateful;
using array::Array;

constexpr int64_t kUsualContext = 512;

// Both attentions and the feed-forward of a decoder's layer, as two layers of nn/layer.h.
struct DecoderLayers {
  nn::LayerOptions own, across;
};

DecoderLayers layers_of(const T5Config& sizes, int64_t index) {
  nn::LayerOptions own;
  own.features = sizes.width;
  own.norm = sizes.norm;
  own.attention_norm = "layer.0.layer_norm";
  own.attention_path = "layer.0.SelfAttention";
  own.mixer = sizes.attention();
  own.mlp_norm.clear();
  own.feed_forward = nn::NoFeedForwardOptions{};
  nn::LayerOptions across = own;
  across.attention_norm = "layer.1.layer_norm";
  across.attention_path = "layer.1.EncDecAttention";
  across.attention().keys_of = index;
  across.mlp_norm = "layer.2.layer_norm";
  across.mlp_path = "layer.2.DenseReluDense";
  across.feed_forward = sizes.mlp();
  return {own, across};
}

class EncoderDecoderRecorder {
 public:
  EncoderDecoderRecorder(const Config& config, const nn::Parameters& parameters, int64_t context)
      : sizes_(config),
        context_(context),
        described_(describe_encoder(config).encoder),
        parameters_(parameters.unpacking(described_.packed)),
        encoder_(parameters_, described_, context),
        decoder_(parameters_.at("decoder")) {}

  mil::Model record();
  PackedMatrices packed_matrices() const { return parameters_.packed_matrices(); }
  void check_all_used() const {
    constexpr std::string_view kNone[] = {"embed_tokens.weight"};
    const std::vector<std::string> others =
        sizes_.tied ? std::vector<std::string>{"lm_head."} : std::vector<std::string>{};
    parameters_.check_all_used(kNone, others);
  }

 private:
  mil::DataType type() const { return parameters_.type(); }
  nn::Parameters block(int64_t index) const { return decoder_.at("block").at(index); }
  std::vector<int64_t> cross_dims() const {
    return {sizes_.decoder_layers, 1, sizes_.heads, context_, sizes_.head_dim};
  }
  nn::StatefulCacheShape cache_shape() const {
    const std::vector<nn::MixerNeeds> needs(static_cast<size_t>(sizes_.decoder_layers),
                                            sizes_.attention().needs());
    return nn::StatefulCacheShape(needs, context_);
  }
  mil::Feature state(const std::string& name, const std::vector<int64_t>& dims) const {
    return mil::state_feature(name, type(), dims);
  }

  void record_encode(mil::Model& model) const;
  void record_decode(mil::Model& model) const;
  Array decode(const Array& ids, const nn::Pass& pass, const Array& source_mask,
               nn::Cache& own_cache, nn::Cache& cross_cache) const;
  Array logits(const Array& x, const nn::Embedding& embedding) const;

  T5Config sizes_;
  int64_t context_;
  nn::EncoderOptions described_;
  nn::Parameters parameters_;
  nn::Encoder encoder_;
  nn::Parameters decoder_;
};

void EncoderDecoderRecorder::record_encode(mil::Model& model) const {
  array::Builder builder;
  const mil::Dim source = mil::Dim::symbol("source", 1, context_);
  const Array ids = builder.input(encoder_decoder::kSourceIds, mil::DataType::Int32, {1, source});
  const Array all =
      array::cast(array::record_one("greater_equal", {{"x", ids}, {"y", array::constant(0)}}),
                  mil::DataType::Int32);
  const Array states = encoder_({ids, all, std::nullopt});
  nn::CrossStates cross(builder, type(), cross_dims());
  for (int64_t i = 0; i < sizes_.decoder_layers; ++i) {
    const nn::Parameters at = block(i).at("layer.1.EncDecAttention");
    const auto [keys, values] = nn::CrossProjection(at, sizes_.attention())(states);
    cross.write(i, keys, values);
  }
  builder.output(encoder_decoder::kStates, states);
  mil::FunctionDescription& function = model.functions.emplace_back();
  function.name = encoder_decoder::kEncode;
  function.inputs.push_back(mil::array_feature(encoder_decoder::kSourceIds,
                                               "Token ids of the source", mil::DataType::Int32,
                                               {1, 1}, {{1, 1}, {1, context_}}));
  function.outputs.push_back(
      mil::array_feature(encoder_decoder::kStates, "States of the source", type()));
  for (const char* name : {encoder_decoder::kCrossKeys, encoder_decoder::kCrossValues}) {
    function.states.push_back(state(name, cross_dims()));
  }
  model.specification_version = mil::specification_version(builder.opset());
  model.program.functions.emplace(encoder_decoder::kEncode, builder.build());
}

// v1.0 models share the embedding with the head, and scale its input.
Array EncoderDecoderRecorder::logits(const Array& x, const nn::Embedding& embedding) const {
  if (!sizes_.tied) {
    return nn::Linear(parameters_.at("lm_head"), sizes_.width, sizes_.vocab_size)(x);
  }
  const Array scaled = x * (1 / std::sqrt(static_cast<double>(sizes_.width)));
  return embedding.as_linear("lm_head")(scaled);
}

Array EncoderDecoderRecorder::decode(const Array& ids, const nn::Pass& pass,
                                     const Array& source_mask, nn::Cache& own_cache,
                                     nn::Cache& cross_cache) const {
  const nn::Embedding embedding(parameters_.at(sizes_.embedding), sizes_.vocab_size, sizes_.width);
  array::Builder& builder = array::Builder::current();
  const Array queries = array::range(builder.dim_array(pass.past), builder.dim_array(pass.end));
  const Array keys = array::range(array::constant(0), builder.dim_array(pass.end));
  nn::RelativeBiasOptions bias_options = sizes_.bias;
  bias_options.both_ways = false;
  std::optional<Array> mask;
  nn::LayerCarry carry;
  Array x = embedding(ids);
  for (int64_t i = 0; i < sizes_.decoder_layers; ++i) {
    const auto [own, across] = layers_of(sizes_, i);
    if (!mask || sizes_.bias_of_each_layer) {
      const nn::RelativeBias bias(block(i).at("layer.0.SelfAttention.relative_attention_bias"),
                                  bias_options, context_);
      mask = pass.mask + bias(queries, keys);
    }
    x = nn::DecoderLayer(block(i), own)(
        x, {i, nullptr, &*mask, own_cache, pass, carry, nullptr, nullptr});
    x = nn::DecoderLayer(block(i), across)(
        x, {i, nullptr, &source_mask, cross_cache, pass, carry, nullptr, nullptr});
  }
  const nn::Norm norm(decoder_.at("final_layer_norm"), sizes_.width, sizes_.norm);
  return logits(norm(x), embedding);
}

void EncoderDecoderRecorder::record_decode(mil::Model& model) const {
  array::Builder builder;
  const mil::Dim query = mil::Dim::symbol("query", 1, context_);
  const mil::Dim end = mil::Dim::symbol("end", 1, context_);
  const mil::Dim source = mil::Dim::symbol("source", 1, context_);
  const Array ids = builder.input(stateful::kIds, mil::DataType::Int32, {1, query});
  const Array mask = builder.input(stateful::kMask, type(), {1, 1, query, end});
  const Array source_mask = builder.input(encoder_decoder::kSourceMask, type(), {1, 1, 1, source});
  const nn::StatefulCacheShape shape = cache_shape();
  nn::StatefulCache own(builder, type(), shape);
  const nn::CrossStates cross(builder, type(), cross_dims());
  nn::CrossCache cross_cache(cross, source);
  const nn::Pass pass{end - query, query, end, mask};
  builder.output(stateful::kLogits, decode(ids, pass, source_mask, own, cross_cache));
  mil::FunctionDescription& function = model.functions.emplace_back();
  function.name = families::kMain;
  const mil::SizeRange one{1, 1}, any{1, context_};
  function.inputs = {
      mil::array_feature(stateful::kIds, "Token ids of the new positions", mil::DataType::Int32,
                         {1, 1}, {one, any}),
      mil::array_feature(
          stateful::kMask,
          "Added to attention scores: 0 where a position is seen, -inf where it is not", type(),
          {1, 1, 1, 1}, {one, one, any, any}),
      mil::array_feature(encoder_decoder::kSourceMask, "The same for the tokens of the source",
                         type(), {1, 1, 1, 1}, {one, one, one, any})};
  function.outputs.push_back(mil::array_feature(
      stateful::kLogits, "Scores of the next token, for every new position", type()));
  for (const auto& own_state : shape.states) {
    function.states.push_back(state(own_state.name, own_state.dims));
  }
  for (const char* name : {encoder_decoder::kCrossKeys, encoder_decoder::kCrossValues}) {
    function.states.push_back(state(name, cross_dims()));
  }
  model.program.functions.emplace(families::kMain, builder.build());
}

mil::Model EncoderDecoderRecorder::record() {
  mil::Model model;
  model.program.attributes.emplace(families::kBuildInfo, build_info());
  record_encode(model);
  record_decode(model);
  model.multifunction = true;
  model.default_function = families::kMain;
  return model;
}

}  // namespace

mil::Model build_encoder_decoder(const fs::path& source,
                                 const EncoderDecoderBuildOptions& options) {
  const Json json = load_config(source);
  const Config config(json);
  const int64_t start = config.json().get_int_or("decoder_start_token_id", 0);
  const int64_t most = T5Config(config).context;
  const int64_t context = options.context == 0 ? std::min(kUsualContext, most) : options.context;
  if (context < 2 || context > most) {
    fail(ErrorCode::InvalidArgument, "a context of {} tokens: 2 to {} are possible", context, most);
  }
  BuildOptions build;
  build.compute = options.compute;
  EncoderDecoderRecorder recorder(
      config, open_parameters(source, precision(build), {.doubled_norms = build.doubled_norms}),
      context);
  config.refuse_unread();
  mil::Model model = recorder.record();
  recorder.check_all_used();
  if (options.packed != nullptr) *options.packed = recorder.packed_matrices();
  auto& values = model.metadata.user_defined;
  const std::string given = name_in_package(source);
  const std::string name = given.empty() ? model_name(source, json) : given;
  const auto classes = json.find("architectures");
  model.metadata.short_description =
      fmt::format("{} ({})", name, json.get_string_or("model_type", ""));
  values[families::kMadeFromKey] = name;
  if (classes && classes->size() > 0) {
    values[families::kArchitectureKey] = std::string(classes->at(size_t{0}).as_string());
  }
  values[families::kVersionKey] = PIPPIN_VERSION;
  values[families::kFamilyKey] = encoder_decoder::kName;
  values[encoder_decoder::kStartKey] = std::to_string(start);
  return model;
}

}  // namespace pippin::models
