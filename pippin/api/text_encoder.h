// Embedding models and cross-encoders: vectors of texts, and scores of documents for a query.
//
//   const auto encoder = pippin::TextEncoder::load("BAAI/bge-small-en-v1.5");
//   const pippin::Embeddings made = encoder.embed({"A red fox.", "A brown dog."});
//
// A TextEncoder is cheap to copy and may be used by many threads. Errors are thrown as
// pippin::Error (base/exception.h); cancellation works as in api/llm.h.
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

// Options of TextEncoder::load().
struct TextEncoderOptions : runtime::LoadOptions {
  std::string tokenizer = {};  // a folder, a file or org/name. Empty: the model's own tokenizer
};

// Settings of TextEncoder::embed().
struct EmbedSettings {
  // The name of the model's prompt to put before each text; by default the model's default prompt,
  // and none for an empty name.
  std::optional<std::string> prompt_name = {};
  std::optional<std::string> prompt = {};  // the prompt's text, overriding the name
  bool refuse_long = false;                // rejects texts that would be truncated
  int64_t dimensions = 0;  // truncates embeddings to this size and normalizes again; 0: all
  int64_t active = 0;     // keeps this many largest numbers of sparse vectors; 0: the model's limit
  bool is_query = false;  // for token vectors: the texts are queries, not documents
};

// The result of TextEncoder::embed().
struct Embeddings {
  std::vector<std::vector<float>> vectors;  // one per text, all of the same size
  int64_t tokens = 0;                       // total over all texts
  int64_t cut_texts = 0;                    // number of truncated texts
};

// A sparse vector with one element per token of the vocabulary: the nonzero elements.
struct SparseEmbedding {
  std::vector<int32_t> indices;  // token ids, ascending
  std::vector<float> values;     // one per index
};
// The result of TextEncoder::embed_sparse().
struct SparseEmbeddings {
  std::vector<SparseEmbedding> vectors;  // one per text
  int64_t tokens = 0;                    // total over all texts
  int64_t cut_texts = 0;                 // number of truncated texts
};

// The vectors of a text's tokens.
struct TokenEmbedding {
  size_t width = 0;           // the size of each vector
  std::vector<float> values;  // the vectors, one after another
};
// The result of TextEncoder::embed_tokens().
struct TokenEmbeddings {
  std::vector<TokenEmbedding> vectors;  // one per text
  int64_t tokens = 0;                   // total over all texts
  int64_t cut_texts = 0;                // number of truncated texts
};

// The form of a model's embeddings.
enum class EmbeddingKind { Dense, Sparse, Tokens };

// The result of TextEncoder::score().
struct Scores {
  std::vector<double> scores;  // one per document
  int64_t tokens = 0;          // total over all pairs
  int64_t cut_texts = 0;       // number of documents truncated with the query
};

// A loaded embedding model or cross-encoder with its tokenizer.
class PIPPIN_API TextEncoder {
 public:
  // Loads a folder as on the Hub, a package that `pippin convert` made from one, or org/name.
  // Throws NotFound, Unsupported, InvalidFile, Network.
  static TextEncoder load(const std::string& path, const TextEncoderOptions& options = {});

  // Returns a vector for each text. Throws Unsupported for a cross-encoder and a model of another
  // kind(); InvalidArgument for an empty list, a text without tokens, an unknown prompt name, too
  // many dimensions, and (refuse_long) a text of too many tokens, with its number.
  Embeddings embed(const std::vector<std::string>& texts, const EmbedSettings& settings = {}) const;
  // Returns a sparse vector for each text, from models of kind Sparse (SPLADE). Throws as embed().
  SparseEmbeddings embed_sparse(const std::vector<std::string>& texts,
                                const EmbedSettings& settings = {}) const;
  // Returns the vectors of each text's tokens, from models of kind Tokens (ColBERT). Throws as
  // embed().
  TokenEmbeddings embed_tokens(const std::vector<std::string>& texts,
                               const EmbedSettings& settings = {}) const;
  // Returns the score of the query with each document by a cross-encoder; for an embedding model,
  // the cosine of the two, the dot product of sparse vectors, or the MaxSim of token vectors.
  // Throws as embed().
  Scores score(const std::string& query, const std::vector<std::string>& documents,
               bool refuse_long = false) const;

  // Whether it scores pairs; otherwise it embeds texts.
  bool is_cross_encoder() const;
  // The form of the model's embeddings.
  EmbeddingKind kind() const;
  // The most tokens of a text, including special tokens; more are truncated.
  int64_t max_tokens() const;
  // The name of the checkpoint that it was made from, or "the model".
  const std::string& name() const;
  // The names for EmbedSettings::prompt_name.
  std::vector<std::string> prompt_names() const;

 private:
  struct Impl;
  explicit TextEncoder(std::shared_ptr<const Impl> impl);
  std::shared_ptr<const Impl> impl_;
};

}  // namespace pippin
