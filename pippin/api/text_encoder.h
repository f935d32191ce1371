// Embedding models and cross-encoders: vectors of texts, and scores of a query's documents.
//
//   const auto encoder = pippin::TextEncoder::load("BAAI/bge-small-en-v1.5");
//   const pippin::Embeddings made = encoder.embed({"A red fox.", "A brown dog."});
//
// A TextEncoder is cheap to copy and may be used by many threads. Errors are thrown as
// pippin::Error (base/exception.h), cancellation as api/llm.h says.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pippin/base/exception.h"
#include "pippin/base/export.h"
#include "pippin/runtime/load_options.h"

namespace pippin {

struct TextEncoderOptions : runtime::LoadOptions {
  std::string tokenizer = {};  // a folder, a file or org/name. Empty: the model's own tokenizer
};

struct EmbedSettings {
  // The model's prompt of that name goes before each text; the model's default one where nothing is
  // said, none for an empty name.
  std::optional<std::string> prompt_name = {};
  std::optional<std::string> prompt = {};  // instead of that: the text itself
  bool refuse_long = false;  // texts of more tokens than the model takes, which else are cut
  int64_t dimensions = 0;    // that many numbers of each, at length 1 again; 0: all
};

struct Embeddings {
  std::vector<std::vector<float>> vectors;  // one for each text, all of one size
  int64_t tokens = 0;                       // of all texts together
  int64_t cut_texts = 0;                    // texts that had too many
};

struct Scores {
  std::vector<double> scores;  // one for each document
  int64_t tokens = 0;
  int64_t cut_texts = 0;  // documents that had too many tokens with the query
};

class PIPPIN_API TextEncoder {
 public:
  // A folder as it is on the Hub, a package that `pippin convert` made of one, or org/name. Throws
  // NotFound, Unsupported, InvalidFile, Network.
  static TextEncoder load(const std::string& path, const TextEncoderOptions& options = {});

  // Throws Unsupported for a cross-encoder; InvalidArgument for no text, a text without tokens, a
  // prompt's name that there is not, more dimensions than there are, and (refuse_long) a text of
  // too many tokens, with its number.
  Embeddings embed(const std::vector<std::string>& texts, const EmbedSettings& settings = {}) const;
  // What a cross-encoder says of the query with each document; of an embedding model the cosine of
  // both. Throws as embed().
  Scores score(const std::string& query, const std::vector<std::string>& documents,
               bool refuse_long = false) const;

  bool is_cross_encoder() const;
  int64_t max_tokens() const;  // of a text, with the special tokens
  const std::string& name() const;
  std::vector<std::string> prompt_names() const;

 private:
  struct Impl;
  explicit TextEncoder(std::shared_ptr<const Impl> impl);
  std::shared_ptr<const Impl> impl_;
};

}  // namespace pippin
