// Reads safetensors: the tensors of a file as views of mapped memory, without copies.
//
// A file has a u64 header length, a JSON header {name: {dtype, shape, data_offsets}}, and one
// buffer. All properties of the format are checked before a tensor is returned: the header's
// length, types, shapes without overflow, consistent sizes, and that the tensors cover the buffer
// without holes or overlap. An error is one line with the file, the tensor and the numbers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "pippin/base/bytes.h"
#include "pippin/base/files/mapped_file.h"
#include "pippin/io/dtype.h"

namespace pippin {

struct TensorInfo {
  std::string name;
  Dtype dtype;
  std::vector<int64_t> shape;
  ByteSpan bytes;  // row-major, little-endian; may be unaligned

  int64_t num_elements() const;
};

struct SafetensorsContent {
  std::vector<TensorInfo> tensors;  // in data order
  std::map<std::string, std::string> metadata;
};

// Returns the tensors as views of `file`. `name` starts error messages.
SafetensorsContent parse_safetensors(ByteSpan file, const std::string& name);

class SafetensorsFile {
 public:
  static std::shared_ptr<const SafetensorsFile> open(const std::filesystem::path& path);

  std::span<const TensorInfo> tensors() const { return content_.tensors; }
  const TensorInfo* find(std::string_view name) const;  // nullptr if missing
  const std::map<std::string, std::string>& metadata() const { return content_.metadata; }
  const MappedFile& file() const { return *file_; }

 private:
  explicit SafetensorsFile(std::shared_ptr<const MappedFile> file);

  std::shared_ptr<const MappedFile> file_;
  SafetensorsContent content_;
  std::unordered_map<std::string_view, const TensorInfo*> by_name_;
};

}  // namespace pippin
