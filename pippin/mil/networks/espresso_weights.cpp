// Weights of compiled networks: fp32, fp16, and bytes with a scale and an offset for each output.
#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/base/text.h"
#include "pippin/mil/networks/espresso_layer.h"
#include "pippin/mil/tensor.h"

namespace pippin::mil::networks {
namespace {

constexpr float kLargestByte = 255;

// WeightParams of bytes.
Message quantized_weights(ByteSpan bytes, const std::vector<float>& scale,
                          const std::vector<float>& offset) {
  constexpr int64_t kBits = 8;
  const Message linear = Message().numbers(1, scale).numbers(2, offset);
  return Message()
      .content(30, as_text(bytes))
      .message(40, Message().integer(1, kBits).message(101, linear));
}

// "weights": {"W_U8": 1, "per_ch_qscale": 5, "per_ch_qbias": 3}
Message scaled_bytes(const EspressoNetwork& network, const Json& blobs, int64_t outputs,
                     int64_t count) {
  constexpr std::string_view kKnown[] = {"W_U8", "per_ch_qscale", "per_ch_qbias"};
  for (const auto& [key, number] : blobs.members()) {
    if (std::find(std::begin(kKnown), std::end(kKnown), key) == std::end(kKnown)) {
      fail(ErrorCode::Unsupported, "weights in the form '{}' are not supported", key);
    }
  }
  const auto floats = [&](std::string_view key) {
    return read_floats(*network.blobs.biases(blobs.get_int(key), outputs));
  };
  return quantized_weights(network.blobs.bytes(blobs.get_int(kKnown[0]), count), floats(kKnown[1]),
                           floats(kKnown[2]));
}

// The ranges are the smallest values of all outputs, then the largest ones.
Message ranged_bytes(const EspressoNetwork& network, const EspressoLayer& layer, int64_t outputs,
                     int64_t count) {
  const std::vector<float> ranges =
      read_floats(*network.blobs.floats(layer.number("quantization_ranges_blob"), 2 * outputs));
  const auto middle = ranges.begin() + outputs;
  const std::vector<float> offset(ranges.begin(), middle);
  std::vector<float> scale(offset.size());
  for (size_t i = 0; i < scale.size(); ++i) {
    scale[i] = (middle[static_cast<ptrdiff_t>(i)] - offset[i]) / kLargestByte;
  }
  return quantized_weights(
      network.blobs.bytes(layer.number("quantization_lut_weights_blob"), count), scale, offset);
}

}  // namespace

Message espresso_weights(EspressoNetwork& network, const EspressoLayer& layer,
                         const std::vector<int64_t>& shape) {
  if (layer.number("quantization_mode", 0) != 0) layer.require("quantization_mode", 1);
  const int64_t count = num_elements(shape), outputs = shape.front();
  const auto blobs = layer.fields.find("weights");
  const bool floats = layer.has("blob_weights"), halves = layer.has("blob_weights_f16"),
             ranged = layer.has("quantization_lut_weights_blob"),
             scaled = blobs && blobs->size() > 0;
  if (int{floats} + int{halves} + int{ranged} + int{scaled} != 1) {
    fail(ErrorCode::Unsupported, "weights that are not in one of the known forms");
  }
  if (floats) return network.weights(network.blobs.floats(layer.number("blob_weights"), count));
  if (halves) return network.weights(network.blobs.halves(layer.number("blob_weights_f16"), count));
  if (ranged) return ranged_bytes(network, layer, outputs, count);
  return scaled_bytes(network, *blobs, outputs, count);
}

bool add_espresso_biases(EspressoNetwork& network, const EspressoLayer& layer, int64_t count,
                         uint32_t field, Message& parameters) {
  if (!layer.flag("has_biases")) return false;
  parameters.message(field,
                     network.weights(network.blobs.biases(layer.number("blob_biases"), count)));
  return true;
}

namespace {

void check_size(std::string_view key, int64_t size) {
  if (size < 1 || size > INT32_MAX) fail(ErrorCode::InvalidFile, "{} is {}", key, size);
}

// From rank 4 on, channels, rows and columns are one axis, except in nd_mode.
void add_inner_product(EspressoNetwork& network, const EspressoLayer& layer) {
  layer.require_inputs(1);
  layer.require("has_prelu", 0);
  const int64_t outputs = layer.number("nC"), inputs = layer.number("nB");
  check_size("nC", outputs);
  check_size("nB", inputs);
  const Message weights = espresso_weights(network, layer, {outputs, inputs});
  Message parameters;
  if (layer.flag("nd_mode")) {
    constexpr uint32_t kBatchedMatmul = 1045;
    parameters.integer(5, inputs).integer(6, outputs).message(8, weights);
    add_espresso_biases(network, layer, outputs, 9, parameters);
    return network.add(layer, kBatchedMatmul, parameters);
  }
  constexpr uint32_t kInnerProduct = 140;
  parameters.integer(1, inputs).integer(2, outputs).message(20, weights);
  if (add_espresso_biases(network, layer, outputs, 21, parameters)) parameters.integer(10, 1);
  network.add(layer, kInnerProduct, parameters);
}

// The blob has scale, offset, mean and variance of each channel, one channel after another.
void add_batchnorm(EspressoNetwork& network, const EspressoLayer& layer) {
  constexpr uint32_t kBatchnorm = 160, kFirstWeights = 15;
  constexpr int64_t kRows = 4, kMoments = 2;
  layer.require_inputs(1);
  const int64_t channels = layer.number("C");
  check_size("C", channels);
  const bool computed = layer.flag("training");
  const std::vector<float> values =
      read_floats(*network.blobs.floats(layer.number("blob_batchnorm_params"), channels * kRows));
  Message parameters;
  parameters.integer(1, channels).integer(5, computed);
  parameters.integer(6, layer.flag("training_instancenorm"));
  parameters.number(10, layer.real("training_eps", 1e-5F));
  for (int64_t row = 0; row < (computed ? kRows - kMoments : kRows); ++row) {
    std::vector<float> part;
    part.reserve(static_cast<size_t>(channels));
    for (auto at = static_cast<size_t>(row); at < values.size(); at += kRows) {
      part.push_back(values[at]);
    }
    parameters.message(kFirstWeights + static_cast<uint32_t>(row),
                       network.weights(float_source(part)));
  }
  network.add(layer, kBatchnorm, parameters);
}

// Constants of rank 5 have no batch.
void add_constant(EspressoNetwork& network, const EspressoLayer& layer) {
  constexpr uint32_t kLoadConstant = 290, kLoadConstantNd = 1070;
  constexpr int64_t kMostAxes = 4;
  layer.require_inputs(0);
  const int64_t rank = network.has_ranks() ? layer.number("nd_rank", kMostAxes) : 3;
  if (rank < 1 || rank > kMostAxes) layer.require("nd_rank", kMostAxes);
  std::vector<int64_t> shape;
  for (int64_t axis = kMostAxes - 1; axis >= 0; --axis) {
    const std::string_view key = kSizeNames[axis];
    if (axis >= rank) {
      layer.require(key, 1);
      continue;
    }
    shape.push_back(layer.number(key, 1));
    check_size(key, shape.back());
  }
  Message parameters;
  parameters.integers(1, shape).message(
      2, network.weights(network.blobs.floats(layer.number("constant_blob"), num_elements(shape))));
  network.add(layer, network.has_ranks() ? kLoadConstantNd : kLoadConstant, parameters);
}

}  // namespace

std::span<const EspressoKind> espresso_weight_layers() {
  static constexpr EspressoKind kKinds[] = {
      {"inner_product", add_inner_product,
       "nC nB nd_mode has_biases has_relu has_tanh has_prelu blob_weights blob_weights_f16 "
       "blob_biases quantization_mode quantization_lut_weights_blob quantization_ranges_blob"},
      {"batchnorm", add_batchnorm,
       "C blob_batchnorm_params training training_eps training_instancenorm training_momentum"},
      {"load_constant", add_constant, "constant_blob n k h w nd_rank"}};
  return kKinds;
}

}  // namespace pippin::mil::networks
