// PyTorch's .bin files: the tensors of a torch.save archive as views of mapped memory.
//
// Such a file is a zip archive of data.pkl, a pickle that describes the tensors (io/pickle.h), and
// data/KEY, their storages, stored without compression. Two tensors may share a storage. Files of
// PyTorch before 1.6, which are no archives, are refused.
#pragma once

#include <string>
#include <vector>

#include "pippin/base/bytes.h"
#include "pippin/io/safetensors.h"

namespace pippin {

// The tensors as views of `file`; `name` starts every error message. Throws InvalidFile,
// Unsupported (old formats, big-endian files, tensors whose elements are not in row-major order).
std::vector<TensorInfo> parse_torch_file(ByteSpan file, const std::string& name);

}  // namespace pippin
