#include "pippin/mil/networks/compressed_constant.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "pippin/mil/elements.h"
#include "pippin/mil/networks/numbers.h"
#include "pippin/mil/networks/shift_scale.h"

namespace pippin::mil::networks {
namespace {

// A form, and the bytes of its parts.
struct Choice {
  enum class Kind : uint8_t { Floats, Halves, Scaled, Palette };
  Kind kind = Kind::Floats;
  int bits = 32;
  uint64_t bytes = 0;
};

// The constant that is being written.
class Writer {
 public:
  Writer(Graph& graph, const CompressedForm& form, const std::vector<int64_t>& shape)
      : graph_(graph), form_(form), shape_(shape) {}

  Var* write() {
    if (!find_axis()) return nullptr;
    if (form_.is_linear()) shift_scale_ = to_shift_scale(form_);
    const Choice now = best(graph_.opset()), later = best(Opset::CoreML8);
    if (later.bits < now.bits && later.bytes < now.bytes / 10 * 9) graph_.want(Opset::CoreML8);
    switch (now.kind) {
      case Choice::Kind::Halves:
        return halves();
      case Choice::Kind::Scaled:
        return is_flat() ? affine() : blockwise(now.bits);
      case Choice::Kind::Palette:
        return is_flat() ? flat_palette(now.bits) : palette(now.bits);
      case Choice::Kind::Floats:
        break;
    }
    return nullptr;
  }

 private:
  bool is_flat() const { return graph_.opset() < Opset::CoreML8; }

  // The axis of the channels, if groups of them differ.
  bool find_axis() {
    if (form_.groups() == 1) return !shape_.empty();
    int64_t inner = 1;
    for (size_t axis = shape_.size(); axis-- > 0; inner *= shape_[axis]) {
      if (inner != form_.inner || shape_[axis] != form_.channels) continue;
      axis_ = axis;
      return true;
    }
    return false;
  }

  Choice best(Opset opset) const {
    const auto count = static_cast<uint64_t>(num_elements(shape_));
    const auto groups = static_cast<uint64_t>(form_.groups());
    Choice best{Choice::Kind::Floats, 32, count * sizeof(float)};
    const auto consider = [&](Choice::Kind kind, int bits, uint64_t parameters) {
      const uint64_t bytes = (count * static_cast<uint64_t>(bits) + 7) / 8 + parameters;
      if (bytes < best.bytes) best = {kind, bits, bytes};
    };
    if (form_.bits == CompressedForm::kHalves) {
      consider(Choice::Kind::Halves, form_.bits, 0);
      return best;
    }
    const bool newer = opset >= Opset::CoreML8;
    if (shift_scale_) {
      const uint64_t scales = newer ? groups : groups > 1 ? to_unsigned(form_.channels) : 1;
      if (newer && form_.bits <= 4) consider(Choice::Kind::Scaled, 4, 2 * sizeof(float) * scales);
      consider(Choice::Kind::Scaled, 8, 2 * sizeof(float) * scales);
    }
    if (!form_.is_signed && (newer || groups == 1)) {
      for (const int bits : {1, 2, 3, 4, 6, 8}) {
        if (bits < form_.bits || (bits == 3 && !newer)) continue;
        consider(Choice::Kind::Palette, bits, groups * sizeof(float) << bits);
        break;
      }
    }
    return best;
  }

  static uint64_t to_unsigned(int64_t value) { return static_cast<uint64_t>(value); }

  Value numbers(DataType type, std::vector<int64_t> dims) const {
    return Value::of_source(ValueType::tensor(type, std::move(dims)),
                            packed_numbers(form_.elements, bit_width(type)));
  }

  Var* halves() {
    const Value source =
        Value::of_source(ValueType::tensor(DataType::Float16, shape_), form_.elements);
    return graph_.add_constexpr("constexpr_cast",
                                {{"source_val", source}, {"output_dtype", text("fp32")}});
  }

  Var* affine() {
    const DataType type = form_.is_signed ? DataType::Int8 : DataType::UInt8;
    ShiftScale values = *shift_scale_;
    std::vector<int64_t> dims;
    if (form_.groups() > 1) {
      values = values.repeated(form_.channels);
      dims = {form_.channels};
    }
    return graph_.add_constexpr("constexpr_affine_dequantize",
                                {{"quantized_data", numbers(type, shape_)},
                                 {"zero_point", values.offset_value(type, dims)},
                                 {"scale", Value::of_floats(DataType::Float32, values.scale, dims)},
                                 {"axis", integer(static_cast<int64_t>(axis_))}});
  }

  // One block for each group.
  std::vector<int64_t> blocks() const {
    std::vector<int64_t> dims(shape_.size(), 1);
    dims[axis_] = form_.groups();
    return dims;
  }

  Var* blockwise(int bits) {
    const DataType type = bits == 4         ? DataType::UInt4
                          : form_.is_signed ? DataType::Int8
                                            : DataType::UInt8;
    const ShiftScale& values = *shift_scale_;
    Graph::Parameters parameters = {
        {"data", numbers(type, shape_)},
        {"scale", Value::of_floats(DataType::Float32, values.scale, blocks())}};
    if (!values.is_symmetric()) {
      parameters.emplace_back("offset", values.offset_value(type, blocks()));
    }
    return graph_.add_constexpr("constexpr_blockwise_shift_scale", std::move(parameters));
  }

  // 2^bits values for each group; indices of fewer bits do not reach all of them.
  Value table(int bits, std::vector<int64_t> dims) const {
    const size_t entries = size_t{1} << bits, known = size_t{1} << form_.bits;
    const auto groups = static_cast<size_t>(form_.groups());
    std::vector<double> values(groups * entries);
    for (size_t group = 0; group < groups; ++group) {
      for (size_t i = 0; i < known; ++i) {
        const float value = form_.is_linear()
                                ? static_cast<float>(i) * form_.scale[group] + form_.bias[group]
                                : form_.table[group * known + i];
        values[group * entries + i] = static_cast<double>(value);
      }
    }
    return Value::of_floats(DataType::Float32, values, std::move(dims));
  }

  Var* flat_palette(int bits) {
    const auto packed = packed_numbers(form_.elements, bits);
    const ValueType bytes =
        ValueType::tensor(DataType::UInt8, {static_cast<int64_t>(packed->size())});
    return graph_.add_constexpr("constexpr_lut_to_dense",
                                {{"indices", Value::of_source(bytes, packed)},
                                 {"lut", table(bits, {int64_t{1} << bits})},
                                 {"shape", unsigned_integers(shape_)}});
  }

  Var* palette(int bits) {
    constexpr std::pair<int, DataType> kTypes[] = {{1, DataType::UInt1}, {2, DataType::UInt2},
                                                   {3, DataType::UInt3}, {4, DataType::UInt4},
                                                   {6, DataType::UInt6}, {8, DataType::UInt8}};
    const auto* const type = std::find_if(std::begin(kTypes), std::end(kTypes),
                                          [&](const auto& one) { return one.first == bits; });
    std::vector<int64_t> dims = blocks();
    dims.insert(dims.end(), {int64_t{1} << bits, 1});
    return graph_.add_constexpr(
        "constexpr_lut_to_dense",
        {{"indices", numbers(type->second, shape_)}, {"lut", table(bits, std::move(dims))}});
  }

  static Value unsigned_integers(const std::vector<int64_t>& values) {
    Value value = integers(values);
    value.type.data_type = DataType::UInt32;
    return value;
  }

  Graph& graph_;
  const CompressedForm& form_;
  const std::vector<int64_t>& shape_;
  size_t axis_ = 0;
  std::optional<ShiftScale> shift_scale_;
};

}  // namespace

Var* compressed_constant(Graph& graph, const CompressedForm& form,
                         const std::vector<int64_t>& shape) {
  // Smaller ones may determine shapes, and are inline in programs.
  constexpr int64_t kFewElements = 64;
  if (num_elements(shape) < kFewElements) return nullptr;
  return Writer(graph, form, shape).write();
}

}  // namespace pippin::mil::networks
