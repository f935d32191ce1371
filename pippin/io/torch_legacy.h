// What torch.save wrote before PyTorch 1.6: pickles one after another (a magic number, a version,
// facts of the machine, the dictionary, the keys of its storages), then the storages in the order
// of their keys, each a number of elements and the elements.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "pippin/base/bytes.h"
#include "pippin/io/pickle.h"

namespace pippin {

bool is_legacy_torch_file(ByteSpan file);

struct LegacyTorchFile {
  std::vector<PickledTensor> tensors;
  std::map<std::string, ByteSpan, std::less<>> storages;  // by key
};
// `name` starts every error message. Throws InvalidFile, Unsupported, LimitExceeded.
LegacyTorchFile read_legacy_torch_file(ByteSpan file, const std::string& name);

}  // namespace pippin
