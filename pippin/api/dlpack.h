// DLPack's structures, as its specification lays them out (0.8, and 1.0 for the versioned one), and
// tensors to and from them. Only main memory.
//
// Inside the library: C and Python share it.
#pragma once

#include <cstdint>
#include <functional>

#include "pippin/api/tensor.h"

namespace pippin::dlpack {

constexpr int32_t kCpu = 1;

struct Device {
  int32_t type, id;
};

struct Type {
  uint8_t code, bits;
  uint16_t lanes;
};

struct View {
  void* data;
  Device device;
  int32_t ndim;
  Type type;
  int64_t* shape;
  int64_t* strides;  // in elements; null: row-major without gaps
  uint64_t byte_offset;
};

struct Version {
  uint32_t major, minor;
};

}  // namespace pippin::dlpack

// Named by DLPack.
struct DLManagedTensor {
  pippin::dlpack::View tensor;
  void* context;
  void (*deleter)(DLManagedTensor* self);
};

struct DLManagedTensorVersioned {
  pippin::dlpack::Version version;
  void* context;
  void (*deleter)(DLManagedTensorVersioned* self);
  uint64_t flags;
  pippin::dlpack::View tensor;
};

namespace pippin::dlpack {

constexpr uint64_t kReadOnly = 1, kIsCopied = 2;  // flags

// The memory of `view`, wrapped as by Tensor::wrap(). Throws Unsupported for other devices and
// types, InvalidArgument, LimitExceeded; `release` is then not called.
Tensor wrap(const View& view, bool is_writable, std::function<void()> release);

// The tensor's memory for others, which stays until the deleter is called; a tensor that owns its
// elements is moved there. Throw Unsupported for strings, for strides that are no whole elements,
// and, without a version, for const memory, which nothing says then.
DLManagedTensor* give(Tensor tensor);
DLManagedTensorVersioned* give_versioned(Tensor tensor, bool is_copy);

}  // namespace pippin::dlpack
