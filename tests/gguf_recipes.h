// GGUF files as llama.cpp's converter writes them of the golden checkpoints, by recipes that
// gguf/make_recipes.py recorded from its files: metadata, and for each tensor the rows of the
// checkpoint that it is made of, with a checksum of the result.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace pippin::testing_gguf {

class Recipe {
 public:
  explicit Recipe(const std::filesystem::path& file);

  const std::string& golden() const { return golden_; }  // a folder of the shared data
  // Writes the file. Fails the test, naming the tensor, where a checksum differs.
  void write(const std::filesystem::path& golden, const std::filesystem::path& path) const;
  // Whether the format lacks something that the configuration says.
  bool has_overrides() const;
  // A folder of the checkpoint whose configuration says what the file does.
  void write_checkpoint(const std::filesystem::path& golden,
                        const std::filesystem::path& folder) const;

 private:
  std::string golden_, text_;
};

}  // namespace pippin::testing_gguf
