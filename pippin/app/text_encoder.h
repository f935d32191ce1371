// Embeddings of texts, and scores of pairs of texts: an embedding model or a cross-encoder with its
// tokenizer and its prompts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/app/late_texts.h"
#include "pippin/app/open/open_model.h"
#include "pippin/app/pair_prompt.h"
#include "pippin/app/vectors.h"
#include "pippin/runtime/encoder_model.h"
#include "pippin/tokenizers/tokenizer.h"

namespace pippin::app {

struct EmbedOptions {
  // The name of the model's prompt to put before each text; by default the model's default prompt,
  // and none for an empty name.
  std::optional<std::string> prompt_name;
  std::optional<std::string> prompt;  // the prompt's text, overriding the name
  // Rejects a text of more tokens than the model supports, instead of truncating it as
  // sentence-transformers does.
  bool refuse_long = false;
  int64_t dimensions = 0;  // truncates embeddings to this size and normalizes again; 0: all
  int64_t active = 0;     // keeps this many largest numbers of sparse vectors; 0: the model's limit
  bool is_query = false;  // for token vectors: the texts are queries, not documents
};

// The form of a model's embeddings.
enum class VectorKind { Dense, Sparse, Tokens };

struct Embedded {
  std::vector<std::vector<float>> vectors;  // one per text
  int64_t tokens = 0;                       // total over all texts
  int64_t cut_texts = 0;                    // number of truncated texts
};

// The same for the other kinds of vectors.
struct SparseEmbedded {
  std::vector<SparseVector> vectors;
  int64_t tokens = 0, cut_texts = 0;
};
struct TokenEmbedded {
  std::vector<TokenVectors> vectors;
  int64_t tokens = 0, cut_texts = 0;
};

struct Scored {
  std::vector<double> scores;  // one per document
  int64_t tokens = 0, cut_texts = 0;
};

// Thread-safe.
class TextEncoder {
 public:
  // Opens a Hugging Face folder in fp32, or a package. The folder of a causal model can embed too.
  // Throws NotFound, Unsupported (a package that is not an encoder), and the errors of building.
  static TextEncoder open(const ModelChoice& choice);

  bool scores() const { return model_->scores(); }
  VectorKind kind() const { return kind_; }
  int64_t max_tokens() const { return model_->max_tokens(); }
  const std::string& name() const { return name_; }  // the model it was made from
  const Tokenizer& tokenizer() const { return tokenizer_; }
  std::vector<std::string> prompt_names() const;

  // Throws Unsupported for a cross-encoder and for a model with vectors of another kind, which the
  // next functions return; InvalidArgument for an empty list, an unknown prompt name, too many
  // dimensions, and (refuse_long) a text of too many tokens, with its number.
  Embedded embed(std::span<const std::string> texts, const EmbedOptions& options = {}) const;
  // The same for ids, which are used unchanged, but for the padding that some models see. Throws
  // InvalidArgument for too many, whatever the options.
  Embedded embed_ids(std::span<const std::vector<int32_t>> texts,
                     const EmbedOptions& options = {}) const;

  // Options for queries or for documents, with the model's prompt for them.
  EmbedOptions options_for(bool is_query, bool refuse_long) const;
  SparseEmbedded embed_sparse(std::span<const std::string> texts,
                              const EmbedOptions& options = {}) const;
  TokenEmbedded embed_tokens(std::span<const std::string> texts,
                             const EmbedOptions& options = {}) const;

  // The score of the query, after its default prompt, with each document by a cross-encoder. For an
  // embedding model, the cosine of the two, with the prompts "query" and "document" (or "passage")
  // if it has them; for sparse vectors their dot product, for token vectors their MaxSim. Throws as
  // embed(); Unsupported for a classifier of several labels, and for a generative language model.
  Scored score(const std::string& query, std::span<const std::string> documents,
               bool refuse_long = false) const;

 private:
  TextEncoder(std::shared_ptr<runtime::EncoderModel> model, Tokenizer tokenizer,
              const std::filesystem::path& text);
  runtime::EncoderText prepare(const std::string& text, const std::string& prompt,
                               const EmbedOptions& options, size_t number, Embedded& result) const;
  void fill_up(runtime::EncoderText& text) const;
  std::string prompt_of(const EmbedOptions& options) const;
  // Without white space at the ends, and in lower case if the model requires it.
  std::string cleaned(const std::string& text) const;
  Tokenizer::Texts encode(std::string_view text, size_t most) const;
  // Throws Unsupported if the model's vectors are of another kind.
  void check_kind(VectorKind wanted) const;
  std::vector<runtime::EncoderText> prepare_all(std::span<const std::string> texts,
                                                const EmbedOptions& options,
                                                Embedded& counts) const;
  Scored score_by_vectors(const std::string& query, std::span<const std::string> documents,
                          bool refuse_long) const;
  Scored score_by_cosine(const std::string& query, std::span<const std::string> documents,
                         bool refuse_long) const;

  std::string name_;
  std::shared_ptr<runtime::EncoderModel> model_;
  Tokenizer tokenizer_;
  std::map<std::string, std::string> prompts_;
  std::optional<std::string> default_prompt_;
  std::optional<PairPrompt> pair_prompt_;
  VectorKind kind_ = VectorKind::Dense;
  std::string similarity_;         // of sparse and token vectors; empty: the default
  int64_t active_ = 0;             // of sparse vectors; 0: no limit
  std::optional<LateTexts> late_;  // for models with a vector for each token
  bool lower_case_ = false;
  bool plain_tokens_ = false;        // without special tokens
  std::optional<int32_t> left_out_;  // a token to ignore: an unknown one
  std::optional<int32_t> filler_;    // fills texts up to the model's length
  bool is_language_model_ = false;   // not trained for embeddings
};

// Whether MODEL, which is on this machine, is an embedding model or a cross-encoder according to
// its files.
bool is_text_encoder(const std::filesystem::path& model);

}  // namespace pippin::app
