// Arrays in files: npy, npz, safetensors, GGUF.
//
// Files are written completely or not at all. Sizes in a file are checked before memory is
// allocated (InvalidFile).
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "pippin/mx/core/array.h"

namespace pippin::mx {

using ArrayMap = std::vector<std::pair<std::string, array>>;  // in file order
using TextMap = std::map<std::string, std::string>;

PIPPIN_API array load_npy(const std::filesystem::path& file);
PIPPIN_API ArrayMap load_npz(const std::filesystem::path& file);
// Weights stay in the mapped file until they are read.
PIPPIN_API std::pair<ArrayMap, TextMap> load_safetensors(const std::filesystem::path& file);
// Loads a model's weights by name from a file (.safetensors, PyTorch's .bin, .npz, .gguf), or a
// folder of such files, with an index if there are several. They stay in the mapped files. Throws
// NotFound for a folder without weights.
PIPPIN_API ArrayMap load_checkpoint(const std::filesystem::path& path);
// Values of GGUF's metadata: arrays of numbers, one string, several strings.
using GgufValue = std::variant<std::monostate, array, std::string, std::vector<std::string>>;
using GgufMap = std::vector<std::pair<std::string, GgufValue>>;
// Floats and integers are loaded unchanged; Q4_0, Q4_1 and Q8_0 as packed weights with .scales and
// .biases (groups of 32). Other types are Unsupported.
PIPPIN_API std::pair<ArrayMap, GgufMap> load_gguf(const std::filesystem::path& file);

PIPPIN_API void save_npy(const std::filesystem::path& file, const array& a);
PIPPIN_API void save_npz(const std::filesystem::path& file, const ArrayMap& arrays,
                         bool compressed = false);
PIPPIN_API void save_safetensors(const std::filesystem::path& file, const ArrayMap& arrays,
                                 const TextMap& metadata = TextMap());

// The same from and to memory.
PIPPIN_API array parse_npy(const std::string& bytes, const std::string& name);
PIPPIN_API ArrayMap parse_npz(const std::string& bytes, const std::string& name);
PIPPIN_API std::string format_npy(const array& a);

}  // namespace pippin::mx
