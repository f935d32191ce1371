#include "pippin/io/checkpoint.h"

#include "pippin/mx/io/io.h"
#include "pippin/mx/io/stored_array.h"

namespace pippin::mx {

ArrayMap load_checkpoint(const std::filesystem::path& path) {
  ArrayMap arrays;
  if (path.extension() == ".gguf" && !std::filesystem::is_directory(path)) {
    return load_gguf(path).first;
  }
  const Checkpoint checkpoint = Checkpoint::open(path);
  for (const auto& file : checkpoint.files()) {
    for (const TensorInfo& tensor : file->tensors()) {
      arrays.emplace_back(tensor.name, stored_array(tensor, file, path.string()));
    }
  }
  return arrays;
}

}  // namespace pippin::mx
