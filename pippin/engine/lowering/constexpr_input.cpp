#include "pippin/engine/lowering/constexpr_input.h"

#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/mil/ops/op.h"

namespace pippin::engine {

using mil::DataType;

std::optional<ConstexprInput> constexpr_input(Builder& builder, const mil::Operation& operation,
                                              std::string_view parameter) {
  const mil::BoundArgument bound = mil::find_argument(operation, parameter);
  const mil::Value* value = bound.attribute;
  const mil::Var* var = nullptr;
  if (value == nullptr && bound.argument != nullptr && bound.argument->size() == 1) {
    const mil::Binding& binding = bound.argument->front();
    if (std::holds_alternative<mil::Var*>(binding)) {
      var = std::get<mil::Var*>(binding);
      value = mil::constant_of(var);
    } else {
      value = &std::get<mil::Value>(binding);
    }
  }
  if (value != nullptr) {
    ConstexprInput raw{value->type.data_type, value->type.dims, nullptr,
                       value->type.num_elements()};
    const ByteSpan mapped = value->source != nullptr ? value->source->view() : ByteSpan{};
    size_t size = mapped.size();
    raw.data = mapped.data();
    if (mapped.empty() && value->source != nullptr && var != nullptr && raw.count > 0) {
      size = value->source->size();
      raw.data = builder.computed_bytes(var, *value);
    } else if (mapped.empty()) {
      std::vector<std::byte> bytes = value->read_bytes();
      size = bytes.size();
      raw.data = builder.keep(std::move(bytes));
    }
    if (size < mil::packed_size(raw.type, raw.count)) {
      fail(ErrorCode::InvalidFile, "{}: '{}' has {} bytes, {} elements need {}",
           builder.where(operation), parameter, size, raw.count,
           mil::packed_size(raw.type, raw.count));
    }
    return raw;
  }
  if (var == nullptr || var->producer == nullptr ||
      !mil::has_trait(*var->producer, mil::Trait::Compressed)) {
    return std::nullopt;
  }
  const mil::Operation& producer = *var->producer;
  if (var == producer.output() && producer.outputs().size() == 2) {
    // The mask is passed on unchanged, except for vector palettes, which repeat it.
    if (producer.type() == "constexpr_sparse_blockwise_shift_scale") {
      return constexpr_input(builder, producer, "data_mask");
    }
    const auto lut = constexpr_input(builder, producer, "lut");
    if (!lut || lut->dims.back() != 1) return std::nullopt;
    return constexpr_input(builder, producer, "indices_mask");
  }
  const View view = builder.view(var);  // the scaled palette of a joint form
  const auto dims = mil::constant_shape(view.shape);
  if (!builder.is_constant(view) || !dims || !is_contiguous(view) ||
      !(view.offset == mil::Dim(0)) ||
      (view.storage != Storage::F16 && view.storage != Storage::F32)) {
    return std::nullopt;
  }
  return ConstexprInput{view.storage == Storage::F16 ? DataType::Float16 : DataType::Float32, *dims,
                        builder.buffers()[static_cast<size_t>(view.buffer)].data,
                        mil::num_elements(*dims)};
}

bool set_blocks(std::vector<int64_t> shape, std::vector<int64_t> blocks,
                kernels::QuantizedMatrix& w) {
  if (shape.size() != blocks.size() || shape.empty()) return false;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] <= 0 || blocks[i] <= 0 || shape[i] % blocks[i] != 0) return false;
  }
  while (shape.size() > 2 && shape.front() == 1) {
    shape.erase(shape.begin());
    blocks.erase(blocks.begin());
  }
  if (shape.size() == 1) {
    shape.insert(shape.begin(), 1);
    blocks.insert(blocks.begin(), 1);
  }
  // Merges the inner axes, from the last: blocks of the merged axis must be contiguous.
  int64_t size = 1, count = 1;
  for (size_t axis = shape.size(); axis-- > 1;) {
    if (count != 1 && blocks[axis] != shape[axis]) return false;
    size *= shape[axis];
    count *= blocks[axis];
  }
  w.n = shape[0];
  w.k = size;
  w.block_rows = shape[0] / blocks[0];
  w.block_columns = size / count;
  w.blocks_per_row = count;
  return true;
}

const mil::Value* constexpr_constant(const mil::Operation& operation, std::string_view parameter) {
  const mil::BoundArgument bound = mil::find_argument(operation, parameter);
  return bound.attribute != nullptr ? bound.attribute : operation.constant_input(parameter);
}

std::optional<kernels::WeightType> float_type(DataType type) {
  if (type == DataType::Float16) return kernels::WeightType::F16;
  if (type == DataType::Float32) return kernels::WeightType::F32;
  return std::nullopt;
}

int palette_bits(int64_t entries) {
  for (const int bits : {1, 2, 3, 4, 6, 8}) {
    if (entries == int64_t{1} << bits) return bits;
  }
  return 0;
}

}  // namespace pippin::engine
