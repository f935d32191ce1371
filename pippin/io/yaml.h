// Reads YAML as a tree of values, for small configuration files (ANEMLL's meta.yaml).
//
// The first document of a text becomes a Json: mappings with scalar keys, sequences, and plain
// scalars by YAML 1.2's core schema (null, true, 12, 1.5; everything else, and quoted text, is a
// string). Files are untrusted: size, depth and the number of values are limited, and aliases, with
// which a few lines can expand to gigabytes, are rejected.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "pippin/io/json.h"

namespace pippin {

struct YamlLimits {
  size_t max_bytes = size_t{1} << 20;
  size_t max_values = 20'000;
  int max_depth = 16;
};

// `name` starts error messages, also those of the getters. Throws InvalidFile, LimitExceeded,
// Unsupported (aliases, mappings with mappings as keys).
Json parse_yaml(std::string_view text, const std::string& name, const YamlLimits& limits = {});
// The file name without its folder starts the messages.
Json load_yaml(const std::filesystem::path& path, const YamlLimits& limits = {});

}  // namespace pippin
