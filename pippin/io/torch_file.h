// Reads PyTorch's .bin files: the tensors of a torch.save archive as views of mapped memory.
//
// Such a file is a zip archive of data.pkl, a pickle that describes the tensors (io/pickle.h), and
// data/KEY, the uncompressed storages, or it has PyTorch's format before 1.6 (io/torch_legacy.h).
// Tensors may share a storage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "pippin/base/bytes.h"
#include "pippin/io/safetensors.h"

namespace pippin {

// Copies of tensors that are not in row-major order; the total size is limited to that of the file.
class OwnedTensors {
 public:
  explicit OwnedTensors(uint64_t most) : most_(most) {}
  ByteSpan keep(std::vector<std::byte> bytes) {
    held_ += bytes.size();
    return copies_.emplace_back(std::move(bytes));
  }
  uint64_t held() const { return held_; }
  uint64_t most() const { return most_; }
  std::vector<std::vector<std::byte>>& copies() { return copies_; }

 private:
  uint64_t most_, held_ = 0;
  std::vector<std::vector<std::byte>> copies_;
};

// Returns the tensors as views of `file` or `own`. `name` starts error messages. Throws
// InvalidFile, Unsupported (formats before 0.2, big-endian files, tensors that repeat elements).
std::vector<TensorInfo> parse_torch_file(ByteSpan file, const std::string& name, OwnedTensors& own);

}  // namespace pippin
