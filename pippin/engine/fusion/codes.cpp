// 8-bit activations: quantize and dequantize become one step, and convolutions of them with 8-bit
// weights add up products of integers.
#include "pippin/engine/lowering/codes.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "pippin/engine/fusion/fusion.h"
#include "pippin/engine/fusion/match.h"
#include "pippin/engine/lowering/convolution.h"

namespace pippin::engine {
namespace {

using kernels::CodeScale;
using mil::Dim;
using mil::Operation;
using mil::Shape;
using mil::Var;

// The value that is quantized, and its scales.
struct Rounded {
  const Operation* quantize = nullptr;
  CodeScales scales;
};

bool same(const CodeScale& a, const CodeScale& b) {
  return a.scale == b.scale && a.zero == b.zero && a.lowest == b.lowest;
}

// For a dequantize whose input comes from a quantize with the same parameters.
std::optional<Rounded> rounded(Builder& builder, const Operation& dequantize) {
  const Var* codes = dequantize.input_var("input");
  const Operation* quantize = codes != nullptr ? codes->producer : nullptr;
  if (quantize == nullptr || quantize->type() != "quantize") return std::nullopt;
  Rounded result{quantize, code_scales(builder, *quantize)};
  const CodeScales back = code_scales(builder, dequantize);
  const auto& slices = result.scales.slices;
  const bool equal = back.shape == result.scales.shape && back.slices.size() == slices.size() &&
                     std::equal(slices.begin(), slices.end(), back.slices.begin(), same);
  return equal ? std::optional(result) : std::nullopt;
}

// 8-bit weights as integers with their offsets subtracted.
struct Levels {
  std::vector<int16_t> values;  // [n, k]
  std::vector<float> scales;    // [n]
};

int integer_of(uint8_t code, bool is_signed) {
  return is_signed && code > 127 ? code - 256 : code;
}

std::optional<Levels> levels_of(const QuantizedWeight& weight, int64_t n, int64_t k) {
  const kernels::QuantizedMatrix& w = weight.matrix;
  using kernels::OffsetType;
  const bool known = !weight.blocks && w.scales != nullptr && w.bits == 8 && w.n == n && w.k == k &&
                     w.first == 0 && w.first_block == 0 && w.blocks_per_row == 1 &&
                     (w.offset_type == OffsetType::None || w.offset_type == OffsetType::I8 ||
                      w.offset_type == OffsetType::U8);
  if (!known) return std::nullopt;
  Levels levels;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t block = i / w.block_rows;
    int offset = 0;
    if (w.offset_type != OffsetType::None) {
      offset = integer_of(static_cast<const uint8_t*>(w.offsets)[block],
                          w.offset_type == OffsetType::I8);
    }
    for (int64_t j = 0; j < k; ++j) {
      const int value = integer_of(w.codes[i * k + j], w.is_signed);
      levels.values.push_back(static_cast<int16_t>(value - offset));
    }
    levels.scales.push_back(kernels::stored_number(w.scales, w.scale_type, block));
  }
  return levels;
}

// Two numbers in the bits of a float, which is never used as a float.
float pair_of(int16_t low, int16_t high) {
  const int16_t both[] = {low, high};
  float bits;
  std::memcpy(&bits, both, sizeof(bits));
  return bits;
}

// The weights [outputs, channels, taps] as panels of pairs of neighbouring channels.
View pair_panels(Builder& builder, const Operation& operation, const Convolution& pairs,
                 const Levels& levels, int64_t channels) {
  const ConvPanels panels = panels_of(builder, ConvPanels::Form::Rows, pairs);
  const int64_t taps = num_taps(pairs.windows);
  const auto make = [&] {
    std::vector<float> rows;
    for (int64_t i = 0; i < pairs.outputs; ++i) {
      const int16_t* from = levels.values.data() + i * channels * taps;
      for (int64_t c = 0; c < channels; c += 2) {
        for (int64_t t = 0; t < taps; ++t) {
          const int16_t next = c + 1 < channels ? from[(c + 1) * taps + t] : int16_t{0};
          rows.push_back(pair_of(from[c * taps + t], next));
        }
      }
    }
    return panels.pack(rows);
  };
  return weights_constant(builder, operation, make, panels.floats(),
                          fmt::format("{} panels of pairs", panels.kernel()));
}

// The pairs of x, computed once for all convolutions of it.
View pairs_of(Builder& builder, const View& x, const CodeScale& scale) {
  const Shape lists = {x.shape[0], x.shape[1],
                       mil::num_elements(Shape(x.shape.begin() + 2, x.shape.end()))};
  const View from = *reshape_view(builder.contiguous(x), lists);
  Shape shape = x.shape;
  shape[1] = floor_div(x.shape[1] + Dim(1), Dim(2));
  const auto& nodes = builder.nodes();
  for (size_t i = nodes.size(); i-- > 0;) {
    const auto* pair = nodes[i].as<PairNode>();
    if (pair != nullptr && same(pair->scale, scale) && same_elements(nodes[i].views[1], from)) {
      return *reshape_view(nodes[i].views[0], shape);
    }
  }
  View pairs = builder.allocate(Storage::I32, shape);
  builder.emit(PairNode{scale}, {*reshape_view(pairs, {shape[0], shape[1], lists[2]}), from});
  return pairs;
}

}  // namespace

bool fuse_codes(Builder& builder, const Operation& operation) {
  const auto x = rounded(builder, operation);
  if (!x) return false;
  emit_codes(builder, operation, CodeOp::Round, builder.floats(*x->quantize, "input"), x->scales);
  return true;
}

bool fuse_code_convolution(Builder& builder, const Operation& operation) {
  const Operation* dequantize = producer(operation.input_var("x"), "dequantize");
  const auto weight = builder.quantized(operation, "weight");
  if (dequantize == nullptr || weight == nullptr) return false;
  const auto input = rounded(builder, *dequantize);
  if (!input || input->scales.slices.size() != 1) return false;
  const Convolution convolution = convolution_of(builder, operation);
  const View x = builder.floats(*input->quantize, "input");
  const bool planes = convolution.groups == 1 &&
                      !is_by_channel(builder, convolution, as_planes(x)) &&
                      !(is_pointwise(convolution.windows) && is_list(x));
  const auto levels =
      planes ? levels_of(*weight, convolution.outputs, convolution.k()) : std::nullopt;
  if (!levels) return false;
  // Differences of quantized values and their zero points, and 32-bit sums of products.
  const CodeScale& scale = input->scales.slices[0];
  const int64_t lowest = scale.lowest - scale.zero;
  const int64_t most = std::max(-lowest, lowest + 255);
  constexpr int64_t kMostOfWeight = 383;  // difference of two 8-bit values
  constexpr int64_t kMostSum = INT32_MAX;
  if (most > INT16_MAX || convolution.k() > kMostSum / (most * kMostOfWeight)) return false;

  Convolution pairs = convolution;
  pairs.channels = (convolution.channels + 1) / 2;
  const View codes = as_planes(pairs_of(builder, x, scale));
  const View y = builder.allocate(Storage::F32, builder.info(operation.output()).shape);
  const std::optional<View> places = list_of_places(codes, pairs);
  const View y_planes = as_planes(y);
  std::vector<float> scales = levels->scales;
  for (float& of_sum : scales) of_sum *= scale.scale;
  std::vector<std::byte> bytes(scales.size() * sizeof(float));
  std::memcpy(bytes.data(), scales.data(), bytes.size());
  std::vector<View> views = {
      places ? *list_of_places(y_planes, pairs) : y_planes, places ? *places : codes,
      pair_panels(builder, operation, pairs, *levels, convolution.channels),
      builder.constant(Storage::F32, {Dim(convolution.outputs)}, std::move(bytes))};
  const bool bias = operation.find_input("bias") != nullptr;
  if (bias) views.push_back(builder.contiguous(builder.floats(operation, "bias")));
  builder.emit(PlaneNode{ConvNode{ConvNode::Operands::Pairs, pairs.windows, 1, bias}, {}},
               std::move(views));
  builder.define_output(operation, y);
  return true;
}

}  // namespace pippin::engine
