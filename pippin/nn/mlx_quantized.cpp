// MLX's affine quantization: code * scale + bias. Bits and groups follow from the shapes, so each
// module has its own, and embeddings are read like any other matrix.
#include "pippin/base/error.h"
#include "pippin/nn/packed_weights.h"

namespace pippin::nn {
namespace {

using Shift = PackedLayout::Shift;

class MlxMatrix : public PackedMatrix {
 public:
  MlxMatrix(PackedLayout layout, unsigned bits, PackedPart codes, PackedPart scales,
            PackedPart biases)
      : PackedMatrix(std::move(layout)),
        bits_(bits),
        codes_(std::move(codes)),
        scales_(std::move(scales)),
        biases_(std::move(biases)) {}

  void codes(int64_t row, std::span<uint8_t> out) const override {
    const std::byte* bytes = codes_.bytes() + static_cast<uint64_t>(row) * row_bytes();
    for (size_t i = 0; i < out.size(); ++i) out[i] = stream_code(bytes, i, bits_);
  }
  void scales(int64_t row, std::span<float> scales, std::span<float> shifts) const override {
    for (size_t i = 0; i < scales.size(); ++i) {
      const int64_t group = row * layout().groups() + static_cast<int64_t>(i);
      scales[i] = scales_.number(group);
      shifts[i] = biases_.number(group);
    }
  }
  bool describe(mil::Recipe& recipe) const override {
    recipe.step("mlx").number(bits_).number(layout().columns).number(layout().group);
    codes_.describe(recipe);
    scales_.describe(recipe);
    biases_.describe(recipe);
    return true;
  }
  void release() const noexcept override { codes_.release(); }
  // The words are the bytes of Core ML's form already, but for widths that it does not have.
  ByteSpan stream() const override {
    return bits_ == static_cast<unsigned>(layout().bits) ? codes_.tensor().bytes : ByteSpan();
  }

 private:
  uint64_t row_bytes() const { return static_cast<uint64_t>(layout().columns) * bits_ / 8; }

  unsigned bits_;
  PackedPart codes_, scales_, biases_;
};

class MlxWeights : public PackedWeights {
 public:
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
    int64_t bits = 0;
    for (const int64_t one : {2, 3, 4, 5, 6, 8}) {
      if (words * 32 == columns * one) bits = one;
    }
    if (bits == 0 || groups < 1 || columns % groups != 0) {
      fail(
          ErrorCode::InvalidFile,
          "tensor '{}' has {} words and {} scales a row for {} columns: that is no quantization of "
          "2, 3, 4, 5, 6 or 8 bits in equal groups",
          name, words, groups, columns);
    }
    return std::make_shared<MlxMatrix>(
        PackedLayout{rows, columns, bits <= 4 ? 4 : 8, false, Shift::Bias, columns / groups},
        static_cast<unsigned>(bits), PackedPart(checkpoint, name, {rows, words}, {Dtype::U32}),
        PackedPart(checkpoint, scales, {rows, groups}, float_types()),
        PackedPart(checkpoint, module + ".biases", {rows, groups}, float_types()));
  }

 private:
  static int64_t last(const Checkpoint& checkpoint, const std::string& name) {
    const TensorInfo& tensor = checkpoint.at(name);
    return tensor.shape.empty() ? 0 : tensor.shape.back();
  }
};

}  // namespace

PackedWeightsPtr mlx_weights() {
  return std::make_shared<MlxWeights>();
}

}  // namespace pippin::nn
