// MLX's quantization: codes in 32-bit words and, for each group of a row, a scale. The affine mode
// is code * scale + bias; bits and groups follow from the shapes, so each module has its own, and
// embeddings are read like any other matrix. The modes of small floats have the groups and bits of
// their formats: OCP's MX with scales that are powers of two, NVIDIA's with scales of E4M3.
#include <cmath>

#include "pippin/base/error.h"
#include "pippin/nn/weights/packed_weights.h"

namespace pippin::nn {
namespace {

using Shift = PackedLayout::Shift;

struct MlxParts {
  unsigned bits;
  MlxMode mode;
  PackedPart codes, scales;
  std::optional<PackedPart> biases;
  std::vector<float> scale_values = {};  // for each byte of a scale; empty: scales are floats
};

class MlxMatrix : public PackedMatrix {
 public:
  MlxMatrix(PackedLayout layout, MlxParts parts)
      : PackedMatrix(std::move(layout)), parts_(std::move(parts)) {}

  void codes(int64_t row, std::span<uint8_t> out) const override {
    const std::byte* bytes = parts_.codes.bytes() + static_cast<uint64_t>(row) * row_bytes();
    for (size_t i = 0; i < out.size(); ++i) out[i] = stream_code(bytes, i, parts_.bits);
  }
  void scales(int64_t row, std::span<float> scales, std::span<float> shifts) const override {
    for (size_t i = 0; i < scales.size(); ++i) {
      const int64_t group = row * layout().groups() + static_cast<int64_t>(i);
      scales[i] = parts_.scale_values.empty()
                      ? parts_.scales.number(group)
                      : parts_.scale_values[static_cast<size_t>(parts_.scales.integer(group))];
      if (parts_.biases) shifts[i] = parts_.biases->number(group);
    }
  }
  bool describe(mil::Recipe& recipe) const override {
    recipe.step("mlx").number(parts_.bits).number(layout().columns).number(layout().group);
    recipe.number(static_cast<int64_t>(parts_.mode));
    parts_.codes.describe(recipe);
    parts_.scales.describe(recipe);
    if (parts_.biases) parts_.biases->describe(recipe);
    return true;
  }
  void release() const noexcept override { parts_.codes.release(); }
  // The words are already the bytes of Core ML's form, except for widths that it does not have.
  ByteSpan stream() const override {
    return parts_.bits == static_cast<unsigned>(layout().bits) ? parts_.codes.tensor().bytes
                                                               : ByteSpan();
  }

 private:
  uint64_t row_bytes() const { return static_cast<uint64_t>(layout().columns) * parts_.bits / 8; }

  MlxParts parts_;
};

// The sign of such a scale is not used.
std::vector<float> scale_values(MlxMode mode) {
  if (mode == MlxMode::Nvfp4) return float8_palette(Dtype::F8E4M3);
  std::vector<float> powers;
  powers.reserve(256);
  for (int code = 0; code < 256; ++code) powers.push_back(std::ldexp(1.0f, code - 127));
  return powers;
}

class MlxWeights : public PackedWeights {
 public:
  explicit MlxWeights(MlxOptions options) : options_(std::move(options)) {}

  std::vector<std::string> tensors(const Checkpoint& checkpoint,
                                   const std::string& name) const override {
    const std::string module = module_of(name);
    const TensorInfo* codes = module.empty() ? nullptr : checkpoint.find(name);
    if (codes == nullptr || codes->dtype != Dtype::U32) return {};
    return present(checkpoint, {name, module + ".scales", module + ".biases"});
  }

  PackedPtr matrix(const std::shared_ptr<const Checkpoint>& checkpoint, const std::string& name,
                   int64_t rows, int64_t columns) const override {
    const std::string module = module_of(name), scales = module + ".scales";
    const int64_t words = last(*checkpoint, name), groups = last(*checkpoint, scales);
    const MlxMode mode = mode_of(*checkpoint, module);
    int64_t bits = 0;
    for (const int64_t one : {2, 3, 4, 5, 6, 8}) {
      if (words * 32 == columns * one) bits = one;
    }
    if (bits == 0 || groups < 1 || columns % groups != 0) {
      fail(ErrorCode::InvalidFile,
           "tensor '{}' has {} words and {} scales a row for {} columns: that is not a "
           "quantization in "
           "2, 3, 4, 5, 6 or 8 bits in equal groups",
           name, words, groups, columns);
    }
    PackedLayout layout{rows,
                        columns,
                        bits <= 4 ? 4 : 8,
                        false,
                        mode == MlxMode::Affine ? Shift::Bias : Shift::None,
                        columns / groups};
    MlxParts parts{static_cast<unsigned>(bits), mode,
                   PackedPart(checkpoint, name, {rows, words}, {Dtype::U32}),
                   PackedPart(checkpoint, scales, {rows, groups},
                              mode == MlxMode::Affine ? float_types() : std::vector{Dtype::U8}),
                   std::nullopt};
    if (mode == MlxMode::Affine) {
      parts.biases.emplace(checkpoint, module + ".biases", std::vector{rows, groups},
                           float_types());
    } else {
      const int64_t wanted = mode == MlxMode::Mxfp8 ? 8 : 4;
      if (bits != wanted) {
        fail(ErrorCode::InvalidFile, "tensor '{}' has {} bits for each column, its mode has {}",
             name, bits, wanted);
      }
      layout.palette = mode == MlxMode::Mxfp8 ? float8_palette(Dtype::F8E4M3) : float4_palette();
      parts.scale_values = scale_values(mode);
    }
    return std::make_shared<MlxMatrix>(std::move(layout), std::move(parts));
  }

 private:
  static int64_t last(const Checkpoint& checkpoint, const std::string& name) {
    const TensorInfo& tensor = checkpoint.at(name);
    return tensor.shape.empty() ? 0 : tensor.shape.back();
  }
  // Experts are stacks in the file, so the module's path has no number.
  MlxMode mode_of(const Checkpoint& checkpoint, const std::string& module) const {
    auto found = options_.modes.find(module);
    if (found == options_.modes.end()) found = options_.modes.find(without_number(module));
    const MlxMode mode = found == options_.modes.end() ? options_.mode : found->second;
    // Only affine modules have biases, and they always do.
    if (checkpoint.contains(module + ".biases")) return MlxMode::Affine;
    return mode;
  }
  static std::string without_number(const std::string& module) {
    const size_t last = module.rfind('.');
    const size_t number = last == module.npos ? last : module.rfind('.', last - 1);
    return number == module.npos ? module : module.substr(0, number) + module.substr(last);
  }

  MlxOptions options_;
};

}  // namespace

PackedWeightsPtr mlx_weights(const MlxOptions& options) {
  return std::make_shared<MlxWeights>(options);
}

}  // namespace pippin::nn
