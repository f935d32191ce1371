// Reads torch.save's format before PyTorch 1.6: consecutive pickles (a magic number, a version,
// properties of the machine, the dictionary, the storage keys), then the storages in the order of
// their keys, each as an element count and the elements.
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
// `name` starts error messages. Throws InvalidFile, Unsupported, LimitExceeded.
LegacyTorchFile read_legacy_torch_file(ByteSpan file, const std::string& name);

}  // namespace pippin
