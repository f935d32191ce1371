// The weights of a Hugging Face model folder: one or several safetensors files as one set of names.
//
// model.safetensors.index.json names the files where there are several: each of its entries has to
// be in the file that it names, and the files have to lie in the folder itself. Without an index
// every *.safetensors of the folder counts. A tensor that two files hold is refused.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/io/safetensors.h"

namespace pippin {

class Checkpoint {
 public:
  // A folder, or a single .safetensors file. Throws NotFound where there are no weights.
  static Checkpoint open(const std::filesystem::path& path);

  const TensorInfo* find(std::string_view name) const;  // nullptr where there is none
  // Throws NotFound with the name, for tensors that a model cannot do without.
  const TensorInfo& at(std::string_view name) const;
  bool contains(std::string_view name) const { return find(name) != nullptr; }
  std::vector<std::string> names() const;  // sorted
  size_t size() const { return tensors_.size(); }
  uint64_t total_bytes() const;

  // The file that a tensor of this checkpoint lies in: for MappedFile::release() after its use.
  const SafetensorsFile& file_of(std::string_view name) const;
  const std::vector<std::shared_ptr<const SafetensorsFile>>& files() const { return files_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  struct Place {
    const TensorInfo* tensor;
    size_t file;
  };
  explicit Checkpoint(std::filesystem::path path) : path_(std::move(path)) {}
  void add_file(const std::filesystem::path& file);
  void add_indexed(const std::filesystem::path& index);
  const Place& place(std::string_view name) const;

  std::filesystem::path path_;
  std::vector<std::shared_ptr<const SafetensorsFile>> files_;
  std::map<std::string, Place, std::less<>> tensors_;
};

}  // namespace pippin
