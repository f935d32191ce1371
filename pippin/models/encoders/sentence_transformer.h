// Folders of sentence-transformers: the modules after the encoder (modules.json and the folders
// that it names), and the preparation of texts (config_sentence_transformers.json,
// sentence_bert_config.json). Embedding models and cross-encoders have them, and tables of static
// embeddings, whose first module is a table instead of an encoder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "pippin/io/json.h"
#include "pippin/models/encoders/late_interaction.h"
#include "pippin/nn/attention/pooling.h"
#include "pippin/nn/layers/mlp.h"

namespace pippin::models {

struct SentenceDense {
  std::filesystem::path folder;  // with weights "linear.weight" and "linear.bias"
  int64_t in = 0, out = 0;
  bool bias = true;
  nn::Activation activation = nn::Activation::Tanh;
  // The input is added to the result, multiplied by "residual.weight" if the sizes differ.
  bool residual = false;
};
struct SentenceLayerNorm {
  std::filesystem::path folder;  // with weights "norm.weight" and "norm.bias"
  int64_t features = 0;
};
struct SentenceNormalize {};
using SentenceModule = std::variant<SentenceDense, SentenceLayerNorm, SentenceNormalize>;

// The score of a language model's cross-encoder: the logit of one token after the rendered pair,
// minus that of another.
struct LogitScore {
  int64_t yes = 0;
  std::optional<int64_t> no;
};

struct SentenceTransformer {
  enum class Kind {
    Embedding,   // an encoder, its pooling, modules
    Sparse,      // an encoder with a head for masked tokens, and SPLADE's pooling
    Tokens,      // an encoder, modules of each token's vector: ColBERT
    Static,      // the mean of the rows of a table, modules
    Classifier,  // a cross-encoder: an encoder with a classifier's head
    Scores,      // a cross-encoder: like Embedding, with scores from the last module
    Logits,      // a cross-encoder: a language model and a LogitScore
  };
  Kind kind = Kind::Embedding;
  std::filesystem::path transformer;  // the folder of the encoder, or of the table
  LogitScore logits;
  nn::SpladeOptions splade;
  std::optional<int64_t> active;  // keeps the largest numbers of a sparse vector: max_active_dims
  std::optional<LateInteraction> late;
  nn::PoolingOptions pooling;
  bool pool_prompts = true;             // false: the tokens of a prompt are not pooled
  std::vector<SentenceModule> modules;  // after the pooling
  std::optional<int64_t> max_tokens;
  std::optional<int64_t> dimensions;  // keeps only the first elements of an embedding: truncate_dim

  bool scores() const {
    return kind == Kind::Classifier || kind == Kind::Scores || kind == Kind::Logits;
  }
};

// Whether a folder has modules.json, with other modules than pair_folder() knows.
bool is_sentence_transformer(const std::filesystem::path& folder);
// The folder of a pair of towers for texts and images that modules.json has for its module
// CLIPModel; `folder` itself without such a file.
std::filesystem::path pair_folder(const std::filesystem::path& folder);
// Whether modules.json or model2vec's config.json describes a table of static embeddings.
bool is_static_embedding(const std::filesystem::path& folder);
// For a folder without modules.json, sentence-transformers' defaults: the mean of the states; the
// last state of a causal model. Throws Unsupported for unknown modules and poolings, InvalidFile,
// NotFound (a folder that modules.json names).
SentenceTransformer read_sentence_transformer(const std::filesystem::path& folder, bool causal);

// Largest number of tokens of a text: max_seq_length, else the tokenizer's model_max_length;
// nothing if both are absent.
std::optional<int64_t> read_max_tokens(const std::filesystem::path& folder);

// Prefixes of texts, by name; and the name of the default one.
struct Prompts {
  std::map<std::string, std::string> by_name;
  std::optional<std::string> default_name;
};
// Reads config_sentence_transformers.json in the folder; empty if it is absent.
Prompts read_prompts(const std::filesystem::path& folder);

// The similarity of sparse vectors and of vectors of tokens
// (similarity_fn_name of config_sentence_transformers.json), in lower case; empty: nothing is said.
// Throws Unsupported for others than dot, cosine, maxsim and meanmaxsim.
std::string read_similarity(const std::filesystem::path& folder);

// The input format of a cross-encoder that is a language model: two messages, "query" and
// "document", of its chat template, which also gets `context` (a JSON object).
struct PairMessages {
  bool parts = false;       // contents are lists of parts, each with a type
  bool generation = false;  // followed by the beginning of an answer
  std::string context = "{}";
};
// Nullopt for a cross-encoder of two texts.
std::optional<PairMessages> read_pair_messages(const std::filesystem::path& folder);

// Whether sentence_bert_config.json in the folder requests texts in lower case.
bool lowers_case(const std::filesystem::path& folder);

// The activation from the logit of a cross-encoder to a score: the last part of the names of
// PyTorch's classes ("Sigmoid", "Identity"), lower case; nothing if no file names it.
std::optional<std::string> read_score_activation(const std::filesystem::path& folder,
                                                 const Json& config);

}  // namespace pippin::models
