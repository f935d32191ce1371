// For tests: a tokenizer whose words are the ids themselves ("w7" is 7), so that the ids of a
// golden file can be written as texts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "pippin/base/files/output.h"

namespace pippin::testing_models {

// tokenizer.json for ids below `count`, without special tokens; two texts have types 0 and 1.
inline void write_word_tokenizer(const std::filesystem::path& folder, int count) {
  std::string vocabulary;
  for (int i = 0; i < count; ++i) {
    vocabulary += (i > 0 ? ", " : "") + ("\"w" + std::to_string(i)) + "\": " + std::to_string(i);
  }
  write_file(folder / "tokenizer.json",
             R"({"version": "1.0", "added_tokens": [], "normalizer": null,
 "pre_tokenizer": {"type": "WhitespaceSplit"}, "decoder": null, "truncation": null, "padding": null,
 "post_processor": {"type": "TemplateProcessing", "special_tokens": {},
   "single": [{"Sequence": {"id": "A", "type_id": 0}}],
   "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}]},
 "model": {"type": "WordLevel", "unk_token": "w0", "vocab": {)" +
                 vocabulary + "}}}");
}

inline std::string words_of(std::span<const int32_t> ids) {
  std::string text;
  for (const int32_t id : ids) text += (text.empty() ? "w" : " w") + std::to_string(id);
  return text;
}

}  // namespace pippin::testing_models
