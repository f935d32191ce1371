// BitNet's packed matrices as 2-bit palettes.
#include <bit>

#include "pippin/base/error.h"
#include "pippin/nn/weights/packed_weights.h"

namespace pippin::nn {
namespace {

constexpr int64_t kPerByte = 4;

class TernaryMatrix : public PackedMatrix {
 public:
  TernaryMatrix(PackedLayout layout, PackedPart codes, PackedPart scale, bool divides)
      : PackedMatrix(std::move(layout)), codes_(std::move(codes)), scale_(scale.number(0)) {
    if (!divides) return;
    if (scale_ == 0) fail(ErrorCode::InvalidFile, "tensor '{}' divides by 0", scale.tensor().name);
    scale_ = 1 / scale_;
  }

  void codes(int64_t row, std::span<uint8_t> out) const override {
    const int64_t lines = layout().rows / kPerByte;
    const std::byte* bytes = codes_.bytes() + row % lines * layout().columns;
    for (size_t i = 0; i < out.size(); ++i) {
      out[i] = static_cast<uint8_t>((static_cast<unsigned>(bytes[i]) >> (2 * (row / lines))) & 3u);
    }
  }
  void scales(int64_t /*row*/, std::span<float> scales,
              std::span<float> /*shifts*/) const override {
    scales[0] = scale_;
  }
  bool describe(mil::Recipe& recipe) const override {
    recipe.step("ternary").number(layout().columns).number(std::bit_cast<int32_t>(scale_));
    codes_.describe(recipe);
    return true;
  }
  void release() const noexcept override { codes_.release(); }

 private:
  PackedPart codes_;
  float scale_;
};

class TernaryWeights : public PackedWeights {
 public:
  explicit TernaryWeights(bool divides) : divides_(divides) {}

  std::vector<std::string> tensors(const Checkpoint& checkpoint,
                                   const std::string& name) const override {
    const TensorInfo* tensor = checkpoint.find(name);
    if (tensor == nullptr || tensor->dtype != Dtype::U8) return {};
    return present(checkpoint, {name, scale_of(name)});
  }

  PackedPtr matrix(const std::shared_ptr<const Checkpoint>& checkpoint, const std::string& name,
                   int64_t rows, int64_t columns) const override {
    if (rows % kPerByte != 0) {
      fail(ErrorCode::InvalidFile, "tensor '{}' packs {} rows in a byte, the model has {}", name,
           kPerByte, rows);
    }
    PackedLayout layout{rows, columns, 2, false, PackedLayout::Shift::None, columns, rows};
    layout.palette = {-1, 0, 1, 2};
    return std::make_shared<TernaryMatrix>(
        std::move(layout), PackedPart(checkpoint, name, {rows / kPerByte, columns}, {Dtype::U8}),
        PackedPart(checkpoint, scale_of(name), {1}, float_types()), divides_);
  }

 private:
  static std::string scale_of(const std::string& name) { return name + "_scale"; }
  bool divides_;
};

}  // namespace

PackedWeightsPtr ternary_weights(bool divides) {
  return std::make_shared<TernaryWeights>(divides);
}

}  // namespace pippin::nn
