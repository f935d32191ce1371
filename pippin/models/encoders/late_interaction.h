// Settings of models that give a vector for each token (ColBERT, Khattab and Zaharia 2020): the
// treatment of queries and documents in pylate's and sentence-transformers' files.
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
    bool skips = false;             // tokens of `skipped` give no vector
  };
  Side query, document;
  // Queries that are shorter are filled up with a token, whose vectors count too.
  struct Expansion {
    int64_t length = 32;
    bool cuts = true;       // longer queries are truncated to the length
    bool attended = false;  // other tokens see the filled-up ones
    std::string token;      // empty: the tokenizer's mask token
  };
  std::optional<Expansion> expansion;
  std::vector<std::string> skipped;

  // Whether config_sentence_transformers.json says that a model is one.
  static bool is_said(const Json& config);
  // Whether it is of pylate's form.
  static bool is_pylate(const Json& config);
  // Throws InvalidFile and Unsupported, naming key and value.
  static LateInteraction read(const Json& config);
  // Reads the settings of sentence_bert_config.json (sentence-transformers 5.5 and later).
  void add_settings(const Json& settings);
  // Of the module MultiVectorMask.
  void add_mask(const Json& config);
  // The token that fills up queries, of the tokenizer's files; throws InvalidFile where they name
  // none.
  void find_token(const std::filesystem::path& folder);

  // As metadata of a package.
  std::string json() const;
  static LateInteraction from_json(std::string_view text);
};

}  // namespace pippin::models
