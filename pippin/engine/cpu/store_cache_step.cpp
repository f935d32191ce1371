// Rows of quantized caches, and the rotation of queries and sums of values.
#include "pippin/base/numbers/float16.h"
#include "pippin/engine/cpu/cache_rows.h"
#include "pippin/engine/cpu/steps.h"
#include "pippin/kernels/attention/cache_codes.h"

namespace pippin::engine {
namespace {

kernels::CacheType kernel_type(CacheType type) {
  return type == CacheType::Q8 ? kernels::CacheType::Q8 : kernels::CacheType::Q4;
}

constexpr int64_t kWorthSharingValues = int64_t{1} << 14;

// The number of rows, and the offset of one of them.
int64_t rows_of(const Operand& operand) {
  int64_t count = 1;
  for (int axis = 0; axis + 1 < operand.rank; ++axis) count *= operand.shape[axis];
  return count;
}
int64_t row_offset(const Operand& operand, int64_t row) {
  int64_t offset = 0;
  for (int axis = operand.rank - 2; axis >= 0; --axis) {
    offset += row % operand.shape[axis] * operand.strides[axis];
    row /= operand.shape[axis];
  }
  return offset;
}

void read_row(const Operand& x, int64_t row, float* to) {
  const int64_t offset = row_offset(x, row), stride = x.strides[x.rank - 1];
  const int64_t count = x.shape[x.rank - 1];
  if (x.storage == Storage::F32) {
    const float* const from = x.floats() + offset;
    for (int64_t i = 0; i < count; ++i) to[i] = from[i * stride];
  } else {
    const auto* const from = reinterpret_cast<const float16*>(x.data) + offset;
    for (int64_t i = 0; i < count; ++i) to[i] = to_float(from[i * stride]);
  }
}

// Calls body(row, memory of a row in fp32) for all rows of an operand.
template <typename Body>
void for_rows(const StepContext& context, const Operand& x, int64_t row_bytes, const Body& body) {
  const int64_t rows = rows_of(x);
  const auto run = [&](int part, int parts) {
    auto* const memory = reinterpret_cast<float*>(context.scratch + part * row_bytes);
    const Range range = split_range(rows, part, parts);
    for (int64_t row = range.begin; row < range.end; ++row) body(row, memory);
  };
  if (x.size() < kWorthSharingValues) {
    run(0, 1);
  } else {
    context.pool.run(run);
  }
}

class RowStep : public Step {
 public:
  int64_t scratch_bytes() const override {
    return views.back().shape.back().upper() * element_size(Storage::F32);
  }
};

class StoreCacheStep : public RowStep {
 public:
  explicit StoreCacheStep(CacheType type) : type_(kernel_type(type)) {}

  void run(const StepContext& context) const noexcept override {
    const Operand& codes = context.operands[0];
    const Operand& scales = context.operands[1];
    const Operand& x = context.operands[2];
    const int64_t dims = x.shape[x.rank - 1];
    for_rows(context, x, scratch_bytes(), [&](int64_t row, float* values) {
      read_row(x, row, values);
      if (type_ == kernels::CacheType::Q4) kernels::rotate_row(values, dims);
      kernels::write_codes(type_, values, dims,
                           reinterpret_cast<uint8_t*>(codes.data) + row_offset(codes, row),
                           reinterpret_cast<uint16_t*>(scales.data) + row_offset(scales, row));
    });
  }

 private:
  const kernels::CacheType type_;
};

class HadamardStep : public RowStep {
 public:
  void run(const StepContext& context) const noexcept override {
    const Operand& y = context.operands[0];
    const Operand& x = context.operands[1];
    const int64_t dims = x.shape[x.rank - 1], stride = y.strides[y.rank - 1];
    for_rows(context, x, scratch_bytes(), [&](int64_t row, float* values) {
      read_row(x, row, values);
      kernels::rotate_row(values, dims);
      float* const to = y.floats() + row_offset(y, row);
      for (int64_t i = 0; i < dims; ++i) to[i * stride] = values[i];
    });
  }
};

}  // namespace

CacheRows cache_rows(CacheType type, int64_t values) {
  const kernels::CacheType kernel = kernel_type(type);
  return {kernels::code_group(kernel, values), kernels::code_bytes(kernel, values)};
}

StepPointer make_step_of(const HadamardNode&, const StepSource&) {
  return std::make_unique<HadamardStep>();
}
StepPointer make_step_of(const StoreCacheNode& node, const StepSource&) {
  return std::make_unique<StoreCacheStep>(node.cache);
}

}  // namespace pippin::engine
