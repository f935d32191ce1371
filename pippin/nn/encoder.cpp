#include "pippin/nn/encoder.h"

#include <string_view>

#include "pippin/array/builder.h"
#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/nn/attention/encoder_mask.h"
#include "pippin/nn/layers/pass_cache.h"

namespace pippin::nn {

using array::Array;

namespace {

// Of heads that encoders are trained with, and parts that other tasks need.
constexpr std::string_view kOtherParts[] = {"classifier.",       "cls.",
                                            "decoder.",          "discriminator_predictions.",
                                            "final_logits_bias", "model.decoder.",
                                            "generator_",        "head.",
                                            "lm_head",           "lm_predictions.",
                                            "mask_predictions.", "pooler.",
                                            "pre_classifier.",   "predictions.",
                                            "qa_outputs.",       "score.",
                                            "sop_classifier.",   "vocab_",
                                            "logit_bias",        "logit_scale",
                                            "vision_model.",     "visual_projection."};

Parameters find_root(const Parameters& parameters, const EncoderOptions& options) {
  const std::string& first =
      options.stem ? options.stem->convolutions.front().path : options.embedding;
  for (const std::string& base : options.bases) {
    if (parameters.at(base).at(first).contains("weight")) return parameters.at(base);
  }
  return parameters.at(options.bases.front());
}

}  // namespace

EncoderOptions as_encoder(const DecoderOptions& decoder) {
  if (decoder.alibi || decoder.altup ||
      (decoder.embedding_size > 0 && decoder.embedding_size != decoder.hidden_size)) {
    fail(ErrorCode::Unsupported,
         "embeddings of a language model with ALiBi, AltUp or a projected embedding are not "
         "supported");
  }
  decoder.check_keys_and_values_only("encoder");
  EncoderOptions options;
  options.vocab_size = decoder.table_rows();
  options.hidden_size = decoder.hidden_size;
  options.context = decoder.context;
  options.bases.clear();
  for (const DecoderOptions::Root& root : decoder.roots) options.bases.push_back(root.base);
  // Checkpoints of the bare model lack the base, or the first part of it.
  for (std::string_view base = decoder.base; !base.empty();) {
    options.bases.emplace_back(base);
    const size_t dot = base.find('.');
    base = dot == base.npos ? std::string_view() : base.substr(dot + 1);
  }
  options.bases.emplace_back();
  options.embedding = decoder.embedding;
  options.positions = decoder.positions;
  options.embedding_scale = decoder.embedding_scale;
  options.embedding_norm = decoder.embedding_norm;
  options.final_norm = decoder.final_norm;
  options.norm = decoder.norm;
  options.ropes = decoder.ropes;
  options.layers_path = decoder.layers_path;
  options.layers = decoder.layers;
  options.causal = true;
  options.packed = decoder.packed;
  options.unused = decoder.unused;
  return options;
}

Array TokenVector::put(const Array& x, const Array& ids, const Parameters& embedding) const {
  const Array is_token = array::cast(array::equal(ids, array::constant(token)), x.type());
  const Array mark = array::expand_dims(is_token, {2});
  const Array vector = embedding.get(name, {x.dim(2).constant()});
  return x * (mark * -1.0 + 1.0) + vector * mark;
}

Encoder::Encoder(const Parameters& parameters, const EncoderOptions& options, int64_t context)
    : options_(options), root_(find_root(parameters, options)) {
  const int64_t width = options.hidden_size;
  const int64_t first = options.embedding_size > 0 ? options.embedding_size : width;
  for (const RopeOptions& rope : options.ropes) {
    ropes_.emplace_back(context, rope, parameters.type());
  }
  if (!options.rope_table.empty() && root_.at(options.rope_table).contains("weight")) {
    rope_table_ =
        root_.at(options.rope_table).get("weight", {options.context, options.ropes.at(0).dims});
  }
  if (options.stem) {
    stem_.emplace(root_, *options.stem);
  } else {
    embedding_.emplace(root_.at(options.embedding), options.vocab_size, first);
  }
  if (!options.token_types.empty()) {
    token_types_.emplace(root_.at(options.token_types), options.num_token_types, first);
  }
  if (!options.task_types.empty()) {
    task_types_.emplace(root_.at(options.task_types), options.num_task_types, first);
  }
  if (options.positions) {
    // If tokens are counted, the first one has the row after the offset.
    const int64_t most = context + (options.uncounted ? 1 : 0);
    positions_.emplace(position_table(root_, *options.positions, first, most));
  }
  if (!options.embedding_norm.empty()) {
    embedding_norm_.emplace(root_.at(options.embedding_norm), first, options.norm);
  }
  if (!options.projection.empty() && first != width) {
    projection_.emplace(root_.at(options.projection), first, width, /*bias=*/true);
  }
  if (options.relative_rows > 0) {
    relative_ = root_.at(options.relative_embedding).get("weight", {options.relative_rows, width});
    if (!options.relative_norm.empty()) {
      const Norm norm(root_.at(options.relative_norm), width, options.relative_norm_options);
      relative_ = norm(*relative_);
    }
  }
  const Parameters all = root_.at(options.layers_path);
  if (options.variant && all.at(0).contains(options.variant->tensor)) {
    options_.layers = options.variant->layers;
  }
  for (size_t i = 0; i < options_.layers.size(); ++i) {
    const std::string& path = options_.layers[i].path;
    const Parameters own = path.empty() ? all.at(static_cast<int64_t>(i)) : all.at(path);
    layers_.emplace_back(own, options_.layers[i]);
    if (options.relative_bias && (options.relative_bias_of_layers || i == 0)) {
      const RelativeBiasOptions& bias = *options.relative_bias;
      biases_.emplace_back((options.relative_bias_of_layers ? own : root_).at(bias.path), bias,
                           context);
    }
  }
  if (options.convolution) {
    convolution_.emplace(root_.at(options.convolution->path), *options.convolution);
  }
  if (!options.final_norm.empty()) {
    final_norm_.emplace(root_.at(options.final_norm), width, options.norm);
  }
}

void Encoder::check_all_used() const {
  const std::string below = root_.path().empty() ? "" : root_.path() + ".";
  std::vector<std::string> others;
  for (const std::string_view part : kOtherParts) {
    others.emplace_back(part);
    if (!below.empty()) others.push_back(below + std::string(part));
  }
  for (const std::string& part : options_.unused) others.push_back(below + part);
  // Buffers that checkpoints hold.
  constexpr std::string_view kBuffers[] = {"position_ids", "token_type_ids", "rotary_emb.inv_freq",
                                           "rotary_embeddings.inv_freq"};
  root_.check_all_used(kBuffers, others);
}

// Rows of the table of positions, (length) or (batch, length).
Array Encoder::positions_of(const Array& ids, const mil::Dim& length) const {
  const auto offset = static_cast<int32_t>(options_.positions->offset);
  if (!options_.uncounted) return positions_->rows(offset, length + offset);
  const array::Scope scope("positions");
  const Array counted = array::cast(
      array::record_one("not_equal", {{"x", ids}, {"y", array::constant(*options_.uncounted)}}),
      mil::DataType::Int32);
  const Array running = array::record_one("cumsum", {{"x", counted}, {"axis", int64_t{1}}});
  return (*positions_)(running * counted + array::constant(offset));
}

Array Encoder::without_masked(const Array& x, const EncoderInput& input) const {
  const array::Scope scope("token_dropout");
  const TokenDropout& dropout = *options_.token_dropout;
  const Array tokens = array::cast(input.mask, mil::DataType::Float32);
  const Array left = array::cast(
      array::record_one("not_equal", {{"x", input.ids}, {"y", array::constant(dropout.token)}}),
      mil::DataType::Float32);
  const auto count = [](const Array& marks) {
    return array::reduce_sum(marks, {1}, /*keep_dims=*/true);
  };
  // 1 - masked / tokens, where padding is never masked.
  const Array observed = count(tokens * left) / array::maximum(count(tokens), 1.0);
  const Array scale = left * (1 - dropout.share) / array::maximum(observed, 1e-9);
  return x * array::cast(array::expand_dims(scale, {2}), x.type());
}

Array Encoder::embed(const EncoderInput& input) const {
  const array::Scope scope("embedding");
  Array x = (*embedding_)(input.ids);
  if (options_.token_dropout) x = without_masked(x, input);
  if (options_.embedding_scale != 1.0) x = x * options_.embedding_scale;
  if (options_.own_vector) {
    x = options_.own_vector->put(x, input.ids, root_.at(options_.embedding));
  }
  if (token_types_) {
    x = x + (input.token_types ? (*token_types_)(*input.token_types) : token_types_->rows(0, 1));
  }
  if (task_types_) {
    x = x + (input.task_types ? (*task_types_)(*input.task_types) : task_types_->rows(0, 1));
  }
  if (positions_) x = x + positions_of(input.ids, input.ids.dim(1));
  if (embedding_norm_) x = (*embedding_norm_)(x);
  return projection_ ? (*projection_)(x) : x;
}

std::vector<Rotation> Encoder::rotations(const mil::Dim& length) const {
  std::vector<Rotation> result;
  result.reserve(ropes_.size());
  if (!rope_table_) {
    for (const Rope& rope : ropes_) result.push_back(rope.rows(0, length));
    return result;
  }
  const array::Scope scope("rope");
  const Array rows = array::expand_dims(array::slice_axis(*rope_table_, 0, 0, length), {0, 1});
  const int64_t dims = options_.ropes.front().dims;
  const Array sin = array::slice_axis(rows, -1, 0, dims / 2);
  const Array cos = array::slice_axis(rows, -1, dims / 2, dims);
  const Array both_cos = array::concat({cos, cos}, -1);
  result.push_back({both_cos, array::concat({sin, sin}, -1)});
  return result;
}

Array Encoder::operator()(const EncoderInput& input) const {
  return run_layers(embed(input), &input);
}

Array Encoder::of_features(const Array& features) const {
  Array x = (*stem_)(features);
  const bool channels = root_.style().channels();
  if (positions_) {
    const Array rows = positions_->rows(0, x.dim(channels ? 3 : 1));
    x = x + (channels ? to_channels(array::expand_dims(rows, {0})) : rows);
  }
  if (embedding_norm_) x = (*embedding_norm_)(x);
  return run_layers(x, nullptr);
}

namespace {

// A mask that shows all of (1, length).
Array all_seen_of(const mil::Dim& length) {
  const Array positions =
      array::range(array::constant(0), array::Builder::current().dim_array(length));
  return array::expand_dims(
      array::cast(array::greater_equal(positions, array::constant(0)), mil::DataType::Int32), {0});
}

}  // namespace

Array Encoder::run_layers(const Array& embedded, const EncoderInput* input) const {
  Array x = embedded;
  const mil::Dim length = x.dim(root_.style().channels() ? 3 : 1);
  const bool windows = std::any_of(layers_.begin(), layers_.end(), [](const DecoderLayer& layer) {
    return layer.needs().window.has_value();
  });
  std::optional<EncoderMasks> masks;
  if (input != nullptr || windows) {
    masks.emplace(input != nullptr ? input->mask : all_seen_of(length), x.type(),
                  EncoderMasks::Options{options_.causal, options_.alibi});
  }
  const std::vector<Rotation> turns = rotations(length);
  PassCache cache;
  LayerCarry carry;
  const Array all_seen = input != nullptr ? input->mask : array::constant(1);
  const Pass pass{0, length, length, all_seen};
  for (size_t i = 0; i < layers_.size(); ++i) {
    const MixerNeeds& needs = layers_[i].needs();
    const RelativeBias* bias = biases_.empty() ? nullptr : &biases_[biases_.size() == 1 ? 0 : i];
    const Rotation* rotation = needs.rope ? &turns.at(*needs.rope) : nullptr;
    const Array* const mask = masks ? &masks->at(needs.window, needs.window_after, bias) : nullptr;
    x = layers_[i](x, {static_cast<int64_t>(i), rotation, mask, cache, pass, carry, nullptr,
                       nullptr, relative_ ? &*relative_ : nullptr});
    if (i == 0 && convolution_) x = (*convolution_)(embedded, all_seen, x);
  }
  return final_norm_ ? (*final_norm_)(x) : x;
}

}  // namespace pippin::nn
