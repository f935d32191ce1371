#include "pippin/api/tensor.h"

#include <functional>
#include <utility>

#include "pippin/c/boundary.h"
#include "pippin/c/handles.h"

namespace pippin::c {
namespace {

static_assert(static_cast<int>(DataType::Bool) == PIPPIN_BOOL);
static_assert(static_cast<int>(DataType::Int8) == PIPPIN_INT8);
static_assert(static_cast<int>(DataType::UInt8) == PIPPIN_UINT8);
static_assert(static_cast<int>(DataType::Int16) == PIPPIN_INT16);
static_assert(static_cast<int>(DataType::UInt16) == PIPPIN_UINT16);
static_assert(static_cast<int>(DataType::Int32) == PIPPIN_INT32);
static_assert(static_cast<int>(DataType::UInt32) == PIPPIN_UINT32);
static_assert(static_cast<int>(DataType::Int64) == PIPPIN_INT64);
static_assert(static_cast<int>(DataType::UInt64) == PIPPIN_UINT64);
static_assert(static_cast<int>(DataType::Float16) == PIPPIN_FLOAT16);
static_assert(static_cast<int>(DataType::Float32) == PIPPIN_FLOAT32);
static_assert(static_cast<int>(DataType::Float64) == PIPPIN_FLOAT64);
static_assert(static_cast<int>(DataType::String) == PIPPIN_STRING);

DataType type_of(pippin_type type) {
  if (type < PIPPIN_BOOL || type > PIPPIN_STRING) {
    fail(ErrorCode::InvalidArgument, "type is {}; {} to {} are possible", type, PIPPIN_BOOL,
         PIPPIN_STRING);
  }
  return static_cast<DataType>(type);
}

template <typename Data>
std::unique_ptr<pippin_tensor> wrapped(pippin_type type, int32_t rank, const int64_t* shape,
                                       const int64_t* strides, Data* data,
                                       void (*release)(void* user), void* user) {
  std::vector<int64_t> steps;
  if (strides != nullptr) steps = sizes(rank, strides, "strides");
  std::function<void()> end;
  if (release != nullptr) end = [release, user] { release(user); };
  return wrapped_tensor(type_of(type), sizes(rank, shape, "shape"), steps, data, std::move(end));
}

}  // namespace

std::vector<int64_t> sizes(int32_t rank, const int64_t* values, const char* name) {
  constexpr int32_t kMaxRank = 64;
  if (rank < 0 || rank > kMaxRank) {
    fail(ErrorCode::InvalidArgument, "rank is {}; 0 to {} are possible", rank, kMaxRank);
  }
  if (rank > 0) needed(values, name);
  return {values, values + rank};
}

std::unique_ptr<pippin_tensor> tensor_handle(Tensor tensor) {
  auto handle = std::make_unique<pippin_tensor>();
  handle->tensor = Tensor::shared(std::move(tensor));
  handle->strides = handle->tensor.strides();
  return handle;
}

}  // namespace pippin::c

namespace c = pippin::c;
using pippin::DataType;
using pippin::ErrorCode;
using pippin::fail;
using pippin::Tensor;

pippin_code pippin_tensor_new(pippin_type type, int32_t rank, const int64_t* shape,
                              pippin_tensor** tensor, pippin_error** error) {
  return c::give(tensor, "tensor", error, [&] {
    if (c::type_of(type) == DataType::String) {
      fail(ErrorCode::InvalidArgument, "pippin_tensor_new_strings() makes tensors of strings");
    }
    return c::tensor_handle(Tensor(c::type_of(type), c::sizes(rank, shape, "shape")));
  });
}

pippin_code pippin_tensor_new_strings(int32_t rank, const int64_t* shape,
                                      const char* const* strings, pippin_tensor** tensor,
                                      pippin_error** error) {
  return c::give(tensor, "tensor", error, [&] {
    std::vector<int64_t> counts = c::sizes(rank, shape, "shape");
    const int64_t count = Tensor(DataType::Bool, counts).size();
    if (count > 0) c::needed(strings, "strings");
    std::vector<std::string> texts;
    for (int64_t i = 0; i < count; ++i) {
      texts.emplace_back(c::needed_text(strings[i], "an element of strings"));
    }
    return c::tensor_handle(Tensor::from_strings(std::move(texts), std::move(counts)));
  });
}

pippin_code pippin_tensor_wrap(pippin_type type, int32_t rank, const int64_t* shape,
                               const int64_t* strides, void* data, void (*release)(void* user),
                               void* user, pippin_tensor** tensor, pippin_error** error) {
  return c::give(tensor, "tensor", error,
                 [&] { return c::wrapped(type, rank, shape, strides, data, release, user); });
}

pippin_code pippin_tensor_wrap_const(pippin_type type, int32_t rank, const int64_t* shape,
                                     const int64_t* strides, const void* data,
                                     void (*release)(void* user), void* user,
                                     pippin_tensor** tensor, pippin_error** error) {
  return c::give(tensor, "tensor", error,
                 [&] { return c::wrapped(type, rank, shape, strides, data, release, user); });
}

pippin_code pippin_tensor_convert(const pippin_tensor* tensor, pippin_type type,
                                  pippin_tensor** converted, pippin_error** error) {
  return c::give(converted, "converted", error, [&] {
    return c::tensor_handle(c::needed(tensor, "tensor").tensor.copy().to(c::type_of(type)));
  });
}

void pippin_tensor_free(pippin_tensor* tensor) {
  delete tensor;
}

pippin_type pippin_tensor_type(const pippin_tensor* tensor) {
  return tensor == nullptr ? -1 : static_cast<pippin_type>(tensor->tensor.type());
}

int32_t pippin_tensor_rank(const pippin_tensor* tensor) {
  return tensor == nullptr ? 0 : static_cast<int32_t>(tensor->tensor.shape().size());
}

const int64_t* pippin_tensor_shape(const pippin_tensor* tensor) {
  return tensor == nullptr ? nullptr : tensor->tensor.shape().data();
}

const int64_t* pippin_tensor_strides(const pippin_tensor* tensor) {
  return tensor == nullptr ? nullptr : tensor->strides.data();
}

int64_t pippin_tensor_size(const pippin_tensor* tensor) {
  return tensor == nullptr ? 0 : tensor->tensor.size();
}

void* pippin_tensor_data(pippin_tensor* tensor) {
  if (tensor == nullptr || !tensor->tensor.is_writable()) return nullptr;
  // Only memory that was wrapped as const is const.
  return const_cast<void*>(pippin_tensor_const_data(tensor));
}

const void* pippin_tensor_const_data(const pippin_tensor* tensor) {
  if (tensor == nullptr || tensor->tensor.type() == pippin::DataType::String) return nullptr;
  return tensor->tensor.first_byte();
}

const char* pippin_tensor_string(const pippin_tensor* tensor, int64_t index) {
  if (tensor == nullptr || tensor->tensor.type() != pippin::DataType::String) return nullptr;
  if (index < 0 || index >= tensor->tensor.size()) return nullptr;
  return tensor->tensor.strings()[static_cast<size_t>(index)].c_str();
}
