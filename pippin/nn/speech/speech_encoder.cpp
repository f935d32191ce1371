#include "pippin/nn/speech/speech_encoder.h"

#include <utility>

#include "pippin/array/builder.h"
#include "pippin/array/ops.h"
#include "pippin/nn/layers/pass_cache.h"

namespace pippin::nn {

using array::Array;

namespace {

std::string path_of(const LayerOptions& layer, size_t index) {
  return layer.path.empty() ? std::to_string(index) : layer.path;
}

std::string path_of(const ConformerLayerOptions& /*layer*/, size_t index) {
  return std::to_string(index);
}

template <typename Layer, typename Options>
void add_layers(const Parameters& all, const std::vector<Options>& options,
                std::vector<Layer>& layers) {
  layers.reserve(options.size());
  for (size_t i = 0; i < options.size(); ++i) {
    layers.emplace_back(all.at(path_of(options[i], i)), options[i]);
  }
}

Array positions_of(const mil::Dim& length) {
  return array::range(array::constant(0), array::Builder::current().dim_array(length));
}

}  // namespace

int64_t SpeechEncoderOptions::stride() const {
  const int64_t own = std::visit([](const auto& one) { return one.stride(); }, front);
  return adapter ? own * adapter->stride() : own;
}

int64_t SpeechEncoderOptions::shortest() const {
  const int64_t frames = adapter ? adapter->shortest() : 1;
  return std::visit([&](const auto& one) { return one.shortest() + (frames - 1) * one.stride(); },
                    front);
}

int64_t SpeechEncoderOptions::bins() const {
  return std::visit(
      [](const auto& one) -> int64_t {
        if constexpr (std::is_same_v<std::decay_t<decltype(one)>, WaveformFrontOptions>) {
          return 0;
        } else {
          return one.bins;
        }
      },
      front);
}

SpeechEncoder::SpeechEncoder(const Parameters& parameters, const SpeechEncoderOptions& options,
                             int64_t context)
    : options_(options),
      front_(std::visit([&](const auto& front) { return front.make(parameters, options.features); },
                        options.front)) {
  if (options.positions) {
    positions_.emplace(parameters.at(options.positions->path), *options.positions);
  }
  const auto norm = [&](const std::string& name) -> std::optional<Norm> {
    if (name.empty()) return std::nullopt;
    return Norm(parameters.at(name), options.features, options.norm);
  };
  first_norm_ = norm(options.first_norm);
  final_norm_ = norm(options.final_norm);
  ropes_.reserve(options.ropes.size());
  for (const RopeOptions& rope : options.ropes) {
    ropes_.emplace_back(context, rope, parameters.type());
  }
  const Parameters all = parameters.at(options.layers_path);
  if (const auto& bias = options.relative_bias) {
    relative_bias_.emplace(all.at(0).at(bias->path), *bias, context);
  }
  if (const auto* plain = std::get_if<std::vector<LayerOptions>>(&options.layers)) {
    add_layers(all, *plain, layers_);
  } else {
    add_layers(all, std::get<std::vector<ConformerLayerOptions>>(options.layers),
               conformer_layers_);
  }
  if (options.last_feed_forward) {
    last_feed_forward_.emplace(parameters.at(options.last_feed_forward_path),
                               *options.last_feed_forward);
  }
  if (options.adapter) adapter_.emplace(parameters.at(options.adapter->path), *options.adapter);
}

Array SpeechEncoder::through_layers(Array x) const {
  const mil::Dim length = x.dim(1);
  std::vector<Rotation> rotations;
  rotations.reserve(ropes_.size());
  for (const Rope& rope : ropes_) rotations.push_back(rope.rows(0, length));
  std::optional<Array> mask, sinusoids;
  if (relative_bias_) {
    const Array positions = positions_of(length);
    mask = (*relative_bias_)(positions, positions);
  }
  if (options_.sinusoids) {
    sinusoids = sinusoids_of_distances(length, options_.features, x.type());
  }
  PassCache cache;
  LayerCarry carry;
  const Pass pass{0, length, length, x};
  const Array* const bias = mask ? &*mask : nullptr;
  const Rotation* const rotation = rotations.empty() ? nullptr : &rotations.front();
  int64_t index = 0;
  for (const DecoderLayer& layer : layers_) {
    x = layer(x, {index++, rotation, bias, cache, pass, carry, nullptr, nullptr});
  }
  for (const ConformerLayer& layer : conformer_layers_) {
    x = layer(x, {index++, rotation, bias, cache, pass, carry, nullptr, nullptr,
                  sinusoids ? &*sinusoids : nullptr});
  }
  return x;
}

Array SpeechEncoder::operator()(const Array& input) const {
  Array x = (*front_)(input);
  if (options_.front_scale != 1.0) x = x * options_.front_scale;
  if (positions_) x = x + (*positions_)(x);
  if (first_norm_) x = (*first_norm_)(x);
  x = through_layers(x);
  if (final_norm_) x = (*final_norm_)(x);
  LayerCarry carry;
  if (last_feed_forward_) x = x + (*last_feed_forward_)(x, carry) * 0.5;
  return adapter_ ? (*adapter_)(x) : x;
}

}  // namespace pippin::nn
