// The tensors that a pickle of PyTorch's torch.save describes.
//
// A pickle is a program for a stack machine that may call anything. This reader knows the few
// instructions and the few names that a dictionary of tensors needs
// (torch._utils._rebuild_tensor_v2, storages, OrderedDict) and calls nothing; any other name is
// refused. Values live in one list by number, so neither depth nor cycles cost anything; texts stay
// where they are in the pickle, whatever their number of uses.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/base/bytes.h"
#include "pippin/io/dtype.h"

namespace pippin {

// A tensor as the pickle states it: nothing is checked against a storage yet.
struct PickledTensor {
  std::string_view name;  // in the pickle
  Dtype dtype;
  std::string_view storage;  // key, in the pickle
  int64_t offset = 0;        // of the first element in the storage
  std::vector<int64_t> shape, strides;
};

struct PickleLimits {
  size_t max_values = size_t{1} << 20;
  size_t max_rank = 64;
};

// The entries of the dictionary in `bytes` that are tensors, in its order; others are passed over.
// `name` starts every error message. Throws InvalidFile, also for two entries of one name,
// Unsupported for names and instructions that no dictionary of tensors needs, LimitExceeded for
// more sizes of all tensors than the pickle has bytes.
std::vector<PickledTensor> read_tensor_pickle(ByteSpan bytes, const std::string& name,
                                              const PickleLimits& limits = {});

}  // namespace pippin
