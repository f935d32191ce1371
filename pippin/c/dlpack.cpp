// Tensors as DLPack structures.
#include "pippin/api/dlpack.h"

#include <memory>
#include <utility>

#include "pippin/c/boundary.h"
#include "pippin/c/handles.h"

namespace c = pippin::c;
namespace dlpack = pippin::dlpack;

pippin_code pippin_tensor_from_dlpack(DLManagedTensor* managed, pippin_tensor** tensor,
                                      pippin_error** error) {
  return c::give(tensor, "tensor", error, [&] {
    const auto& given = c::needed(managed, "managed");
    auto handle = std::make_unique<pippin_tensor>();
    // Everything that can fail precedes the transfer of ownership.
    handle->strides = dlpack::wrap(given.tensor, true, {}).strides();
    handle->tensor = dlpack::wrap(given.tensor, true, [managed] {
      if (managed->deleter != nullptr) managed->deleter(managed);
    });
    return handle;
  });
}

pippin_code pippin_tensor_to_dlpack(const pippin_tensor* tensor, DLManagedTensor** managed,
                                    pippin_error** error) {
  return c::guarded(error, [&] {
    c::needed(managed, "managed") = nullptr;
    *managed = dlpack::give(c::needed(tensor, "tensor").tensor);
  });
}
