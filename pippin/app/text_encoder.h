// Texts to embeddings, and pairs of texts to scores: an embedding model or a cross-encoder with its
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

#include "pippin/app/open_model.h"
#include "pippin/app/pair_prompt.h"
#include "pippin/runtime/encoder_model.h"
#include "pippin/tokenizers/tokenizer.h"

namespace pippin::app {

struct EmbedOptions {
  // Of the model's prompts, the one that is put before each text; the model's default one where
  // nothing is said, none for an empty name.
  std::optional<std::string> prompt_name;
  std::optional<std::string> prompt;  // instead of that: the text itself
  // A text of more tokens than the model takes: cut at its end, as sentence-transformers does, or
  // refused.
  bool refuse_long = false;
  int64_t dimensions = 0;  // that many numbers of each embedding, at length 1 again; 0: all
};

struct Embedded {
  std::vector<std::vector<float>> vectors;  // one for each text
  int64_t tokens = 0;                       // of all texts together
  int64_t cut_texts = 0;                    // texts that had too many
};

struct Scored {
  std::vector<double> scores;  // one for each document
  int64_t tokens = 0, cut_texts = 0;
};

// Any thread.
class TextEncoder {
 public:
  // A Hugging Face folder in fp32, or a package. A causal model's folder embeds too. Throws
  // NotFound, Unsupported (a package that is no encoder), and what building throws.
  static TextEncoder open(const ModelChoice& choice);

  bool scores() const { return model_->scores(); }
  int64_t max_tokens() const { return model_->max_tokens(); }
  const std::string& name() const { return name_; }  // of the model that it was made from
  const Tokenizer& tokenizer() const { return tokenizer_; }
  std::vector<std::string> prompt_names() const;

  // Throws Unsupported for a cross-encoder; InvalidArgument for no text, a prompt's name that there
  // is not, more dimensions than there are, and (refuse_long) a text of too many tokens, with its
  // number.
  Embedded embed(std::span<const std::string> texts, const EmbedOptions& options = {}) const;
  // The same of ids, which are taken as they are: InvalidArgument for too many, whatever the
  // options.
  Embedded embed_ids(std::span<const std::vector<int32_t>> texts,
                     const EmbedOptions& options = {}) const;

  // What a cross-encoder says of the query, after its default prompt, with each document. Of an
  // embedding model the cosine of both, with the prompts "query" and "document" (or "passage")
  // where it has them. Throws as embed(); Unsupported for a classifier of several labels, and for a
  // language model that was made to write.
  Scored score(const std::string& query, std::span<const std::string> documents,
               bool refuse_long = false) const;

 private:
  TextEncoder(std::shared_ptr<runtime::EncoderModel> model, Tokenizer tokenizer,
              const std::filesystem::path& text);
  runtime::EncoderText prepare(const std::string& text, const std::string& prompt,
                               const EmbedOptions& options, size_t number, Embedded& result) const;
  std::string prompt_of(const EmbedOptions& options) const;
  Tokenizer::Texts encode(std::string_view text, size_t most) const;
  Scored score_by_cosine(const std::string& query, std::span<const std::string> documents,
                         bool refuse_long) const;
  void finish(std::vector<std::vector<float>>& vectors, int64_t dimensions) const;

  std::string name_;
  std::shared_ptr<runtime::EncoderModel> model_;
  Tokenizer tokenizer_;
  std::map<std::string, std::string> prompts_;
  std::optional<std::string> default_prompt_;
  std::optional<PairPrompt> pair_prompt_;
  bool lower_case_ = false;
  bool plain_tokens_ = false;        // without special tokens
  std::optional<int32_t> left_out_;  // a token that does not count: an unknown one
  bool is_language_model_ = false;   // which was not made to embed
};

// Whether MODEL, which is on this machine, is an embedding model or a cross-encoder by what its
// files say.
bool is_text_encoder(const std::filesystem::path& model);

}  // namespace pippin::app
