// A file of presets as it stands: sections with keys, and where each is.
//
// As llama-server's --models-preset has it:
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
  std::string name;                 // as it is written
  std::vector<std::string> values;  // several only of a list of JSON
  std::string place;                // "models.ini:4: temp", "models.json: small.temp"
};

struct PresetSection {
  std::string name;
  std::vector<PresetKey> keys;
  std::string place;  // "models.ini:3: [small]"
};

// In the order of the file. Throws NotFound, Io, InvalidFile with the place: lines that are neither
// section nor key, sections that come twice, keys before the first section but for version = 1.
std::vector<PresetSection> read_preset_file(const std::filesystem::path& path);

}  // namespace pippin::cli
