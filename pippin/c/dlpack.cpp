// DLPack's structures, as its specification lays them out (version 0.8), and tensors in them.
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "pippin/base/checked.h"
#include "pippin/c/boundary.h"
#include "pippin/c/handles.h"

namespace pippin::c {
namespace {

struct DlDevice {
  int32_t type, id;
};

struct DlType {
  uint8_t code, bits;
  uint16_t lanes;
};

struct DlTensor {
  void* data;
  DlDevice device;
  int32_t ndim;
  DlType type;
  int64_t* shape;
  int64_t* strides;  // in elements; null: row-major without gaps
  uint64_t byte_offset;
};

constexpr int32_t kCpu = 1;

struct Row {
  DataType type;
  uint8_t code, bits;
};
constexpr Row kRows[] = {
    {DataType::Int8, 0, 8},     {DataType::Int16, 0, 16},   {DataType::Int32, 0, 32},
    {DataType::Int64, 0, 64},   {DataType::UInt8, 1, 8},    {DataType::UInt16, 1, 16},
    {DataType::UInt32, 1, 32},  {DataType::UInt64, 1, 64},  {DataType::Float16, 2, 16},
    {DataType::Float32, 2, 32}, {DataType::Float64, 2, 64}, {DataType::Bool, 6, 8},
};

}  // namespace
}  // namespace pippin::c

// Named by DLPack.
struct DLManagedTensor {
  pippin::c::DlTensor tensor;
  void* context;
  void (*deleter)(DLManagedTensor* self);
};

namespace pippin::c {
namespace {

DataType type_of(const DlType& type) {
  for (const Row& row : kRows) {
    if (row.code == type.code && row.bits == type.bits && type.lanes == 1) return row.type;
  }
  fail(ErrorCode::Unsupported, "a DLPack tensor of type {}, {} bits, {} lanes", type.code,
       type.bits, type.lanes);
}

std::unique_ptr<pippin_tensor> from_dlpack(DLManagedTensor& managed) {
  const DlTensor& given = managed.tensor;
  if (given.device.type != kCpu) {
    fail(ErrorCode::Unsupported, "a DLPack tensor on device {}, not in main memory ({})",
         given.device.type, kCpu);
  }
  const DataType type = type_of(given.type);
  const std::vector<int64_t> shape = sizes(given.ndim, given.shape, "shape");
  std::vector<int64_t> strides;
  if (given.strides != nullptr) {
    for (const int64_t stride : sizes(given.ndim, given.strides, "strides")) {
      const auto bytes = checked_mul(stride, byte_size(type));
      if (!bytes) fail(ErrorCode::LimitExceeded, "a DLPack tensor of stride {}", stride);
      strides.push_back(*bytes);
    }
  }
  auto* const data = static_cast<std::byte*>(given.data);
  return wrapped_tensor<void>(type, shape, strides,
                              data == nullptr ? nullptr : data + given.byte_offset, [&managed] {
                                if (managed.deleter != nullptr) managed.deleter(&managed);
                              });
}

// What a DLManagedTensor refers to.
struct Shared {
  Tensor tensor;
  std::vector<int64_t> shape, strides;
  DLManagedTensor managed;
};

std::unique_ptr<Shared> to_dlpack(const pippin_tensor& of) {
  const DataType type = of.tensor.type();
  const Row* found = nullptr;
  for (const Row& row : kRows) {
    if (row.type == type) found = &row;
  }
  if (found == nullptr) fail(ErrorCode::Unsupported, "strings are nothing for DLPack");
  if (!of.tensor.is_writable()) {
    fail(ErrorCode::Unsupported, "const memory is nothing for DLPack, which may be written to");
  }
  auto shared = std::make_unique<Shared>();
  shared->tensor = of.tensor;
  shared->shape = of.tensor.shape();
  for (const int64_t stride : of.strides) {
    if (stride % byte_size(type) != 0) {
      fail(ErrorCode::Unsupported, "strides of {} bytes are nothing for DLPack, which counts {}s",
           stride, to_string(type));
    }
    shared->strides.push_back(stride / byte_size(type));
  }
  shared->managed = {{const_cast<std::byte*>(of.tensor.first_byte()),
                      {kCpu, 0},
                      static_cast<int32_t>(shared->shape.size()),
                      {found->code, found->bits, 1},
                      shared->shape.data(),
                      shared->strides.data(),
                      0},
                     shared.get(),
                     [](DLManagedTensor* self) { delete static_cast<Shared*>(self->context); }};
  return shared;
}

}  // namespace
}  // namespace pippin::c

namespace c = pippin::c;

pippin_code pippin_tensor_from_dlpack(DLManagedTensor* managed, pippin_tensor** tensor,
                                      pippin_error** error) {
  return c::give(tensor, "tensor", error,
                 [&] { return c::from_dlpack(c::needed(managed, "managed")); });
}

pippin_code pippin_tensor_to_dlpack(const pippin_tensor* tensor, DLManagedTensor** managed,
                                    pippin_error** error) {
  return c::guarded(error, [&] {
    c::needed(managed, "managed") = nullptr;
    *managed = &c::to_dlpack(c::needed(tensor, "tensor")).release()->managed;
  });
}
