// For tests: a tokenizer whose words are the ids themselves ("w7" is 7), so that the ids of a
// golden file can be written as texts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>

#include "pippin/base/files/output.h"

namespace pippin::testing_models {

// tokenizer.json for ids below `count`; two texts have types 0 and 1. Those of `special` belong to
// special tokens in place of words.
inline void write_word_tokenizer(const std::filesystem::path& folder, int count,
                                 const std::map<std::string, int32_t>& special = {}) {
  std::string vocabulary, added;
  for (const auto& [text, id] : special) {
    added += (added.empty() ? "" : ", ") + (R"({"id": )" + std::to_string(id)) +
             R"(, "content": ")" + text +
             R"(", "single_word": false, "lstrip": false, "rstrip": false, )" +
             R"("normalized": false, "special": true})";
  }
  const auto is_special = [&](int id) {
    return std::any_of(special.begin(), special.end(),
                       [&](const auto& token) { return token.second == id; });
  };
  for (int i = 0; i < count; ++i) {
    if (is_special(i)) continue;
    vocabulary +=
        (vocabulary.empty() ? "" : ", ") + ("\"w" + std::to_string(i)) + "\": " + std::to_string(i);
  }
  write_file(folder / "tokenizer.json", R"({"version": "1.0", "added_tokens": [)" + added +
                                            R"(], "normalizer": null,
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
