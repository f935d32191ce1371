// Preparation of queries and documents for models with a vector for each token (ColBERT, Khattab
// and Zaharia 2020), read from the files of pylate, Stanford's ColBERT and sentence-transformers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/io/json.h"

namespace pippin::models {

struct LateInteraction {
  struct Side {
    std::string prefix;             // a token that follows the first one; empty: none
    std::optional<int64_t> length;  // the most tokens, the prefix included
    bool skips = false;             // tokens in `skipped` have no vector
  };
  Side query, document;
  // Padding of short queries with a token, whose vectors count too.
  struct Expansion {
    int64_t length = 32;
    bool cuts = true;       // longer queries are truncated to the length
    bool attended = false;  // other tokens attend to the padding
    std::string token;      // empty: the tokenizer's mask token
  };
  std::optional<Expansion> expansion;
  std::vector<std::string> skipped;

  // Whether config_sentence_transformers.json describes such a model.
  static bool is_declared(const Json& config);
  // Whether it has pylate's format.
  static bool is_pylate(const Json& config);
  // Throws InvalidFile and Unsupported, with the key and the value.
  static LateInteraction read(const Json& config);
  // Reads them from sentence_bert_config.json (sentence-transformers 5.5 and later).
  void add_settings(const Json& settings);
  // Reads them from the module MultiVectorMask.
  void add_mask(const Json& config);
  // The token that pads queries, from the tokenizer's files. Throws InvalidFile if they have none.
  void find_token(const std::filesystem::path& folder);

  // Conversion to and from a package's metadata.
  std::string json() const;
  static LateInteraction from_json(std::string_view text);
};

}  // namespace pippin::models
