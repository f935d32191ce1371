#include "pippin/models/encoders/encoder_decoder_recorder.h"

#include <string_view>
#include <utility>

#include "pippin/array/builder.h"
#include "pippin/array/ops.h"
#include "pippin/families/encoder_decoder.h"
#include "pippin/families/package.h"
#include "pippin/families/stateful.h"
#include "pippin/models/family/package_part.h"
#include "pippin/nn/attention/cross_attention.h"
#include "pippin/nn/layers/pass_cache.h"

namespace pippin::models {

namespace encoder_decoder = families::encoder_decoder;
namespace stateful = families::stateful;
using array::Array;

namespace {

// Ones, of the shape of the ids.
Array all_tokens(const Array& ids) {
  return array::cast(array::record_one("greater_equal", {{"x", ids}, {"y", array::constant(0)}}),
                     mil::DataType::Int32);
}

// A row of the source's mask, (1, 1, 1, source), for each query.
Array rows_for(const nn::Pass& pass, const Array& source_mask) {
  array::Builder& builder = array::Builder::current();
  const Array queries = array::range(builder.dim_array(pass.past), builder.dim_array(pass.end));
  const Array zeros = array::cast(queries, source_mask.type()) * 0.0;
  return array::expand_dims(zeros, {0, 1, 3}) + source_mask;
}

}  // namespace

EncoderDecoderRecorder::EncoderDecoderRecorder(const EncoderDecoderDescription& model,
                                               const nn::Parameters& parameters, int64_t context)
    : model_(model),
      context_(context),
      parameters_(parameters.unpacking(model.encoder.packed)),
      encoder_(parameters_, model.encoder, most_source()),
      decoder_(parameters_.at(model.base)) {}

void EncoderDecoderRecorder::check_all_used() const {
  constexpr std::string_view kNone[] = {"embed_tokens.weight"};
  parameters_.check_all_used(kNone, model_.unused);
}

std::vector<int64_t> EncoderDecoderRecorder::cross_dims() const {
  const nn::AttentionOptions& attention = layer(0).across.attention();
  return {num_layers(), 1, attention.num_kv_heads, most_source(), attention.head_dim};
}

nn::StatefulCacheShape EncoderDecoderRecorder::cache_shape() const {
  std::vector<nn::MixerNeeds> needs;
  needs.reserve(model_.layers.size());
  for (const auto& one : model_.layers) needs.push_back(one.own.needs());
  return nn::StatefulCacheShape(needs, context_);
}

mil::Feature EncoderDecoderRecorder::state(const std::string& name,
                                           const std::vector<int64_t>& dims) const {
  return mil::state_feature(name, type(), dims);
}

void EncoderDecoderRecorder::add_cross_states(mil::FunctionDescription& function) const {
  for (const char* name : {encoder_decoder::kCrossKeys, encoder_decoder::kCrossValues}) {
    function.states.push_back(state(name, cross_dims()));
  }
}

mil::Feature EncoderDecoderRecorder::source_feature() const {
  if (model_.hears()) {
    const nn::FeatureStemOptions& stem = *model_.encoder.stem;
    if (!stem.is_fixed()) {
      return mil::array_feature(encoder_decoder::kSourceSamples, "Samples of the recording", type(),
                                {1, stem.least_frames}, {{1, 1}, {stem.least_frames, stem.frames}});
    }
    return mil::array_feature(encoder_decoder::kSourceFeatures, "Log-mel spectrogram", type(),
                              {1, stem.inputs, stem.frames});
  }
  return mil::array_feature(encoder_decoder::kSourceIds, "Token ids of the source",
                            mil::DataType::Int32, {1, 1}, {{1, 1}, {1, context_}});
}

mil::Feature EncoderDecoderRecorder::ids_feature(const char* description) const {
  return mil::array_feature(stateful::kIds, description, mil::DataType::Int32, {1, 1},
                            {{1, 1}, {1, context_}});
}

mil::Feature EncoderDecoderRecorder::mask_feature() const {
  const mil::SizeRange one{1, 1}, any{1, context_};
  return mil::array_feature(
      stateful::kMask,
      "Added to attention scores: 0 where a position is seen, -inf where it is not", type(),
      {1, 1, 1, 1}, {one, one, any, any});
}

Array EncoderDecoderRecorder::source_of(const Array& states) const {
  Array x = states;
  const int64_t width = model_.encoder.hidden_size;
  if (model_.source_positions) {
    const nn::Embedding positions =
        nn::position_table(decoder_, *model_.source_positions, width, most_source());
    x = x + positions.rows(0, x.dim(1));
  }
  if (model_.source_projection.empty()) return x;
  return nn::Linear(decoder_.at(model_.source_projection), width, model_.width)(x);
}

void EncoderDecoderRecorder::record_encode(mil::Model& model) const {
  array::Builder builder;
  const mil::Feature feature = source_feature();
  const auto encoded = [&] {
    if (model_.has_fixed_source()) {
      return encoder_.of_features(
          builder.input(feature.name, feature.data_type, mil::to_shape(feature.shape)));
    }
    if (model_.hears()) {
      const mil::SizeRange& range = feature.ranges.at(1);
      const mil::Dim samples = mil::Dim::symbol("samples", range.lower, range.upper);
      const Array sound = builder.input(feature.name, feature.data_type, {1, samples});
      return encoder_.of_features(array::expand_dims(sound, {1}));
    }
    const mil::Dim source = mil::Dim::symbol("source", 1, context_);
    const Array ids = builder.input(feature.name, feature.data_type, {1, source});
    return encoder_({ids, all_tokens(ids), std::nullopt, std::nullopt});
  };
  finish_encode(encoder_decoder::kEncode, feature, encoded(), builder, model);
}

void EncoderDecoderRecorder::record_attend(mil::Model& model) const {
  array::Builder builder;
  mil::Feature feature = mil::array_feature(encoder_decoder::kSourceStates, "States of the source",
                                            type(), {1, most_source(), model_.encoder.hidden_size});
  const Array given = builder.input(feature.name, feature.data_type, mil::to_shape(feature.shape));
  finish_encode(encoder_decoder::kAttend, std::move(feature),
                array::record_one("identity", {{"x", given}}), builder, model);
}

void EncoderDecoderRecorder::finish_encode(const char* name, mil::Feature input,
                                           const Array& states, array::Builder& builder,
                                           mil::Model& model) const {
  const Array source = source_of(states);
  nn::CrossStates cross(builder, type(), cross_dims());
  for (int64_t i = 0; i < num_layers(); ++i) {
    const nn::LayerOptions& across = layer(i).across;
    const nn::Parameters at = block(i).at(across.attention_path);
    const auto [keys, values] = nn::CrossProjection(at, across.attention())(source);
    cross.write(i, keys, values);
  }
  builder.output(encoder_decoder::kStates, states);
  mil::FunctionDescription& function = model.functions.emplace_back();
  function.name = name;
  function.inputs.push_back(std::move(input));
  function.outputs.push_back(
      mil::array_feature(encoder_decoder::kStates, "States of the source", type()));
  if (const auto dims = mil::constant_shape(states.shape())) function.outputs.back().shape = *dims;
  add_cross_states(function);
  model.specification_version = mil::specification_version(builder.opset());
  model.program.functions.emplace(name, builder.build());
}

nn::Parameters EncoderDecoderRecorder::embedding_at() const {
  return model_.embedding_of_encoder ? encoder_.root().at(model_.encoder.embedding)
                                     : parameters_.at(model_.embedding);
}

nn::Embedding EncoderDecoderRecorder::embedding() const {
  return nn::Embedding(embedding_at(), model_.vocab_size, model_.width);
}

Array EncoderDecoderRecorder::embed(const Array& ids, const nn::Pass& pass) const {
  Array x = embedding()(ids);
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

Array EncoderDecoderRecorder::run_layers(const Inputs& inputs, int64_t end,
                                         nn::LayerCarry& carry) const {
  array::Builder& builder = array::Builder::current();
  const nn::Pass& pass = inputs.pass;
  std::optional<Array> biased;
  std::vector<nn::Rotation> rotations;
  rotations.reserve(model_.ropes.size());
  for (const nn::RopeOptions& rope : model_.ropes) {
    rotations.push_back(nn::Rope(context_, rope, type()).rows(pass.past, pass.end));
  }
  Array x = embed(inputs.ids, pass);
  for (int64_t i = 0; i < end; ++i) {
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
    if (model_.merged) mask = array::concat({mask, rows_for(pass, *inputs.source_mask)}, 3);
    x = nn::DecoderLayer(block(i), own)(
        x, {i, rotation, &mask, inputs.own, pass, carry, nullptr, nullptr});
    if (model_.merged) continue;
    carry.watched_heads = model_.alignment_heads_of(i);
    x = nn::DecoderLayer(block(i), across)(
        x, {i, nullptr, inputs.source_mask, inputs.cross, pass, carry, nullptr, nullptr});
  }
  return x;
}

Array EncoderDecoderRecorder::logits(const Array& states) const {
  Array x = states;
  if (!model_.final_norm.empty()) {
    x = nn::Norm(decoder_.at(model_.final_norm), model_.width, model_.norm)(x);
  }
  if (model_.head_scale != 1.0) x = x * model_.head_scale;
  Array scores = model_.tied
                     ? embedding().as_linear("lm_head")(x)
                     : nn::Linear(parameters_.at(model_.head), model_.width, model_.vocab_size)(x);
  // Not all checkpoints have the bias, which is mostly zeros.
  if (!model_.head_bias.empty() && parameters_.contains(model_.head_bias)) {
    scores = scores + parameters_.get(model_.head_bias, {1, model_.vocab_size});
  }
  if (!model_.softcap) return scores;
  return array::tanh(scores * (1 / *model_.softcap)) * *model_.softcap;
}

void EncoderDecoderRecorder::record_decode(mil::Model& model) const {
  array::Builder builder;
  const mil::Dim query = mil::Dim::symbol("query", 1, context_);
  const mil::Dim end = mil::Dim::symbol("end", 1, context_);
  const Array ids = builder.input(stateful::kIds, mil::DataType::Int32, {1, query});
  const Array mask = builder.input(stateful::kMask, type(), {1, 1, query, end});
  mil::FunctionDescription& function = model.functions.emplace_back();
  function.name = families::kMain;
  function.inputs = {ids_feature("Token ids of the new positions"), mask_feature()};
  mil::Dim source = most_source();
  std::optional<Array> source_mask;
  if (!model_.has_fixed_source()) {
    source = mil::Dim::symbol("source", 1, most_source());
    source_mask = builder.input(encoder_decoder::kSourceMask, type(), {1, 1, 1, source});
    function.inputs.push_back(
        mil::array_feature(encoder_decoder::kSourceMask, "The same for the states of the source",
                           type(), {1, 1, 1, 1}, {{1, 1}, {1, 1}, {1, 1}, {1, most_source()}}));
  }
  const nn::StatefulCacheShape shape = cache_shape();
  nn::StatefulCache own(builder, type(), shape);
  const nn::CrossStates cross(builder, type(), cross_dims());
  nn::CrossCache cross_cache(cross, source);
  nn::MergedCache merged(own, cross, source);
  nn::Cache& own_cache = model_.merged ? static_cast<nn::Cache&>(merged) : own;
  const nn::Pass pass{end - query, query, end, mask};
  nn::LayerCarry carry;
  const Array states =
      run_layers({ids, pass, source_mask ? &*source_mask : nullptr, own_cache, cross_cache},
                 num_layers(), carry);
  builder.output(stateful::kLogits, logits(states));
  function.outputs.push_back(mil::array_feature(
      stateful::kLogits, "Scores of the next token, for every new position", type()));
  for (const auto& own_state : shape.states) {
    function.states.push_back(state(own_state.name, own_state.dims));
  }
  add_cross_states(function);
  model.program.functions.emplace(families::kMain, builder.build());
}

void EncoderDecoderRecorder::record_align(mil::Model& model) const {
  array::Builder builder;
  const mil::Dim count = mil::Dim::symbol("query", 1, context_);
  const Array ids = builder.input(stateful::kIds, mil::DataType::Int32, {1, count});
  const nn::CrossStates cross(builder, type(), cross_dims());
  nn::CrossCache cross_cache(cross, most_source());
  nn::PassCache own;
  const Array mask = builder.input(stateful::kMask, type(), {1, 1, count, count});
  const nn::Pass pass{0, count, count, mask};
  nn::LayerCarry carry;
  run_layers({ids, pass, nullptr, own, cross_cache}, model_.alignment_heads.back().first + 1,
             carry);
  builder.output(encoder_decoder::kAttention, array::concat(carry.weights, 1));
  mil::FunctionDescription& function = model.functions.emplace_back();
  function.name = encoder_decoder::kAlign;
  function.inputs = {ids_feature("Token ids of the target from its start"), mask_feature()};
  function.outputs.push_back(mil::array_feature(
      encoder_decoder::kAttention, "Weights of some heads over the states of the source", type()));
  add_cross_states(function);
  model.program.functions.emplace(encoder_decoder::kAlign, builder.build());
}

mil::Model EncoderDecoderRecorder::record(bool attend) {
  mil::Model model;
  model.program.attributes.emplace(families::kBuildInfo, build_info());
  record_encode(model);
  record_decode(model);
  if (!model_.alignment_heads.empty()) record_align(model);
  if (attend && model_.has_fixed_source()) record_attend(model);
  model.multifunction = true;
  model.default_function = families::kMain;
  return model;
}

}  // namespace pippin::models
