#include "pippin/io/checkpoint.h"

#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/io/json.h"
#include "pippin/io/model_files.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;

// Files named in the index must be in the folder: no separators, no "..".
bool is_plain_name(const std::string& name) {
  return WeightFile::is_known(name) && name.find_first_of("/\\") == name.npos &&
         name.find('\0') == name.npos;
}

std::vector<fs::path> files_of(const fs::path& folder, const WeightFiles& form) {
  if (fs::exists(folder / form.single)) return {folder / form.single};
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (fits_weights(form, entry.path().filename().string())) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

Checkpoint Checkpoint::open(const fs::path& path) {
  Checkpoint checkpoint(path);
  if (!fs::exists(path)) fail(ErrorCode::NotFound, "{}: no such file or folder", path.string());
  if (!fs::is_directory(path)) {
    checkpoint.add_file(path);
    return checkpoint;
  }
  for (const WeightFiles& form : kWeightFiles) {
    if (fs::exists(path / form.index)) {
      checkpoint.add_indexed(path / form.index, form.single);
      return checkpoint;
    }
    const std::vector<fs::path> files = files_of(path, form);
    for (const fs::path& file : files) checkpoint.add_file(file);
    if (!files.empty()) return checkpoint;
  }
  fail(ErrorCode::NotFound,
       "{}: no weights: neither *.safetensors (consolidated* and adapter_* apart) nor "
       "pytorch_model*.bin nor weights*.npz nor *.gguf",
       path.string());
}

void Checkpoint::add_file(const fs::path& path) {
  files_.push_back(WeightFile::open(path));
  for (const TensorInfo& tensor : files_.back()->tensors()) {
    const auto [place, added] = tensors_.emplace(tensor.name, Place{&tensor, files_.size() - 1});
    if (!added) {
      fail(ErrorCode::InvalidFile, "{}: tensor {} lies in {} and in {}", path_.string(),
           tensor.name, files_[place->second.file]->file().path().filename().string(),
           path.filename().string());
    }
  }
}

void Checkpoint::add_indexed(const fs::path& index, std::string_view single_name) {
  const std::string index_name = index.filename().string();
  JsonLimits limits;
  limits.unique_keys = true;
  const Json json = Json::load(index, limits);
  const Json weight_map = json.at("weight_map");
  std::map<std::string, size_t> opened;  // shard name -> index in files_
  for (const auto& [name, shard] : weight_map.members()) {
    const std::string file(shard.as_string());
    if (opened.contains(file)) continue;
    if (!is_plain_name(file)) {
      fail(ErrorCode::InvalidFile, "{}: \"{}\" is not a file of weights of the same folder",
           shard.where(), file);
    }
    // A folder whose shards were merged into one file may still have the old index; the single file
    // takes precedence.
    if (!fs::exists(path_ / file) && fs::exists(path_ / single_name)) {
      files_.clear();
      tensors_.clear();
      return add_file(path_ / single_name);
    }
    if (!fs::exists(path_ / file)) {
      fail(ErrorCode::NotFound, "{}: {} names {}, which is missing", path_.string(), index_name,
           file);
    }
    opened.emplace(file, files_.size());
    add_file(path_ / file);
  }
  for (const auto& [name, shard] : weight_map.members()) {
    const auto found = tensors_.find(name);
    if (found == tensors_.end() ||
        found->second.file != opened.at(std::string(shard.as_string()))) {
      fail(ErrorCode::InvalidFile, "{}: {} says that tensor {} lies in {}, which lacks it",
           path_.string(), index_name, name, shard.as_string());
    }
  }
  if (files_.empty()) fail(ErrorCode::InvalidFile, "{}: weight_map is empty", index.string());
}

Checkpoint Checkpoint::renamed(const std::function<Renamed(const TensorInfo&)>& change) const {
  Checkpoint result(path_);
  result.files_ = files_;
  result.bytes_ = bytes_;
  for (const auto& [name, place] : tensors_) {
    Renamed one = change(*place.tensor);
    if (one.name.empty()) continue;
    auto tensor = std::make_shared<TensorInfo>(*place.tensor);
    tensor->name = one.name;
    if (!one.bytes.empty()) {
      result.bytes_.push_back(std::make_shared<const std::vector<std::byte>>(std::move(one.bytes)));
      tensor->bytes = *result.bytes_.back();
    }
    if (one.transposed) std::reverse(tensor->shape.begin(), tensor->shape.end());
    if (one.shape) tensor->shape = std::move(*one.shape);
    if (!result.tensors_.emplace(one.name, Place{tensor.get(), place.file}).second) {
      fail(ErrorCode::InvalidFile, "{}: tensor {} is another's {}", path_.string(), name, one.name);
    }
    result.own_.push_back(std::move(tensor));
  }
  return result;
}

Checkpoint Checkpoint::divided(const std::function<Parts(const TensorInfo&)>& change) const {
  Checkpoint result(path_);
  result.files_ = files_;
  result.own_ = own_;
  result.bytes_ = bytes_;
  const auto add = [&](const std::string& name, const Place& place, const std::string& from) {
    if (result.tensors_.emplace(name, place).second) return;
    fail(ErrorCode::InvalidFile, "{}: tensor {} is another's {}", path_.string(), from, name);
  };
  for (const auto& [name, place] : tensors_) {
    Parts parts = change(*place.tensor);
    if (!parts) {
      add(name, place, name);
      continue;
    }
    for (TensorInfo& part : *parts) {
      result.own_.push_back(std::make_shared<const TensorInfo>(std::move(part)));
      add(result.own_.back()->name, {result.own_.back().get(), place.file}, name);
    }
  }
  return result;
}

const TensorInfo* Checkpoint::find(std::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : found->second.tensor;
}

const Checkpoint::Place& Checkpoint::place(std::string_view name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) {
    fail(ErrorCode::NotFound, "{}: no tensor {} in its {} tensors", path_.string(), name, size());
  }
  return found->second;
}

const TensorInfo& Checkpoint::at(std::string_view name) const {
  return *place(name).tensor;
}

const WeightFile& Checkpoint::file_of(std::string_view name) const {
  return *files_[place(name).file];
}

std::vector<std::string> Checkpoint::names() const {
  std::vector<std::string> result;
  result.reserve(tensors_.size());
  for (const auto& [name, place] : tensors_) result.push_back(name);
  return result;
}

uint64_t Checkpoint::total_bytes() const {
  uint64_t total = 0;
  for (const auto& [name, place] : tensors_) total += place.tensor->bytes.size();
  return total;
}

}  // namespace pippin
