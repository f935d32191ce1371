// The raw contents of a presets file: sections with keys, and their places.
//
// The format is that of llama-server's --models-preset:
//
//    version = 1
//    [*]                      ; for all models
//    ctx-size = 8192
//    [small]
//    model = /srv/small.mlpackage
//    temp = 0.5
//
// or the same in JSON, an object of objects: {"*": {...}, "small": {"temp": 0.5, ...}}.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace pippin::cli {

struct PresetKey {
  std::string name;                 // as written
  std::vector<std::string> values;  // several only for a JSON list
  std::string place;                // "models.ini:4: temp", "models.json: small.temp"
};

struct PresetSection {
  std::string name;
  std::vector<PresetKey> keys;
  std::string place;  // "models.ini:3: [small]"
};

// Returns the sections in the order of the file. Throws NotFound, Io, or InvalidFile with the
// place: for lines that are neither section nor key, repeated sections, and keys before the first
// section other than version = 1.
std::vector<PresetSection> read_preset_file(const std::filesystem::path& path);

}  // namespace pippin::cli
