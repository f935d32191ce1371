// GPTQ's packed matrices. If inputs were processed in the order of their importance (act-order), a
// group consists of inputs at any positions: the columns are sorted by group, and so are the
// layer's inputs (PackedLayout::order).
#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/base/numbers/checked.h"
#include "pippin/nn/weights/packed_weights.h"

namespace pippin::nn {
namespace {

using Shift = PackedLayout::Shift;

struct GptqParts {
  PackedPart codes, zeros, scales;
  std::vector<int64_t> groups;  // of each input; empty: those of the layout
  unsigned bits;
  int zero_shift;
};

class GptqMatrix : public PackedMatrix {
 public:
  GptqMatrix(PackedLayout layout, GptqParts parts)
      : PackedMatrix(std::move(layout)), parts_(std::move(parts)) {}

  void codes(int64_t row, std::span<uint8_t> out) const override {
    const PackedLayout& of = layout();
    const unsigned bits = parts_.bits, mask = (1u << bits) - 1;
    const int middle = of.is_signed ? 1 << (bits - 1) : 0;
    const std::byte* words = parts_.codes.bytes() + row * 4;
    const auto stride = static_cast<size_t>(of.rows) * 4;
    for (size_t i = 0; i < out.size(); ++i) {
      const auto input =
          static_cast<uint64_t>(of.order.empty() ? static_cast<int64_t>(i) : of.order[i]);
      const uint64_t bit = input * bits;
      const unsigned shift = bit % 32;
      uint64_t word = read_word(words + bit / 32 * stride);
      if (shift + bits > 32) word |= uint64_t{read_word(words + (bit / 32 + 1) * stride)} << 32;
      out[i] = static_cast<uint8_t>(static_cast<int>((word >> shift) & mask) - middle);
    }
  }

  void scales(int64_t row, std::span<float> scales, std::span<float> shifts) const override {
    const int64_t rows = layout().rows;
    for (size_t i = 0; i < scales.size(); ++i) {
      const int64_t group = group_of(i);
      scales[i] = parts_.scales.number(group * rows + row);
      if (!shifts.empty()) shifts[i] = static_cast<float>(zero(group, row));
    }
  }

  int zero(int64_t group, int64_t row) const {
    const auto words = static_cast<uint64_t>(layout().rows) * parts_.bits / 32;
    const std::byte* of_group = parts_.zeros.bytes() + static_cast<uint64_t>(group) * words * 4;
    return stream_code(of_group, static_cast<uint64_t>(row), parts_.bits) + parts_.zero_shift;
  }

  bool describe(mil::Recipe& recipe) const override {
    const PackedLayout& of = layout();
    recipe.step("gptq").number(parts_.bits).number(parts_.zero_shift).number(of.rows);
    recipe.number(of.columns).number(of.group).number(of.is_signed ? 1 : 0);
    recipe.number(static_cast<int64_t>(of.order.size()));
    for (const int64_t input : of.order) recipe.number(input);
    for (const int64_t group : parts_.groups) recipe.number(group);
    parts_.codes.describe(recipe);
    parts_.zeros.describe(recipe);
    parts_.scales.describe(recipe);
    return true;
  }
  void release() const noexcept override { parts_.codes.release(); }

 private:
  static uint32_t read_word(const std::byte* p) {
    return static_cast<uint32_t>(p[0]) | static_cast<uint32_t>(p[1]) << 8 |
           static_cast<uint32_t>(p[2]) << 16 | static_cast<uint32_t>(p[3]) << 24;
  }
  // For a group of the layout: with groups of any size each column is one.
  int64_t group_of(size_t i) const {
    return parts_.groups.empty() ? static_cast<int64_t>(i) : parts_.groups[i];
  }

  GptqParts parts_;
};

class GptqWeights : public PackedWeights {
 public:
  explicit GptqWeights(const GptqOptions& options) : options_(options) {}

  std::vector<std::string> tensors(const Checkpoint& checkpoint,
                                   const std::string& name) const override {
    const std::string module = module_of(name);
    if (module.empty()) return {};
    return present(checkpoint, {module + ".qweight", module + ".qzeros", module + ".scales",
                                module + ".g_idx"});
  }

  // Older packers gave every layer a bias, of zeros if the model has none.
  bool is_unused(const Checkpoint& checkpoint, const TensorInfo& tensor) const override {
    constexpr std::string_view kBias = ".bias";
    if (!tensor.name.ends_with(kBias)) return false;
    const std::string module = tensor.name.substr(0, tensor.name.size() - kBias.size());
    return checkpoint.contains(module + ".qweight") &&
           std::all_of(tensor.bytes.begin(), tensor.bytes.end(),
                       [](std::byte byte) { return byte == std::byte{0}; });
  }

  PackedPtr matrix(const std::shared_ptr<const Checkpoint>& checkpoint, const std::string& name,
                   int64_t rows, int64_t columns) const override {
    const std::string module = module_of(name);
    const std::string codes = module + ".qweight", scales = module + ".scales";
    const int64_t bits = bits_of(*checkpoint, codes, columns);
    const TensorInfo& scale = checkpoint->at(scales);
    const int64_t count = scale.shape.empty() ? 0 : scale.shape[0];
    const int64_t group = group_of(count, columns);
    if (count < 1 || ceil_div(columns, group) != count) {
      fail(ErrorCode::InvalidFile, "tensor '{}' has {} groups of {} inputs, the layer has {}",
           scales, count, group, columns);
    }
    if (rows * bits % 32 != 0) {
      fail(ErrorCode::InvalidFile, "tensor '{}': {} rows of {} bits do not fill words", codes, rows,
           bits);
    }
    GptqParts parts{
        PackedPart(checkpoint, codes, {columns * bits / 32, rows}, {Dtype::I32, Dtype::U32}),
        PackedPart(checkpoint, module + ".qzeros", {count, rows * bits / 32},
                   {Dtype::I32, Dtype::U32}),
        PackedPart(checkpoint, scales, {count, rows}, float_types()),
        {},
        static_cast<unsigned>(bits),
        options_.zeros_less_one ? 1 : 0};
    PackedLayout layout{rows, columns, bits <= 4 ? 4 : 8, false, Shift::Integers, group};
    if (checkpoint->contains(module + ".g_idx")) {
      const PackedPart index(checkpoint, module + ".g_idx", {columns}, {Dtype::I32, Dtype::I64});
      GroupOrder order = order_of_groups(index, columns, group, count);
      if (order.regular) {
        layout.order = std::move(order.columns);
      } else {
        layout.group = 1;
        for (int64_t i = 0; i < columns; ++i) parts.groups.push_back(index.integer(i));
      }
    }
    choose_shift(layout, parts, count);
    return std::make_shared<GptqMatrix>(std::move(layout), std::move(parts));
  }

 private:
  int64_t bits_of(const Checkpoint& checkpoint, const std::string& codes, int64_t columns) const {
    const TensorInfo& tensor = checkpoint.at(codes);
    const int64_t words = tensor.shape.empty() ? 0 : tensor.shape[0];
    for (const int64_t bits : {2, 3, 4, 8}) {
      if (columns * bits % 32 == 0 && columns * bits / 32 == words) return bits;
    }
    fail(ErrorCode::InvalidFile,
         "tensor '{}' has {} words for {} inputs: that is neither 2, 3, 4 nor 8 bits", codes, words,
         columns);
  }

  int64_t group_of(int64_t count, int64_t columns) const {
    if (options_.group_size && ceil_div(columns, *options_.group_size) == count) {
      return *options_.group_size;
    }
    return count > 0 ? ceil_div(columns, count) : columns;
  }

  // If all zeros are in the middle: signed codes without shifts. A zero of 2^bits has no code.
  static void choose_shift(PackedLayout& layout, const GptqParts& parts, int64_t count) {
    const GptqMatrix all(layout, parts);
    const int middle = 1 << (parts.bits - 1), largest = layout.bits == 4 ? 15 : 255;
    bool is_middle = true, fits = true;
    for (int64_t group = 0; group < count; ++group) {
      for (int64_t row = 0; row < layout.rows; ++row) {
        const int zero = all.zero(group, row);
        is_middle = is_middle && zero == middle;
        fits = fits && zero <= largest;
      }
    }
    layout.is_signed = is_middle;
    layout.shift = is_middle ? Shift::None : fits ? Shift::Integers : Shift::Floats;
  }

  GptqOptions options_;
};

}  // namespace

PackedWeightsPtr gptq_weights(const GptqOptions& options) {
  return std::make_shared<GptqWeights>(options);
}

}  // namespace pippin::nn
