// DLPack's structures, with the layout of its specification (0.8, and 1.0 for the versioned one),
// and conversions of tensors from and to them. Supports main memory only.
//
// Internal to the library; shared by C and Python.
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

// The name comes from DLPack.
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

// Wraps the memory of `view` as Tensor::wrap() does. Throws Unsupported for other devices and
// types, InvalidArgument, LimitExceeded; `release` is then not called.
Tensor wrap(const View& view, bool is_writable, std::function<void()> release);

// Exports the tensor's memory, which stays valid until the deleter is called; a tensor that owns
// its elements is moved there. Throw Unsupported for strings, for strides that are not multiples of
// the element size, and, without a version, for const memory, which that format cannot express.
DLManagedTensor* give(Tensor tensor);
DLManagedTensorVersioned* give_versioned(Tensor tensor, bool is_copy);

}  // namespace pippin::dlpack
