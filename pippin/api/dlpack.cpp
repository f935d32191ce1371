#include "pippin/api/dlpack.h"

#include <memory>
#include <utility>
#include <vector>

#include "pippin/base/error.h"
#include "pippin/base/numbers/checked.h"

namespace pippin::dlpack {
namespace {

struct DlpackType {
  DataType type;
  uint8_t code, bits;
};
constexpr DlpackType kDlpackTypes[] = {
    {DataType::Int8, 0, 8},     {DataType::Int16, 0, 16},   {DataType::Int32, 0, 32},
    {DataType::Int64, 0, 64},   {DataType::UInt8, 1, 8},    {DataType::UInt16, 1, 16},
    {DataType::UInt32, 1, 32},  {DataType::UInt64, 1, 64},  {DataType::Float16, 2, 16},
    {DataType::Float32, 2, 32}, {DataType::Float64, 2, 64}, {DataType::Bool, 6, 8},
};
constexpr uint8_t kBfloat = 4;

DataType type_of(const Type& type) {
  for (const DlpackType& row : kDlpackTypes) {
    if (row.code == type.code && row.bits == type.bits && type.lanes == 1) return row.type;
  }
  if (type.code == kBfloat && type.bits == 16) {
    fail(ErrorCode::Unsupported,
         "a DLPack tensor of type 4 (bfloat16), 16 bits, which models do not take: float32 holds "
         "all its values");
  }
  fail(ErrorCode::Unsupported, "a DLPack tensor of type {}, {} bits, {} lanes", type.code,
       type.bits, type.lanes);
}

std::vector<int64_t> sizes(int32_t rank, const int64_t* values, const char* name) {
  constexpr int32_t kMaxRank = 64;
  if (rank < 0 || rank > kMaxRank) {
    fail(ErrorCode::InvalidArgument, "rank is {}; 0 to {} are possible", rank, kMaxRank);
  }
  if (rank > 0 && values == nullptr) fail(ErrorCode::InvalidArgument, "{} is NULL", name);
  return {values, values + rank};
}

// The context of a managed tensor.
template <typename Managed>
struct Shared {
  Tensor tensor;
  std::vector<int64_t> shape, strides;
  Managed managed = {};
};

template <typename Managed>
std::unique_ptr<Shared<Managed>> shared(Tensor tensor) {
  const DataType type = tensor.type();
  const DlpackType* found = nullptr;
  for (const DlpackType& row : kDlpackTypes) {
    if (row.type == type) found = &row;
  }
  if (found == nullptr) fail(ErrorCode::Unsupported, "DLPack cannot hold strings");
  auto result = std::make_unique<Shared<Managed>>();
  result->tensor = std::move(tensor);
  result->shape = result->tensor.shape();
  for (const int64_t stride : result->tensor.strides()) {
    if (stride % byte_size(type) != 0) {
      fail(ErrorCode::Unsupported,
           "strides of {} bytes are not multiples of a {}, as DLPack requires", stride,
           to_string(type));
    }
    result->strides.push_back(stride / byte_size(type));
  }
  result->managed.tensor = {const_cast<std::byte*>(result->tensor.first_byte()),
                            {kCpu, 0},
                            static_cast<int32_t>(result->shape.size()),
                            {found->code, found->bits, 1},
                            result->shape.data(),
                            result->strides.data(),
                            0};
  result->managed.context = result.get();
  result->managed.deleter = [](Managed* self) {
    delete static_cast<Shared<Managed>*>(self->context);
  };
  return result;
}

}  // namespace

Tensor wrap(const View& view, bool is_writable, std::function<void()> release) {
  if (view.device.type != kCpu) {
    fail(ErrorCode::Unsupported, "a DLPack tensor on device {}, not in main memory ({})",
         view.device.type, kCpu);
  }
  const DataType type = type_of(view.type);
  std::vector<int64_t> shape = sizes(view.ndim, view.shape, "shape");
  std::vector<int64_t> strides;
  if (view.strides != nullptr) {
    for (const int64_t stride : sizes(view.ndim, view.strides, "strides")) {
      const auto bytes = checked_mul(stride, byte_size(type));
      if (!bytes) fail(ErrorCode::LimitExceeded, "a DLPack tensor of stride {}", stride);
      strides.push_back(*bytes);
    }
  }
  auto* data = static_cast<std::byte*>(view.data);
  if (data != nullptr) data += view.byte_offset;
  if (is_writable) {
    return Tensor::wrap(type, std::move(shape), static_cast<void*>(data), std::move(strides),
                        std::move(release));
  }
  return Tensor::wrap(type, std::move(shape), static_cast<const void*>(data), std::move(strides),
                      std::move(release));
}

DLManagedTensor* give(Tensor tensor) {
  auto result = shared<DLManagedTensor>(std::move(tensor));
  if (!result->tensor.is_writable()) {
    fail(ErrorCode::Unsupported, "DLPack tensors are writable, so const memory cannot be exported");
  }
  return &result.release()->managed;
}

DLManagedTensorVersioned* give_versioned(Tensor tensor, bool is_copy) {
  auto result = shared<DLManagedTensorVersioned>(std::move(tensor));
  result->managed.version = {1, 0};
  result->managed.flags =
      (result->tensor.is_writable() ? 0 : kReadOnly) | (is_copy ? kIsCopied : 0);
  return &result.release()->managed;
}

}  // namespace pippin::dlpack
