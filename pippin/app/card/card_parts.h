// The models of a folder that is published: their packages, sizes, functions and weights, as a
// model card lists them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace pippin::app {

struct CardPackage {
  std::string path;  // in the folder: "llama.mlpackage"
  uint64_t bytes = 0;
  std::vector<std::string> functions;
  // "uint4 95 %, fp16 5 %", by bytes; the forms of compression: "palettes".
  std::string weights;
  std::vector<std::string> forms;
};

// A model: one package, or the packages of a folder.
struct CardModel {
  std::string
      name;  // of its package, without the ending, or of its folder; "" for the folder itself
  std::string path;    // in the folder: "int8.mlpackage" or "iphone"; "" for the folder itself
  std::string family;  // "stateful", "anemll", "windowed", "whisperkit", ...; "" for other programs
  std::string made_from;     // the model's name on the Hub, as its metadata says; may be empty
  std::string architecture;  // may be empty
  std::vector<CardPackage> packages;
  uint64_t bytes() const;
  bool is_compressed() const;
};

// `folder` may be a package, or hold one model or several. Throws NotFound if it has no packages,
// and as mil::read_package().
std::vector<CardModel> find_card_models(const std::filesystem::path& folder);

}  // namespace pippin::app
