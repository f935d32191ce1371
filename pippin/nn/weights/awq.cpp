// AWQ's packed matrices: four bits, eight outputs per word.
#include <array>

#include "pippin/base/error.h"
#include "pippin/nn/weights/packed_weights.h"

namespace pippin::nn {
namespace {

using Shift = PackedLayout::Shift;

// The nibble of a word that holds output 8 * word + i.
constexpr std::array<unsigned, 8> kNibble = {0, 4, 1, 5, 2, 6, 3, 7};

class AwqMatrix : public PackedMatrix {
 public:
  AwqMatrix(PackedLayout layout, PackedPart codes, PackedPart zeros, PackedPart scales)
      : PackedMatrix(std::move(layout)),
        codes_(std::move(codes)),
        zeros_(std::move(zeros)),
        scales_(std::move(scales)) {}

  void codes(int64_t row, std::span<uint8_t> out) const override {
    for (size_t i = 0; i < out.size(); ++i) {
      out[i] = nibble(codes_, static_cast<int64_t>(i), row);
    }
  }
  void scales(int64_t row, std::span<float> scales, std::span<float> shifts) const override {
    for (size_t i = 0; i < scales.size(); ++i) {
      const auto group = static_cast<int64_t>(i);
      scales[i] = scales_.number(group * layout().rows + row);
      shifts[i] = static_cast<float>(nibble(zeros_, group, row));
    }
  }
  bool describe(mil::Recipe& recipe) const override {
    recipe.step("awq").number(layout().rows).number(layout().columns).number(layout().group);
    codes_.describe(recipe);
    zeros_.describe(recipe);
    scales_.describe(recipe);
    return true;
  }
  void release() const noexcept override { codes_.release(); }

 private:
  // The nibble of output `row` in line `line` of a tensor (lines, rows / 8).
  uint8_t nibble(const PackedPart& part, int64_t line, int64_t row) const {
    const auto words = static_cast<size_t>(layout().rows) / 8;
    const size_t word = static_cast<size_t>(line) * words + static_cast<size_t>(row) / 8;
    const unsigned place = kNibble[static_cast<size_t>(row) % 8];
    const auto byte = static_cast<unsigned>(part.bytes()[word * 4 + place / 2]);
    return static_cast<uint8_t>((byte >> (4 * (place % 2))) & 15u);
  }

  PackedPart codes_, zeros_, scales_;
};

class AwqWeights : public PackedWeights {
 public:
  std::vector<std::string> tensors(const Checkpoint& checkpoint,
                                   const std::string& name) const override {
    const std::string module = module_of(name);
    if (module.empty()) return {};
    return present(checkpoint, {module + ".qweight", module + ".qzeros", module + ".scales"});
  }

  PackedPtr matrix(const std::shared_ptr<const Checkpoint>& checkpoint, const std::string& name,
                   int64_t rows, int64_t columns) const override {
    const std::string module = module_of(name), scales = module + ".scales";
    const TensorInfo* scale = checkpoint->find(scales);
    const int64_t groups = scale == nullptr || scale->shape.empty() ? 1 : scale->shape[0];
    if (groups < 1 || columns % groups != 0 || rows % 8 != 0) {
      fail(ErrorCode::InvalidFile,
           "tensor '{}' has {} groups for a matrix [{}, {}]: rows in eights and groups of equal "
           "size are needed",
           scales, groups, rows, columns);
    }
    return std::make_shared<AwqMatrix>(
        PackedLayout{rows, columns, 4, false, Shift::Integers, columns / groups},
        PackedPart(checkpoint, module + ".qweight", {columns, rows / 8}, {Dtype::I32, Dtype::U32}),
        PackedPart(checkpoint, module + ".qzeros", {groups, rows / 8}, {Dtype::I32, Dtype::U32}),
        PackedPart(checkpoint, scales, {groups, rows}, float_types()));
  }
};

}  // namespace

PackedWeightsPtr awq_weights() {
  return std::make_shared<AwqWeights>();
}

}  // namespace pippin::nn
