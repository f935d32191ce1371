// GGUF files as llama.cpp's converter writes them from the golden checkpoints, by recipes that
// gguf/make_recipes.py recorded: metadata, and for each tensor its source rows in the checkpoint,
// with a checksum of the result.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "pippin/io/checkpoint.h"
#include "tests/gguf_testing.h"

namespace pippin::testing_gguf {

// The elements of a tensor of floats.
std::vector<float> values_of(const TensorInfo& tensor);

class Recipe {
 public:
  explicit Recipe(const std::filesystem::path& file);

  const std::string& golden() const { return golden_; }  // a folder of the shared data
  // The file's content. Fails the test, with the tensor's name, if a checksum differs.
  GgufFile file(const std::filesystem::path& golden) const;
  void write(const std::filesystem::path& golden, const std::filesystem::path& path) const {
    file(golden).write(path);
  }
  // Whether the format lacks a setting of the configuration.
  bool has_overrides() const;
  // A folder of the checkpoint with the settings of the file.
  void write_checkpoint(const std::filesystem::path& golden,
                        const std::filesystem::path& folder) const;

 private:
  std::string golden_, text_;
};

}  // namespace pippin::testing_gguf
