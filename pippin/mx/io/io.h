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

// Arrays by name, in file order.
using ArrayMap = std::vector<std::pair<std::string, array>>;
// Metadata of a safetensors file.
using TextMap = std::map<std::string, std::string>;

// Loads an array from a .npy file. Throws NotFound, Io, or InvalidFile with the path.
PIPPIN_API array load_npy(const std::filesystem::path& file);
// Loads the arrays of an .npz file, compressed or not. Throws NotFound, Io, or InvalidFile with the
// path.
PIPPIN_API ArrayMap load_npz(const std::filesystem::path& file);
// Loads the arrays and the metadata of a .safetensors file; weights stay in the mapped file until
// they are read. F8_E4M3 is loaded as its bytes, uint8. Throws NotFound, Io, InvalidFile, or
// Unsupported for other types.
PIPPIN_API std::pair<ArrayMap, TextMap> load_safetensors(const std::filesystem::path& file);
// Loads a model's weights by name from a file (.safetensors, PyTorch's .bin, .npz, .gguf), or a
// folder of such files, with an index if there are several. They stay in the mapped files. Throws
// NotFound for a folder without weights, and the errors of the other functions.
PIPPIN_API ArrayMap load_checkpoint(const std::filesystem::path& path);
// Values of GGUF's metadata: arrays of numbers, one string, several strings.
using GgufValue = std::variant<std::monostate, array, std::string, std::vector<std::string>>;
// Metadata of a GGUF file, in file order.
using GgufMap = std::vector<std::pair<std::string, GgufValue>>;
// Loads the arrays and the metadata of a GGUF file. Floats and integers are loaded unchanged; Q4_0,
// Q4_1 and Q8_0 as packed weights with .scales and .biases (groups of 32). Throws NotFound, Io,
// InvalidFile, or Unsupported for other types.
PIPPIN_API std::pair<ArrayMap, GgufMap> load_gguf(const std::filesystem::path& file);

// Saves an array as a .npy file; bfloat16 as <V2, which NumPy shows as bytes. Evaluates it. Throws
// Io.
PIPPIN_API void save_npy(const std::filesystem::path& file, const array& a);
// Saves arrays as an .npz file, optionally compressed. Evaluates them. Throws Io.
PIPPIN_API void save_npz(const std::filesystem::path& file, const ArrayMap& arrays,
                         bool compressed = false);
// Saves arrays and metadata as a .safetensors file; adds "format": "mlx" unless the metadata has
// it. Evaluates them. Throws Io.
PIPPIN_API void save_safetensors(const std::filesystem::path& file, const ArrayMap& arrays,
                                 const TextMap& metadata = TextMap());

// Reads an array from the bytes of a .npy file; `name` begins messages. Throws InvalidFile.
PIPPIN_API array parse_npy(const std::string& bytes, const std::string& name);
// Reads arrays from the bytes of an .npz file; `name` begins messages. Throws InvalidFile.
PIPPIN_API ArrayMap parse_npz(const std::string& bytes, const std::string& name);
// Returns the bytes of a .npy file. Evaluates the array.
PIPPIN_API std::string format_npy(const array& a);

}  // namespace pippin::mx
