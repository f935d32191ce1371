// Makes a tokenizer's stages, each from its object in tokenizer.json. Json's errors name the file
// and the position in it; where() returns both for the stages' own errors.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "pippin/io/json.h"

namespace pippin::tokenizers {

// A kind of stage and its factory. A new kind is one more line in its file's table.
template <typename Stage>
struct Kind {
  std::string_view name;
  Stage (*make)(const Json& config);
};

// Throws Unsupported: "place: the normalizer 'Nmt' is not supported".
[[noreturn]] void unsupported_kind(const Json& config, std::string_view role,
                                   std::string_view kind);

template <typename Stage, size_t N>
Stage make_stage(const Kind<Stage> (&kinds)[N], std::string_view role, const Json& config) {
  const std::string type = config.get_string("type");
  for (const auto& kind : kinds) {
    if (kind.name == type) return kind.make(config);
  }
  unsupported_kind(config, role, type);
}

// Throws LimitExceeded if a section ("normalizer", "decoder" ...) has more stages than any real
// pipeline: each stage may scan all of a text.
void check_stages(const Json& section);

// Throws InvalidFile: "place: an integer from 0 to 4 is needed here".
int64_t integer(const Json& value, int64_t min, int64_t max);
// Returns one code point in UTF-8.
std::string character(const Json& value);

}  // namespace pippin::tokenizers
