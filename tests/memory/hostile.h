// Files designed to take much memory for their size: for each reader, the parts that multiply. A
// reader passes if it never has more than `most` bytes per byte of the file, plus one mebibyte.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace pippin {

struct Hostile {
  std::string name;
  double most;
  std::string file;
  std::function<void(const std::string& file)> read;  // may throw an Error
};

std::vector<Hostile> hostile_weights();   // pickles, safetensors, GGUF, .npy, .npz, weight blobs
std::vector<Hostile> hostile_texts();     // JSON, YAML, templates, answers of hubs and servers
std::vector<Hostile> hostile_programs();  // MIL text, protobuf, other files of packages
std::vector<Hostile> hostile_tokenizers();
std::vector<Hostile> hostile_pictures();
std::vector<Hostile> hostile_sounds();  // also extractors' configurations, and forms
std::vector<Hostile> hostile_caches();  // saved sequences, prompt caches, the load cache

std::string repeated(std::string_view text, size_t count);
// make(0) + make(1) + ...
std::string joined(size_t count, const std::function<std::string(size_t)>& make);

}  // namespace pippin
