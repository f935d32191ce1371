// For tests only: compares the content read from a tokenizer.json with the tree of the whole file.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/io/json.h"
#include "pippin/tokenizers/tables/json_file.h"

namespace pippin::json_file_testing {

using tokenizers::JsonFile;

inline bool same_vocab(const JsonFile& file, const Json& vocab) {
  std::map<std::string_view, int32_t> ids;
  for (size_t i = 0; i < file.vocab_ids.size(); ++i) ids[file.vocab_tokens[i]] = file.vocab_ids[i];
  if (!file.has_vocab || ids.size() != vocab.size()) return false;
  for (const auto& [token, id] : vocab.members()) {
    const auto found = ids.find(token);
    if (found == ids.end() || found->second != id.as_int()) return false;
  }
  return file.vocab_tokens.size() == file.vocab_ids.size();
}

// Hugging Face's scores sometimes differ from the nearest double by one step (serde_number.h).
inline bool same_scores(const JsonFile& file, const Json& vocab) {
  const auto entries = vocab.elements();
  if (!file.has_scores || file.vocab_tokens.size() != entries.size()) return false;
  for (size_t i = 0; i < entries.size(); ++i) {
    const double score = entries[i].at(size_t{1}).as_float(), read = file.vocab_scores[i];
    if (entries[i].size() != 2 || entries[i].at(size_t{0}).as_string() != file.vocab_tokens[i] ||
        std::abs(score - read) > 1e-15 * std::abs(score)) {
      return false;
    }
  }
  return file.vocab_scores.size() == entries.size();
}

inline bool same_merges(const JsonFile& file, const Json& merges) {
  size_t part = 0;
  for (const Json& merge : merges.elements()) {
    if (merge.is_string() && merge.as_string().starts_with("#version")) continue;
    if (part + 2 > file.merge_parts.size()) return false;
    const std::string_view left = file.merge_parts[part], right = file.merge_parts[part + 1];
    bool same = false;
    if (merge.is_string()) {
      const std::string_view text = merge.as_string();
      same = text.size() == left.size() + 1 + right.size() && text.starts_with(left) &&
             text.ends_with(right) && text.find(' ') == left.size() &&
             text.rfind(' ') == left.size();
    } else {
      same = merge.as_strings() == std::vector<std::string>{std::string(left), std::string(right)};
    }
    if (!same) return false;
    part += 2;
  }
  return file.has_merges && part == file.merge_parts.size();
}

// Compares a member of the model. In the root, a table is null; the table itself is compared here.
inline bool same_part(const JsonFile& file, const Json& read, std::string_view key,
                      const Json& part) {
  if (key == "vocab" && part.is_object()) return read.is_null() && same_vocab(file, part);
  if (key == "vocab" && part.is_array()) return read.is_null() && same_scores(file, part);
  if (key == "merges" && part.is_array()) return read.is_null() && same_merges(file, part);
  if (key == "vocab" && (file.has_vocab || file.has_scores)) return false;
  return read.dump() == part.dump() && (key != "merges" || !file.has_merges);
}

// `whole` is the JSON that `file` was read from.
inline bool same(const JsonFile& file, const Json& whole) {
  if (file.root->keys() != whole.keys()) return false;
  for (const auto& [key, value] : whole.members()) {
    const Json read = file.root->at(key);
    if (key != "model" || !value.is_object()) {
      if (read.dump() != value.dump()) return false;
      continue;
    }
    if (read.keys() != value.keys()) return false;
    for (const auto& [name, part] : value.members()) {
      if (!same_part(file, read.at(name), name, part)) return false;
    }
  }
  const auto model = whole.find("model");
  const bool has = model && model->is_object();
  return (has && model->has("vocab")) >= (file.has_vocab || file.has_scores) &&
         (has && model->has("merges")) >= file.has_merges;
}

}  // namespace pippin::json_file_testing
