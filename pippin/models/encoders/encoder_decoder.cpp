// Encoder–decoder programs. The decoder's layers attend to earlier tokens and to the encoder's
// states.
#include "pippin/models/encoders/encoder_decoder.h"

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
#include "pippin/models/encoders/encoder_decoder_description.h"
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

class EncoderDecoderRecorder {
 public:
  EncoderDecoderRecorder(const EncoderDecoderDescription& model, const nn::Parameters& parameters,
                         int64_t context)
      : model_(model),
        context_(context),
        parameters_(parameters.unpacking(model.encoder.packed)),
        encoder_(parameters_, model.encoder, context),
        decoder_(parameters_.at(model.base)) {}

  mil::Model record();
  PackedMatrices packed_matrices() const { return parameters_.packed_matrices(); }
  void check_all_used() const {
    constexpr std::string_view kNone[] = {"embed_tokens.weight"};
    parameters_.check_all_used(kNone, model_.unused);
  }

 private:
  mil::DataType type() const { return parameters_.type(); }
  nn::Parameters block(int64_t index) const { return decoder_.at(model_.layers_path).at(index); }
  int64_t num_layers() const { return std::ssize(model_.layers); }
  const EncoderDecoderDescription::Layer& layer(int64_t index) const {
    return model_.layers.at(static_cast<size_t>(index));
  }
  std::vector<int64_t> cross_dims() const {
    const nn::AttentionOptions& attention = layer(0).across.attention();
    return {num_layers(), 1, attention.num_kv_heads, context_, attention.head_dim};
  }
  nn::StatefulCacheShape cache_shape() const {
    std::vector<nn::MixerNeeds> needs;
    needs.reserve(model_.layers.size());
    for (const auto& one : model_.layers) needs.push_back(one.own.needs());
    return nn::StatefulCacheShape(needs, context_);
  }
  mil::Feature state(const std::string& name, const std::vector<int64_t>& dims) const {
    return mil::state_feature(name, type(), dims);
  }

  void record_encode(mil::Model& model) const;
  void record_decode(mil::Model& model) const;
  Array embed(const Array& ids, const nn::Pass& pass, const nn::Embedding& table) const;
  Array decode(const Array& ids, const nn::Pass& pass, const Array& source_mask,
               const nn::CrossStates& cross, const mil::Dim& source, nn::Cache& own_cache) const;
  nn::Parameters embedding_at() const {
    return model_.embedding_of_encoder ? encoder_.root().at(model_.encoder.embedding)
                                       : parameters_.at(model_.embedding);
  }
  Array logits(const Array& x, const nn::Embedding& embedding) const;

  EncoderDecoderDescription model_;
  int64_t context_;
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
  const Array states = encoder_({ids, all, std::nullopt, std::nullopt});
  nn::CrossStates cross(builder, type(), cross_dims());
  for (int64_t i = 0; i < num_layers(); ++i) {
    const nn::LayerOptions& across = layer(i).across;
    const nn::Parameters at = block(i).at(across.attention_path);
    const auto [keys, values] = nn::CrossProjection(at, across.attention())(states);
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

Array EncoderDecoderRecorder::logits(const Array& x, const nn::Embedding& embedding) const {
  const Array scaled = model_.head_scale == 1.0 ? x : x * model_.head_scale;
  Array scores = model_.tied ? embedding.as_linear("lm_head")(scaled)
                             : nn::Linear(parameters_.at(model_.head), model_.width,
                                          model_.vocab_size)(scaled);
  // Not all checkpoints have the bias, which is mostly zeros.
  if (!model_.head_bias.empty() && parameters_.contains(model_.head_bias)) {
    scores = scores + parameters_.get(model_.head_bias, {1, model_.vocab_size});
  }
  if (!model_.softcap) return scores;
  return array::tanh(scores * (1 / *model_.softcap)) * *model_.softcap;
}

Array EncoderDecoderRecorder::embed(const Array& ids, const nn::Pass& pass,
                                    const nn::Embedding& table) const {
  Array x = table(ids);
  if (model_.embedding_scale != 1.0) x = x * model_.embedding_scale;
  if (model_.own_vector) x = model_.own_vector->put(x, ids, embedding_at());
  if (model_.positions) {
    const auto offset = static_cast<int32_t>(model_.positions->offset);
    const nn::Embedding positions =
        nn::position_table(decoder_, *model_.positions, model_.width, context_);
    x = x + positions.rows(pass.past + offset, pass.end + offset);
  }
  if (model_.embedding_norm.empty()) return x;
  return nn::Norm(decoder_.at(model_.embedding_norm), model_.width, model_.norm)(x);
}

// A row of the source's mask, (1, 1, 1, source), for each query.
Array rows_for(const nn::Pass& pass, const Array& source_mask) {
  array::Builder& builder = array::Builder::current();
  const Array queries = array::range(builder.dim_array(pass.past), builder.dim_array(pass.end));
  const Array zeros = array::cast(queries, source_mask.type()) * 0.0;
  return array::expand_dims(zeros, {0, 1, 3}) + source_mask;
}

Array EncoderDecoderRecorder::decode(const Array& ids, const nn::Pass& pass,
                                     const Array& source_mask, const nn::CrossStates& cross,
                                     const mil::Dim& source, nn::Cache& own_cache) const {
  const nn::Embedding embedding(embedding_at(), model_.vocab_size, model_.width);
  nn::CrossCache cross_cache(cross, source);
  nn::MergedCache merged_cache(own_cache, cross, source);
  array::Builder& builder = array::Builder::current();
  std::optional<Array> biased;
  std::vector<nn::Rotation> rotations;
  rotations.reserve(model_.ropes.size());
  for (const nn::RopeOptions& rope : model_.ropes) {
    rotations.push_back(nn::Rope(context_, rope, type()).rows(pass.past, pass.end));
  }
  nn::LayerCarry carry;
  Array x = embed(ids, pass, embedding);
  for (int64_t i = 0; i < num_layers(); ++i) {
    const auto& [own, across] = layer(i);
    if (model_.bias && (!biased || model_.bias_of_each_layer)) {
      const Array queries = array::range(builder.dim_array(pass.past), builder.dim_array(pass.end));
      const Array keys = array::range(array::constant(0), builder.dim_array(pass.end));
      const nn::RelativeBias bias(block(i).at(model_.bias->path), *model_.bias, context_);
      biased = pass.mask + bias(queries, keys);
    }
    Array mask = biased.value_or(pass.mask);
    const nn::MixerNeeds needs = own.needs();
    if (needs.window) mask = nn::window_mask(mask, nn::key_distances(pass), *needs.window);
    const nn::Rotation* rotation = needs.rope ? &rotations.at(*needs.rope) : nullptr;
    if (model_.merged) {
      mask = array::concat({mask, rows_for(pass, source_mask)}, 3);
      x = nn::DecoderLayer(block(i), own)(
          x, {i, rotation, &mask, merged_cache, pass, carry, nullptr, nullptr});
      continue;
    }
    x = nn::DecoderLayer(block(i), own)(
        x, {i, rotation, &mask, own_cache, pass, carry, nullptr, nullptr});
    x = nn::DecoderLayer(block(i), across)(
        x, {i, nullptr, &source_mask, cross_cache, pass, carry, nullptr, nullptr});
  }
  if (model_.final_norm.empty()) return logits(x, embedding);
  const nn::Norm norm(decoder_.at(model_.final_norm), model_.width, model_.norm);
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
  const nn::Pass pass{end - query, query, end, mask};
  builder.output(stateful::kLogits, decode(ids, pass, source_mask, cross, source, own));
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

namespace {

// The tokens of generation_config.json count before those of config.json.
void read_generation(const fs::path& source, EncoderDecoderDescription& model) {
  const fs::path path = text_folder(source) / "generation_config.json";
  if (fs::exists(path)) {
    const Json given = Json::load(path, kPythonJson);
    model.start = given.get_int_or("decoder_start_token_id", model.start);
    if (const auto first = given.find_int("forced_bos_token_id")) model.first = first;
  }
  const auto check = [&](const char* key, int64_t token) {
    if (token >= 0 && token < model.vocab_size) return;
    fail(ErrorCode::InvalidFile, "{}: {} is not one of {} tokens", key, token, model.vocab_size);
  };
  check("decoder_start_token_id", model.start);
  if (model.first) check("forced_bos_token_id", *model.first);
}

}  // namespace

mil::Model build_encoder_decoder(const fs::path& source,
                                 const EncoderDecoderBuildOptions& options) {
  const Json json = load_config(source);
  const Config config(json);
  EncoderDecoderDescription described = describe_encoder_decoder(config);
  read_generation(source, described);
  const int64_t most = described.context;
  const int64_t context = options.context == 0 ? std::min(kUsualContext, most) : options.context;
  if (context < 2 || context > most) {
    fail(ErrorCode::InvalidArgument, "a context of {} tokens: 2 to {} are possible", context, most);
  }
  BuildOptions build;
  build.compute = options.compute;
  EncoderDecoderRecorder recorder(
      described, open_parameters(source, precision(build), {.doubled_norms = build.doubled_norms}),
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
  values[encoder_decoder::kStartKey] = std::to_string(described.start);
  if (described.first) values[encoder_decoder::kFirstKey] = std::to_string(*described.first);
  return model;
}

}  // namespace pippin::models
