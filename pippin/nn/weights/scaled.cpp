// Matrices of integers or 8-bit floats with scales: compressed-tensors' forms, and the 8-bit floats
// of DeepSeek, FBGEMM and ModelOpt, which differ in the names and shapes of their scales.
// Activations are not rounded.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/base/error.h"
#include "pippin/base/numbers/checked.h"
#include "pippin/nn/weights/packed_weights.h"

namespace pippin::nn {
namespace {

using Shift = PackedLayout::Shift;

struct ScaledParts {
  PackedPart codes, scales;
  std::optional<PackedPart> zeros;
  unsigned bits = 8;            // in the file
  bool packed = false;          // I32 words of unsigned codes, which are the signed ones plus an
                                // offset
  std::vector<int64_t> groups;  // of each column, if groups are irregular
};

class ScaledMatrix : public PackedMatrix {
 public:
  ScaledMatrix(PackedLayout layout, ScaledParts parts)
      : PackedMatrix(std::move(layout)), parts_(std::move(parts)) {
    const std::vector<int64_t>& shape = parts_.scales.tensor().shape;
    scale_columns_ = shape.size() < 2 ? 1 : shape.back();
    scale_rows_ = parts_.scales.tensor().num_elements() / scale_columns_;
  }

  void codes(int64_t row, std::span<uint8_t> out) const override {
    const PackedLayout& of = layout();
    const int64_t per_word = 32 / parts_.bits;
    const int64_t row_bytes = parts_.packed ? ceil_div(of.columns, per_word) * 4 : of.columns;
    const std::byte* bytes = parts_.codes.bytes() + row * row_bytes;
    const int middle = parts_.packed && of.is_signed ? 1 << (parts_.bits - 1) : 0;
    for (size_t i = 0; i < out.size(); ++i) {
      const auto column = of.order.empty() ? static_cast<int64_t>(i) : of.order[i];
      const unsigned code = parts_.packed ? packed_code(bytes, column, per_word)
                                          : static_cast<unsigned>(bytes[column]);
      out[i] = static_cast<uint8_t>(static_cast<int>(code) - middle);
    }
  }

  void scales(int64_t row, std::span<float> scales, std::span<float> shifts) const override {
    const int64_t line = std::min(row / layout().row_group, scale_rows_ - 1);
    for (size_t i = 0; i < scales.size(); ++i) {
      const int64_t group = parts_.groups.empty() ? static_cast<int64_t>(i) : parts_.groups[i];
      scales[i] = parts_.scales.number(line * scale_columns_ + group);
      if (!shifts.empty()) shifts[i] = static_cast<float>(zero(line, group));
    }
  }

  bool describe(mil::Recipe& recipe) const override {
    const PackedLayout& of = layout();
    recipe.step("scaled").number(parts_.bits).number(parts_.packed ? 1 : 0).number(of.rows);
    recipe.number(of.columns).number(of.group).number(of.row_group).number(of.is_signed ? 1 : 0);
    recipe.number(static_cast<int64_t>(of.order.size()));
    for (const int64_t input : of.order) recipe.number(input);
    for (const int64_t group : parts_.groups) recipe.number(group);
    parts_.codes.describe(recipe);
    parts_.scales.describe(recipe);
    if (parts_.zeros) parts_.zeros->describe(recipe);
    return true;
  }
  void release() const noexcept override { parts_.codes.release(); }
  ByteSpan stream() const override {
    return !parts_.packed && layout().order.empty() ? parts_.codes.tensor().bytes : ByteSpan();
  }

 private:
  unsigned packed_code(const std::byte* words, int64_t index, int64_t per_word) const {
    const std::byte* word = words + index / per_word * 4;
    return stream_code(word, static_cast<uint64_t>(index % per_word), parts_.bits);
  }
  // In the codes' form: in packed words with the same offset.
  int zero(int64_t line, int64_t group) const {
    const PackedPart& zeros = *parts_.zeros;
    if (zeros.tensor().dtype == Dtype::I32) {
      const int64_t per_word = 32 / parts_.bits;
      const std::byte* word = zeros.bytes() + (line / per_word * scale_columns_ + group) * 4;
      return stream_code(word, static_cast<uint64_t>(line % per_word), parts_.bits);
    }
    const auto zero = static_cast<int>(zeros.integer(line * scale_columns_ + group));
    return parts_.packed ? zero + (1 << (parts_.bits - 1)) : zero;
  }

  ScaledParts parts_;
  int64_t scale_rows_, scale_columns_;
};

class ScaledWeights : public PackedWeights {
 public:
  explicit ScaledWeights(const ScaledOptions& options) : options_(options) {}

  std::vector<std::string> tensors(const Checkpoint& checkpoint,
                                   const std::string& name) const override {
    const std::string module = module_of(name);
    if (module.empty()) return {};
    const std::string packed = name + "_packed";
    const std::string& codes = checkpoint.contains(packed) ? packed : name;
    if (codes == name) {
      const TensorInfo* tensor = checkpoint.find(name);
      const bool known =
          tensor != nullptr && (tensor->dtype == Dtype::I8 || tensor->dtype == Dtype::F8E4M3 ||
                                tensor->dtype == Dtype::F8E5M2);
      if (!known) return {};
    }
    return present(checkpoint, {codes, name + "_scale", name + "_scale_inv", name + "_zero_point",
                                name + "_shape", name + "_g_idx"});
  }

  PackedPtr matrix(const std::shared_ptr<const Checkpoint>& checkpoint, const std::string& name,
                   int64_t rows, int64_t columns) const override {
    const bool packed = checkpoint->contains(name + "_packed");
    const std::string codes = packed ? name + "_packed" : name;
    const std::string scales =
        name + (checkpoint->contains(name + "_scale") ? "_scale" : "_scale_inv");
    check_shape(checkpoint, name + "_shape", rows, columns);
    PackedLayout layout{rows, columns, 8, true, Shift::None, columns};
    ScaledParts parts = make_parts(checkpoint, codes, scales, packed, layout);
    if (!packed && parts.codes.tensor().dtype != Dtype::I8) {
      layout.is_signed = false;
      layout.palette = float8_palette(parts.codes.tensor().dtype);
    }
    if (checkpoint->contains(name + "_zero_point")) {
      add_zeros(checkpoint, name + "_zero_point", layout, parts);
    }
    if (checkpoint->contains(name + "_g_idx")) {
      const PackedPart index(checkpoint, name + "_g_idx", {columns}, {Dtype::I32, Dtype::I64});
      add_order(index, layout, parts);
    }
    return std::make_shared<ScaledMatrix>(std::move(layout), std::move(parts));
  }

  bool is_unused(const Checkpoint& /*checkpoint*/, const TensorInfo& tensor) const override {
    constexpr std::string_view kEnds[] = {
        ".input_scale", ".input_zero_point",   ".output_scale",     ".k_scale",
        ".v_scale",     ".input_global_scale", ".activation_scale", ".input_scale_ub"};
    return std::any_of(std::begin(kEnds), std::end(kEnds),
                       [&](std::string_view end) { return tensor.name.ends_with(end); });
  }

 private:
  static void check_shape(const std::shared_ptr<const Checkpoint>& checkpoint,
                          const std::string& name, int64_t rows, int64_t columns) {
    if (!checkpoint->contains(name)) return;
    const PackedPart shape(checkpoint, name, {2}, {Dtype::I64, Dtype::I32});
    if (shape.integer(0) == rows && shape.integer(1) == columns) return;
    fail(ErrorCode::InvalidFile, "{}: tensor '{}' says [{}, {}], the configuration needs [{}, {}]",
         checkpoint->path().filename().string(), name, shape.integer(0), shape.integer(1), rows,
         columns);
  }

  ScaledParts make_parts(const std::shared_ptr<const Checkpoint>& checkpoint,
                         const std::string& codes, const std::string& scales, bool packed,
                         PackedLayout& layout) const {
    int64_t bits = 8, words = layout.columns;
    if (packed) {
      const TensorInfo& tensor = checkpoint->at(codes);
      words = tensor.shape.empty() ? 0 : tensor.shape.back();
      bits = bits_of(words, layout.columns, codes);
      layout.bits = bits <= 4 ? 4 : 8;
    }
    const std::vector<Dtype> types =
        packed ? std::vector<Dtype>{Dtype::I32, Dtype::U32}
               : std::vector<Dtype>{Dtype::I8, Dtype::F8E4M3, Dtype::F8E5M2};
    const TensorInfo* scale = checkpoint->find(scales);
    const std::vector<int64_t> dims = scale != nullptr ? scale->shape : std::vector<int64_t>{};
    if (scale != nullptr) set_groups(*scale, layout);
    return {PackedPart(checkpoint, codes, {layout.rows, words}, types),
            PackedPart(checkpoint, scales, dims, float_types()),
            std::nullopt,
            static_cast<unsigned>(bits),
            packed,
            {}};
  }

  int64_t bits_of(int64_t words, int64_t columns, const std::string& name) const {
    static const std::vector<int64_t> all = {4, 8, 2, 3, 5, 6};
    const std::vector<int64_t>& candidates = options_.bits.empty() ? all : options_.bits;
    for (const int64_t bits : candidates) {
      if (bits >= 1 && bits <= 8 && ceil_div(columns, 32 / bits) == words) return bits;
    }
    fail(ErrorCode::InvalidFile, "tensor '{}' has {} words a row for {} columns of {} bits", name,
         words, columns, fmt::join(candidates, " or "));
  }

  void set_groups(const TensorInfo& scale, PackedLayout& layout) const {
    const std::vector<int64_t>& shape = scale.shape;
    const int64_t rows = layout.rows, columns = layout.columns;
    const int64_t count = scale.num_elements();
    if (count == 1) {
      layout.row_group = rows;
      return;
    }
    if (count == rows && (shape.size() == 1 || (shape.size() == 2 && shape[1] == 1))) return;
    if (shape.size() == 2 && shape[0] > 0 && shape[1] > 0) {
      if (options_.block && shape[0] == ceil_div(rows, options_.block->first) &&
          shape[1] == ceil_div(columns, options_.block->second)) {
        layout.row_group = options_.block->first;
        layout.group = options_.block->second;
        return;
      }
      const int64_t group = ceil_div(columns, shape[1]);
      if (shape[0] == rows && ceil_div(columns, group) == shape[1]) {
        layout.group = group;
        return;
      }
    }
    const std::string block = options_.block
                                  ? fmt::format(", or those of blocks [{}, {}]",
                                                options_.block->first, options_.block->second)
                                  : std::string();
    fail(ErrorCode::InvalidFile,
         "tensor '{}' has shape [{}]: a matrix [{}, {}] needs one scale, one a row, or groups of a "
         "row{}",
         scale.name, fmt::join(shape, ", "), rows, columns, block);
  }

  static void add_zeros(const std::shared_ptr<const Checkpoint>& checkpoint,
                        const std::string& name, PackedLayout& layout, ScaledParts& parts) {
    if (!layout.palette.empty()) {
      fail(ErrorCode::Unsupported, "tensor '{}': 8-bit floats with zero points", name);
    }
    const TensorInfo& tensor = checkpoint->at(name);
    std::vector<int64_t> dims = parts.scales.tensor().shape;
    if (tensor.dtype == Dtype::I32) {
      if (dims.size() == 1) dims.push_back(1);
      dims.at(0) = ceil_div(dims.at(0), int64_t{32} / parts.bits);
    }
    parts.zeros.emplace(checkpoint, name, dims, std::vector<Dtype>{Dtype::I32, Dtype::I8});
    if (parts.packed) layout.is_signed = false;
    layout.shift = Shift::Integers;
  }

  static void add_order(const PackedPart& index, PackedLayout& layout, ScaledParts& parts) {
    if (index.integer(0) == -1) return;  // the tensor's value before it is set
    GroupOrder order = order_of_groups(index, layout.columns, layout.group, layout.groups());
    if (order.regular) {
      layout.order = std::move(order.columns);
      return;
    }
    layout.group = 1;
    for (int64_t i = 0; i < layout.columns; ++i) parts.groups.push_back(index.integer(i));
  }

  ScaledOptions options_;
};

}  // namespace

PackedWeightsPtr scaled_weights(const ScaledOptions& options) {
  return std::make_shared<ScaledWeights>(options);
}

}  // namespace pippin::nn
