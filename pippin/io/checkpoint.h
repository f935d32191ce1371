// The weights of a model folder: one or several files with a common set of names.
//
// The first form in io/model_files.h that exists is used: safetensors, PyTorch's
// pytorch_model*.bin, MLX's weights*.npz. An index (model.safetensors.index.json,
// pytorch_model.bin.index.json) lists several files: each tensor must be in the file that the index
// names, and the files must be in the same folder. Without an index, model.safetensors is used
// alone, else all files of the kind. A tensor that occurs in two files is an error.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/io/weight_file.h"

namespace pippin {

class Checkpoint {
 public:
  // Opens a folder, or a single file of weights. Throws NotFound without weights.
  static Checkpoint open(const std::filesystem::path& path);

  // Returns the checkpoint with other names, without the tensors whose new name is empty. Throws
  // InvalidFile if two tensors get the same name.
  struct Renamed {
    std::string name;  // empty: the tensor is dropped
    // Replaces the file's bytes, unless empty: the transpose of a matrix, whose axes are swapped.
    std::vector<std::byte> bytes = {};
    bool transposed = false;
    std::optional<std::vector<int64_t>> shape = {};  // replaces the file's; of as many bytes
  };
  Checkpoint renamed(const std::function<Renamed(const TensorInfo&)>& change) const;

  // Returns the checkpoint with some tensors replaced by the tensors that `change` returns, whose
  // bytes must be part of the original's. A tensor stays if `change` returns nothing. Throws as
  // renamed().
  using Parts = std::optional<std::vector<TensorInfo>>;
  Checkpoint divided(const std::function<Parts(const TensorInfo&)>& change) const;

  const TensorInfo* find(std::string_view name) const;  // nullptr if missing
  // For tensors that a model requires. Throws NotFound with the name if missing.
  const TensorInfo& at(std::string_view name) const;
  bool contains(std::string_view name) const { return find(name) != nullptr; }
  std::vector<std::string> names() const;  // sorted
  size_t size() const { return tensors_.size(); }
  uint64_t total_bytes() const;

  // Returns the file that contains a tensor of this checkpoint, for release() after use.
  const WeightFile& file_of(std::string_view name) const;
  const std::vector<std::shared_ptr<const WeightFile>>& files() const { return files_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  struct Place {
    const TensorInfo* tensor;
    size_t file;
  };
  explicit Checkpoint(std::filesystem::path path) : path_(std::move(path)) {}
  void add_file(const std::filesystem::path& file);
  void add_indexed(const std::filesystem::path& index, std::string_view single_name);
  const Place& place(std::string_view name) const;

  std::filesystem::path path_;
  std::vector<std::shared_ptr<const WeightFile>> files_;
  std::map<std::string, Place, std::less<>> tensors_;
  // Infos and bytes of renamed tensors.
  std::vector<std::shared_ptr<const TensorInfo>> own_;
  std::vector<std::shared_ptr<const std::vector<std::byte>>> bytes_;
};

}  // namespace pippin
