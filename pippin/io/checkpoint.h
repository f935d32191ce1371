// The weights of a model folder: one or several files as one set of names.
//
// The first form of io/model_files.h that is there counts: safetensors, PyTorch's
// pytorch_model*.bin, MLX's weights*.npz. Where there are several files, an index
// (model.safetensors.index.json, pytorch_model.bin.index.json) names them: each of its entries has
// to be in the file that it names, and the files have to lie in the folder itself. Without an index
// model.safetensors counts alone, else all of the kind. A tensor that two files hold is refused.
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
  // A folder, or a single file of weights. Throws NotFound where there are no weights.
  static Checkpoint open(const std::filesystem::path& path);

  // The same under other names, tensors without one left out. Throws InvalidFile for
  // a name that two tensors get.
  struct Renamed {
    std::string name;  // empty: left out
    // In place of the file's, where there are any: of a matrix its transpose, whose axes are
    // swapped.
    std::vector<std::byte> bytes = {};
    bool transposed = false;
  };
  Checkpoint renamed(const std::function<Renamed(const TensorInfo&)>& change) const;

  // The same with other tensors in place of some: those that `change` gives for one, whose bytes
  // are all or a part of its bytes; it stays where that gives nothing. Throws as renamed().
  using Parts = std::optional<std::vector<TensorInfo>>;
  Checkpoint divided(const std::function<Parts(const TensorInfo&)>& change) const;

  const TensorInfo* find(std::string_view name) const;  // nullptr where there is none
  // Throws NotFound with the name, for tensors that a model cannot do without.
  const TensorInfo& at(std::string_view name) const;
  bool contains(std::string_view name) const { return find(name) != nullptr; }
  std::vector<std::string> names() const;  // sorted
  size_t size() const { return tensors_.size(); }
  uint64_t total_bytes() const;

  // The file that a tensor of this checkpoint lies in: for release() after its use.
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
  // Of renamed ones.
  std::vector<std::shared_ptr<const TensorInfo>> own_;
  std::vector<std::shared_ptr<const std::vector<std::byte>>> bytes_;
};

}  // namespace pippin
