// Reading safetensors: the tensors of a file as views of mapped memory, never copied.
//
// A file is a u64 header length, a JSON header {name: {dtype, shape, data_offsets}}, and one
// buffer. Everything that the format promises is checked before a tensor is handed out: the
// header's length, types, shapes whose product fits, sizes that agree, and that the tensors cover
// the buffer without holes or overlap. An error is one line with the file, the tensor and the
// numbers.
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
#include "pippin/base/mapped_file.h"
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
  std::vector<TensorInfo> tensors;  // in the order of their data
  std::map<std::string, std::string> metadata;
};

// The tensors of a file's bytes, as views of them; `name` starts every error message.
SafetensorsContent parse_safetensors(ByteSpan file, const std::string& name);

class SafetensorsFile {
 public:
  static std::shared_ptr<const SafetensorsFile> open(const std::filesystem::path& path);

  std::span<const TensorInfo> tensors() const { return content_.tensors; }
  const TensorInfo* find(std::string_view name) const;  // nullptr where there is none
  const std::map<std::string, std::string>& metadata() const { return content_.metadata; }
  const MappedFile& file() const { return *file_; }

 private:
  explicit SafetensorsFile(std::shared_ptr<const MappedFile> file);

  std::shared_ptr<const MappedFile> file_;
  SafetensorsContent content_;
  std::unordered_map<std::string_view, const TensorInfo*> by_name_;
};

}  // namespace pippin
