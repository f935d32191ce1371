// Reads the tensors that a pickle of PyTorch's torch.save describes.
//
// A pickle is a program for a stack machine that may call anything. This reader supports only the
// instructions and names that a dictionary of tensors needs (torch._utils._rebuild_tensor_v2,
// storages, OrderedDict) and calls nothing; it rejects any other name. Values are in one list, by
// index, so depth and cycles cost nothing; texts are views of the pickle, however often they are
// used.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/base/bytes.h"
#include "pippin/io/dtype.h"

namespace pippin {

// A tensor as the pickle describes it, not yet checked against a storage.
struct PickledTensor {
  std::string_view name;  // view of the pickle
  Dtype dtype;
  std::string_view storage;  // key, a view of the pickle
  int64_t offset = 0;        // index of the first element in the storage
  std::vector<int64_t> shape, strides;
};

struct PickleLimits {
  size_t max_values = size_t{1} << 20;
  size_t max_rank = 64;
};

// Returns the entries of the dictionary in `bytes` that are tensors, in order; skips others. `name`
// starts error messages. Throws InvalidFile, also for two entries with one name; Unsupported for
// names and instructions that a dictionary of tensors does not need; LimitExceeded if the tensors
// have more sizes than the pickle has bytes.
std::vector<PickledTensor> read_tensor_pickle(ByteSpan bytes, const std::string& name,
                                              const PickleLimits& limits = {});

}  // namespace pippin
