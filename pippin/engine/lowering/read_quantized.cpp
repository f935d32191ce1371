#include "pippin/engine/lowering/read_quantized.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/base/numbers/checked.h"
#include "pippin/engine/lowering/constexpr_input.h"
#include "pippin/engine/lowering/exact_bits.h"
#include "pippin/engine/weights/block_rows.h"
#include "pippin/mil/derived_source.h"
#include "pippin/mil/ops/op.h"

namespace pippin::engine {
namespace {

using kernels::OffsetType;
using kernels::QuantizedMatrix;
using kernels::WeightType;
using mil::DataType;

using Dims = std::vector<int64_t>;
using Raw = ConstexprInput;

struct Quantized {
  int bits;
  bool is_signed;
};
std::optional<Quantized> quantized_type(DataType type) {
  switch (type) {
    case DataType::Int4:
      return Quantized{4, true};
    case DataType::UInt4:
      return Quantized{4, false};
    case DataType::Int8:
      return Quantized{8, true};
    case DataType::UInt8:
      return Quantized{8, false};
    default:
      return std::nullopt;
  }
}

std::optional<OffsetType> offset_type(DataType type) {
  switch (type) {
    case DataType::Int4:
      return OffsetType::I4;
    case DataType::UInt4:
      return OffsetType::U4;
    case DataType::Int8:
      return OffsetType::I8;
    case DataType::UInt8:
      return OffsetType::U8;
    case DataType::Float16:
      return OffsetType::F16;
    case DataType::Float32:
      return OffsetType::F32;
    default:
      return std::nullopt;
  }
}

class Reader {
 public:
  Reader(Builder& builder, const mil::Operation& operation)
      : builder_(builder), operation_(operation) {}

  std::shared_ptr<const QuantizedWeight> read() {
    const std::string& op = operation_.type();
    const bool old = builder_.opset() < mil::Opset::CoreML8;
    bool known = false;
    if (auto weight = blocks()) return weight;
    if (op == "constexpr_blockwise_shift_scale") known = blockwise();
    if (op == "constexpr_affine_dequantize") known = affine();
    if (op == "constexpr_lut_to_dense") known = old ? flat_palette() : palette();
    if (!known) return nullptr;
    return std::make_shared<const QuantizedWeight>(std::move(weight_));
  }

 private:
  std::optional<Raw> raw(std::string_view parameter) {
    return constexpr_input(builder_, operation_, parameter);
  }

  const mil::StoredBlocks* blocks_of(std::string_view parameter) const {
    const mil::Value* value = constexpr_constant(operation_, parameter);
    const auto* source =
        value != nullptr ? dynamic_cast<const mil::DerivedSource*>(value->source.get()) : nullptr;
    return source != nullptr ? source->blocks() : nullptr;
  }

  // Codes and scales that come from the same blocks of a file.
  std::shared_ptr<const QuantizedWeight> blocks() const {
    if (operation_.type() != "constexpr_blockwise_shift_scale") return nullptr;
    const mil::StoredBlocks* stored = blocks_of("data");
    if (stored == nullptr || blocks_of("scale") != stored ||
        (mil::find_argument(operation_, "offset") && blocks_of("offset") != stored)) {
      return nullptr;
    }
    const auto forms = kernels::ggml_forms();
    const auto form = std::find_if(forms.begin(), forms.end(),
                                   [&](const auto& one) { return one.name == stored->form; });
    const Dims dims{stored->rows, stored->columns};
    if (form == forms.end() || constexpr_constant(operation_, "data")->type.dims != dims) {
      return nullptr;
    }
    const auto* bytes = reinterpret_cast<const uint8_t*>(stored->bytes.data());
    const kernels::GgmlMatrix matrix{form->type, bytes, stored->rows, stored->columns,
                                     stored->order.empty() ? nullptr : stored->order.data()};
    return block_weight(matrix, constexpr_constant(operation_, "scale")->type.data_type);
  }

  bool set_shape(const Dims& shape, const Dims& blocks) {
    return set_blocks(shape, blocks, weight_.matrix);
  }

  bool set_codes(const Raw& data, int bits, bool is_signed) {
    QuantizedMatrix& w = weight_.matrix;
    w.codes = reinterpret_cast<const uint8_t*>(data.data);
    w.bits = bits;
    w.is_signed = is_signed;
    weight_.bytes += ceil_div<int64_t>(w.n * w.k * bits, 8);
    return true;
  }

  bool set_scales(const Raw& scale, int64_t count) {
    const auto type = float_type(scale.type);
    if (!type || scale.count != count) return false;
    weight_.matrix.scales = scale.data;
    weight_.matrix.scale_type = *type;
    weight_.type = scale.type;
    if (*type == WeightType::F32) {
      if (auto halves = exact_halves(scale.data, count)) {
        weight_.matrix.scales = builder_.keep(std::move(halves->bytes));
        weight_.matrix.scale_type = halves->type;
      }
    }
    weight_.bytes += count * (weight_.matrix.scale_type == WeightType::F32 ? 4 : 2);
    return true;
  }

  bool set_offsets(const Raw& offset, const Raw& scale, int64_t count) {
    const auto type = offset_type(offset.type);
    if (!type || offset.count != count) return false;
    auto size = static_cast<size_t>(mil::packed_size(offset.type, count));
    // Symmetric forms may nevertheless have zero points.
    constexpr size_t kWorthLooking = size_t{1} << 20;
    if (size <= kWorthLooking && std::all_of(offset.data, offset.data + size,
                                             [](std::byte byte) { return byte == std::byte{0}; })) {
      return true;
    }
    weight_.matrix.offsets = offset.data;
    weight_.matrix.offset_type = *type;
    if (mil::is_float(offset.type)) size = keep_small_offsets(offset, scale, size);
    weight_.bytes += static_cast<int64_t>(size);
    return true;
  }

  // Stores offsets of a float type, of `size` bytes, in fewer bits if these hold them; returns the
  // number of bytes.
  size_t keep_small_offsets(const Raw& offset, const Raw& scale, size_t size) {
    QuantizedMatrix& w = weight_.matrix;
    if (auto bytes = exact_bytes(offset.data, *float_type(offset.type), offset.count)) {
      size = bytes->size();
      w.offsets = builder_.keep(std::move(*bytes));
      w.offset_type = OffsetType::U8;
    } else if (offset.type == DataType::Float32 && scale.type == DataType::Float32) {
      if (auto halves = exact_products(offset.data, scale.data, offset.count)) {
        size = halves->bytes.size();
        w.offsets = builder_.keep(std::move(halves->bytes));
        w.offset_type = halves->type == WeightType::F16 ? OffsetType::F16 : OffsetType::BF16;
        w.scaled_offsets = true;
      }
    }
    return size;
  }

  bool blockwise() {
    const auto data = raw("data"), scale = raw("scale");
    if (!data || !scale) return false;
    const auto quantized = quantized_type(data->type);
    if (!quantized || !set_shape(data->dims, scale->dims)) return false;
    weight_.form = std::string(mil::to_string(data->type));
    set_codes(*data, quantized->bits, quantized->is_signed);
    if (!set_scales(*scale, mil::num_elements(scale->dims))) return false;
    if (!mil::find_argument(operation_, "offset")) return true;
    const auto offset = raw("offset");
    return offset && offset->dims == scale->dims && set_offsets(*offset, *scale, scale->count);
  }

  // One scale and zero point, or one for each slice of an axis.
  bool affine() {
    const auto data = raw("quantized_data");
    auto scale = raw("scale"), zero = raw("zero_point");
    const mil::Value* axis_value = constexpr_constant(operation_, "axis");
    if (!data || !scale || !zero || axis_value == nullptr) return false;
    const auto quantized = quantized_type(data->type);
    const std::vector<int64_t> axes = axis_value->to_ints();
    const auto rank = static_cast<int64_t>(data->dims.size());
    if (!quantized || axes.size() != 1 || rank == 0) return false;
    const int64_t axis = axes[0] < 0 ? axes[0] + rank : axes[0];
    const int64_t count = std::max(scale->count, zero->count);
    if (axis < 0 || axis >= rank || scale->count < 1 || zero->count < 1) return false;
    Dims blocks(data->dims.size(), 1);
    blocks[static_cast<size_t>(axis)] = count;
    if (!set_shape(data->dims, blocks)) return false;
    weight_.form = std::string(mil::to_string(data->type));
    set_codes(*data, quantized->bits, quantized->is_signed);
    scale = repeated(*scale, count);
    zero = repeated(*zero, count);
    return set_scales(*scale, count) && set_offsets(*zero, *scale, count);
  }

  // Repeats one element for each of all blocks.
  Raw repeated(const Raw& one, int64_t count) {
    if (one.count == count || one.count != 1) return one;
    const auto size = static_cast<size_t>(mil::packed_size(one.type, 1));
    std::vector<std::byte> bytes(size * static_cast<size_t>(count));
    for (size_t i = 0; i < bytes.size(); i += size) std::memcpy(&bytes[i], one.data, size);
    return {one.type, {count}, builder_.keep(std::move(bytes)), count};
  }

  bool set_palettes(const Raw& lut, int bits, int64_t count) {
    const auto type = float_type(lut.type);
    if (!type || lut.count != count << bits) return false;
    QuantizedMatrix& w = weight_.matrix;
    w.palettes = lut.data;
    w.palette_type = *type;
    weight_.type = lut.type;
    weight_.form = fmt::format("palette of {} bits", bits);
    if (w.blocks_per_row == 1) {
      weight_.byte_palettes = kernels::make_byte_palettes(lut.data, *type, bits, count);
      w.byte_palettes = weight_.byte_palettes.bytes.data();
      w.byte_scales = weight_.byte_palettes.scales.data();
      weight_.bytes += static_cast<int64_t>(weight_.byte_palettes.bytes.size());
    }
    return true;
  }

  bool palette() {
    const auto indices = raw("indices"), lut = raw("lut");
    if (!indices || !lut || lut->dims.size() != indices->dims.size() + 2 || lut->dims.back() != 1) {
      return false;
    }
    const int bits = palette_bits(lut->dims[lut->dims.size() - 2]);
    const Dims groups(lut->dims.begin(), lut->dims.end() - 2);
    const bool fits = bits != 0 && mil::packed_size(indices->type, 8) ==
                                       static_cast<uint64_t>(bits);  // their width is the lut's
    if (!fits || !set_shape(indices->dims, groups)) return false;
    set_codes(*indices, bits, false);
    return set_palettes(*lut, bits, mil::num_elements(groups));
  }

  // Before CoreML8: flat packed bytes with a separate shape, one palette.
  bool flat_palette() {
    const auto indices = raw("indices"), lut = raw("lut");
    const mil::Value* shape = constexpr_constant(operation_, "shape");
    if (!indices || !lut || shape == nullptr || indices->type != DataType::UInt8) return false;
    const int bits = palette_bits(lut->count);
    const Dims dims = shape->to_ints();
    if (bits == 0 || !set_shape(dims, Dims(dims.size(), 1))) return false;
    if (indices->count < ceil_div<int64_t>(mil::num_elements(dims) * bits, 8)) return false;
    set_codes(*indices, bits, false);
    return set_palettes(*lut, bits, 1);
  }

  Builder& builder_;
  const mil::Operation& operation_;
  QuantizedWeight weight_;
};

}  // namespace

std::shared_ptr<const QuantizedWeight> read_quantized_weight(Builder& builder,
                                                             const mil::Operation& operation) {
  return Reader(builder, operation).read();
}

}  // namespace pippin::engine
