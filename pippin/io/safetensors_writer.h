// Writes safetensors in constant memory: all tensors are declared first, then their data is
// appended in the same order, in pieces of any size.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "pippin/base/bytes.h"
#include "pippin/base/files/output.h"
#include "pippin/io/dtype.h"

namespace pippin {

class SafetensorsWriter {
 public:
  struct Declaration {
    std::string name;
    Dtype dtype;
    std::vector<int64_t> shape;
  };

  // The file appears at `path` when finish() is called; without it, no file remains.
  SafetensorsWriter(const std::filesystem::path& path, const std::vector<Declaration>& tensors,
                    const std::map<std::string, std::string>& metadata = {{"format", "pt"}});

  void append(ByteSpan bytes);
  // Bytes of data that the declarations require.
  uint64_t total_bytes() const { return total_; }
  // Throws InvalidArgument if data is missing.
  void finish();

 private:
  std::string name_;
  PendingOutput output_;
  FileWriter writer_;
  uint64_t total_ = 0;
  uint64_t appended_ = 0;
};

}  // namespace pippin
