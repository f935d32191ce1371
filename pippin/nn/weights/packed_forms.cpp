#include "pippin/nn/weights/packed_forms.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <tuple>
#include <utility>

#include "pippin/array/ops.h"
#include "pippin/base/log.h"
#include "pippin/base/numbers/float16.h"

namespace pippin::nn {
namespace {

using mil::DataType;
using Shift = PackedLayout::Shift;

size_t bytes_of(DataType type) {
  return static_cast<size_t>(mil::bit_width(type)) / 8;
}

void put(float value, DataType type, std::byte* out) {
  if (type == DataType::Float16) {
    const float16 half = to_float16(value);
    std::memcpy(out, &half, sizeof(half));
  } else {
    std::memcpy(out, &value, sizeof(value));
  }
}

// Columns of one scale of the form: groups begin like the file's and have equal sizes.
int64_t even_group(const PackedLayout& layout) {
  return layout.group >= layout.columns ? layout.columns : std::gcd(layout.group, layout.columns);
}
int64_t even_rows(const PackedLayout& layout) {
  return layout.row_group >= layout.rows ? layout.rows : std::gcd(layout.row_group, layout.rows);
}

// Rows of equal numbers of bytes, computed one after another.
class RowBytes : public mil::DerivedSource {
 public:
  // `name` is that of the matrix, for warnings.
  RowBytes(PackedPtr matrix, std::string_view step, int64_t rows, uint64_t row_bytes, DataType type,
           std::string name)
      : matrix_(std::move(matrix)),
        step_(step),
        rows_(rows),
        row_bytes_(row_bytes),
        type_(type),
        name_(std::move(name)) {}

  uint64_t size() const override { return static_cast<uint64_t>(rows_) * row_bytes_; }

  void read(uint64_t offset, MutableByteSpan out) const override {
    std::vector<std::byte> partial;
    while (!out.empty()) {
      const auto row = static_cast<int64_t>(offset / row_bytes_);
      const uint64_t inside = offset % row_bytes_;
      const uint64_t taken = std::min<uint64_t>(row_bytes_ - inside, out.size());
      if (taken == row_bytes_) {
        row_bytes(row, out.first(taken));
        warn_of_infinities(out.first(taken));
      } else {
        partial.resize(row_bytes_);
        row_bytes(row, partial);
        warn_of_infinities(partial);
        std::memcpy(out.data(), partial.data() + inside, taken);
      }
      offset += taken;
      out = out.subspan(taken);
    }
  }

  bool describe(mil::Recipe& recipe) const override {
    recipe.step(step_).number(rows_).number(static_cast<int64_t>(row_bytes_));
    recipe.number(static_cast<int64_t>(type_));
    return matrix_->describe(recipe);
  }
  void release() const noexcept override { matrix_->release(); }
  const mil::StoredBlocks* blocks() const override { return matrix_->blocks(); }

 protected:
  virtual void row_bytes(int64_t row, MutableByteSpan out) const = 0;
  const PackedMatrix& matrix() const { return *matrix_; }
  const PackedLayout& layout() const { return matrix_->layout(); }
  DataType type() const { return type_; }

 private:
  void warn_of_infinities(ByteSpan row) const {
    if (type_ != DataType::Float16 || warned_) return;
    constexpr uint16_t kInfinity = 0x7C00;
    for (size_t i = 0; i + 1 < row.size(); i += 2) {
      uint16_t bits = 0;
      std::memcpy(&bits, row.data() + i, sizeof(bits));
      if ((bits & 0x7FFF) != kInfinity || warned_.exchange(true)) continue;
      log_warn("{}: some values are beyond fp16 (65504) and become infinite",
               name_.empty() ? "a packed matrix" : name_);
    }
  }

  PackedPtr matrix_;
  std::string step_;
  int64_t rows_;
  uint64_t row_bytes_;
  DataType type_;
  std::string name_;
  mutable std::atomic<bool> warned_ = false;
};

// The codes as elements of their type, the first one lowest.
class CodeBytes : public RowBytes {
 public:
  CodeBytes(PackedPtr matrix, DataType type)
      : RowBytes(matrix, "packed codes", matrix->layout().rows,
                 mil::packed_size(type, matrix->layout().columns), type, {}) {}

  ByteSpan view() const override { return matrix().stream(); }

 private:
  void row_bytes(int64_t row, MutableByteSpan out) const override {
    const auto columns = static_cast<size_t>(layout().columns);
    const auto bits = static_cast<unsigned>(layout().bits);
    if (bits == 8) {
      matrix().codes(row, {reinterpret_cast<uint8_t*>(out.data()), columns});
      return;
    }
    std::vector<uint8_t> codes(columns);
    matrix().codes(row, codes);
    const unsigned mask = (1u << bits) - 1;
    unsigned word = 0, held = 0;
    size_t next = 0;
    for (const uint8_t code : codes) {
      word |= (code & mask) << held;
      held += bits;
      for (; held >= 8; held -= 8, word >>= 8) out[next++] = static_cast<std::byte>(word & 255u);
    }
  }
};

// Converts code * scale + bias to the form (code - offset) * scale. If the bias is so much larger
// than the scale that codes hardly matter, or the scale is 0, another scale gives the bias.
std::pair<float, float> shifted(float scale, float bias, DataType type) {
  const float most = type == DataType::Float16 ? 0x1p15f : 0x1p30f;
  if (bias == 0) return {scale, 0.0f};
  if (std::abs(bias) < std::abs(scale) * most) return {scale, -bias / scale};
  return {bias / most, -most};
}

enum class Number : uint8_t { Scale, Offset };

// The scales or the shifts of a form, one for each group of a row.
class ScaleBytes : public RowBytes {
 public:
  ScaleBytes(PackedPtr matrix, Number number, DataType type, DataType compute, std::string name)
      : RowBytes(matrix, number == Number::Scale ? "packed scales" : "packed shifts",
                 matrix->layout().rows / even_rows(matrix->layout()),
                 mil::packed_size(type, matrix->layout().columns / even_group(matrix->layout())),
                 type, std::move(name)),
        number_(number),
        compute_(compute) {}

 private:
  void row_bytes(int64_t row, MutableByteSpan out) const override {
    const PackedLayout& of = layout();
    const auto groups = static_cast<size_t>(of.groups());
    std::vector<float> scales(groups), shifts(of.shift != Shift::None ? groups : 0);
    matrix().scales(row * even_rows(of), scales, shifts);
    const auto count = static_cast<size_t>(of.columns / even_group(of));
    std::fill(out.begin(), out.end(), std::byte{0});
    for (size_t i = 0; i < count; ++i) {
      const size_t group = i * static_cast<size_t>(even_group(of)) / static_cast<size_t>(of.group);
      float value = number_ == Number::Scale ? scales[group] : shifts[group];
      if (of.shift == Shift::Bias) {
        const auto [scale, shift] = shifted(scales[group], shifts[group], compute_);
        value = number_ == Number::Scale ? scale : shift;
      }
      put_number(value, i, out);
    }
  }

  void put_number(float value, size_t index, MutableByteSpan out) const {
    if (mil::is_float(type())) {
      put(value, type(), out.data() + index * bytes_of(type()));
    } else if (mil::bit_width(type()) == 8) {
      out[index] = static_cast<std::byte>(static_cast<int>(value));
    } else {
      const auto code = static_cast<unsigned>(static_cast<int>(value)) & 15u;
      out[index / 2] |= static_cast<std::byte>(code << (4 * (index % 2)));
    }
  }

  Number number_;
  DataType compute_;
};

// Palettes times scales.
class PaletteBytes : public RowBytes {
 public:
  PaletteBytes(PackedPtr matrix, DataType type, std::string name)
      : RowBytes(matrix, "packed palettes", matrix->layout().rows / even_rows(matrix->layout()),
                 static_cast<uint64_t>(matrix->layout().columns / even_group(matrix->layout())) *
                     matrix->layout().palette.size() * bytes_of(type),
                 type, std::move(name)) {}

  bool describe(mil::Recipe& recipe) const override {
    for (const float entry : layout().palette) recipe.number(std::bit_cast<int32_t>(entry));
    return RowBytes::describe(recipe);
  }

 private:
  void row_bytes(int64_t row, MutableByteSpan out) const override {
    const PackedLayout& of = layout();
    std::vector<float> scales(static_cast<size_t>(of.groups()));
    matrix().scales(row * even_rows(of), scales, {});
    std::byte* next = out.data();
    for (int64_t column = 0; column < of.columns; column += even_group(of)) {
      const float scale = scales[static_cast<size_t>(column / of.group)];
      for (const float entry : of.palette) {
        put(entry * scale, type(), next);
        next += bytes_of(type());
      }
    }
  }
};

class ValueBytes : public RowBytes {
 public:
  ValueBytes(PackedPtr matrix, DataType type, std::string name)
      : RowBytes(matrix, "packed values", matrix->layout().rows,
                 static_cast<uint64_t>(matrix->layout().columns) * bytes_of(type), type,
                 std::move(name)) {}

  bool describe(mil::Recipe& recipe) const override {
    for (const float entry : layout().palette) recipe.number(std::bit_cast<int32_t>(entry));
    return RowBytes::describe(recipe);
  }

 private:
  void row_bytes(int64_t row, MutableByteSpan out) const override {
    std::vector<float> values(static_cast<size_t>(layout().columns));
    packed_values(matrix(), row, values);
    for (size_t i = 0; i < values.size(); ++i) {
      const size_t to = layout().order.empty() ? i : static_cast<size_t>(layout().order[i]);
      put(values[i], type(), out.data() + to * bytes_of(type()));
    }
  }
};

DataType code_type(const PackedLayout& layout) {
  if (!layout.palette.empty()) {
    switch (layout.bits) {
      case 1:
        return DataType::UInt1;
      case 2:
        return DataType::UInt2;
      case 3:
        return DataType::UInt3;
      case 4:
        return DataType::UInt4;
      case 6:
        return DataType::UInt6;
      default:
        return DataType::UInt8;
    }
  }
  if (layout.bits == 4) return layout.is_signed ? DataType::Int4 : DataType::UInt4;
  return layout.is_signed ? DataType::Int8 : DataType::UInt8;
}

// `dims` with other columns and, if rows share scales, other rows.
std::vector<int64_t> block_dims(const PackedLayout& layout, std::vector<int64_t> dims) {
  int64_t shared = even_rows(layout);
  dims.back() = layout.columns / even_group(layout);
  for (size_t axis = dims.size() - 1; axis-- > 0 && shared > 1;) {
    const int64_t part = std::gcd(shared, dims[axis]);
    dims[axis] /= part;
    shared /= part;
  }
  return dims;
}

}  // namespace

bool becomes_values(const PackedLayout& layout, DataType type) {
  constexpr int64_t kSmallestGroup = 8;  // with smaller groups, scales take as much memory as
                                         // values
  const int64_t group = even_group(layout);
  if (layout.columns * layout.bits % 8 != 0) return true;
  if (layout.palette.empty()) return group < std::min(kSmallestGroup, layout.columns);
  const auto entry = static_cast<int64_t>(bytes_of(type));
  const auto palette = static_cast<int64_t>(layout.palette.size()) * entry;
  const int64_t shared = group * even_rows(layout);
  return palette + shared * layout.bits / 8 >= shared * entry;
}

array::Array packed_array(const std::string& name, PackedPtr matrix,
                          const std::vector<int64_t>& dims, DataType type) {
  const PackedLayout& layout = matrix->layout();
  if (becomes_values(layout, type)) {
    return array::weight(name, type, dims, packed_elements(matrix, type, name));
  }
  const DataType codes = code_type(layout);
  const array::Array data =
      array::weight(name + ".codes", codes, dims, std::make_shared<CodeBytes>(matrix, codes));
  std::vector<int64_t> blocks = block_dims(layout, dims);
  if (!layout.palette.empty()) {
    blocks.insert(blocks.end(), {static_cast<int64_t>(layout.palette.size()), 1});
    const array::Array lut = array::weight(name + ".lut", type, blocks,
                                           std::make_shared<PaletteBytes>(matrix, type, name));
    return array::named(
        array::record_one("constexpr_lut_to_dense", {{"indices", data}, {"lut", lut}}), name);
  }
  const array::Array scale =
      array::weight(name + ".scale", type, blocks,
                    std::make_shared<ScaleBytes>(matrix, Number::Scale, type, type, name));
  std::vector<array::Param> params = {{"data", data}, {"scale", scale}};
  if (layout.shift != Shift::None) {
    // Rows of an odd number of half bytes do not begin on a byte.
    const bool whole = blocks.back() * mil::bit_width(codes) % 8 == 0;
    const DataType shift = layout.shift == Shift::Integers && whole ? codes : type;
    params.emplace_back("offset", array::weight(name + ".offset", shift, blocks,
                                                std::make_shared<ScaleBytes>(matrix, Number::Offset,
                                                                             shift, type, name)));
  }
  return array::named(array::record_one("constexpr_blockwise_shift_scale", std::move(params)),
                      name);
}

std::shared_ptr<const mil::TensorSource> packed_elements(PackedPtr matrix, DataType type,
                                                         std::string name) {
  return std::make_shared<ValueBytes>(std::move(matrix), type, std::move(name));
}

PackedError packed_error(const PackedMatrix& matrix, int64_t most_rows) {
  const PackedLayout& layout = matrix.layout();
  const auto half = [](float value) { return to_float(to_float16(value)); };
  const auto groups = static_cast<size_t>(layout.groups());
  const bool dense = becomes_values(layout, DataType::Float16);
  std::vector<float> exact(static_cast<size_t>(layout.columns)), scales(groups),
      shifts(layout.shift != Shift::None ? groups : 0);
  std::vector<uint8_t> codes(exact.size());
  PackedError sum;
  const int64_t step = std::max<int64_t>(1, layout.rows / std::max<int64_t>(1, most_rows));
  for (int64_t row = 0; row < layout.rows; row += step) {
    packed_values(matrix, row, exact);
    matrix.codes(row, codes);
    matrix.scales(row, scales, shifts);
    for (size_t i = 0; i < exact.size(); ++i) {
      const size_t group = i / static_cast<size_t>(layout.group);
      double value = 0;
      if (dense) {
        value = half(exact[i]);
      } else if (!layout.palette.empty()) {
        value = half(layout.palette[codes[i]] * scales[group]);
      } else {
        const int code = layout.is_signed ? static_cast<int8_t>(codes[i]) : codes[i];
        float scale = scales[group], shift = shifts.empty() ? 0.0f : shifts[group];
        if (layout.shift == Shift::Bias) {
          std::tie(scale, shift) = shifted(scale, shift, DataType::Float16);
        }
        value = (double{1} * code - half(shift)) * half(scale);
      }
      sum.error += (value - exact[i]) * (value - exact[i]);
      sum.total += double{1} * exact[i] * exact[i];
    }
  }
  return sum;
}

}  // namespace pippin::nn
