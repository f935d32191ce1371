// sentence-transformers' folders: what follows the encoder (modules.json and the folders that it
// names), and how texts are prepared (config_sentence_transformers.json,
// sentence_bert_config.json).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "pippin/io/json.h"
#include "pippin/nn/mlp.h"
#include "pippin/nn/pooling.h"

namespace pippin::models {

struct SentenceDense {
  std::filesystem::path folder;  // with weights "linear.weight" and "linear.bias"
  int64_t in = 0, out = 0;
  bool bias = true;
  nn::Activation activation = nn::Activation::Tanh;
};
struct SentenceLayerNorm {
  std::filesystem::path folder;  // with weights "norm.weight" and "norm.bias"
  int64_t features = 0;
};
struct SentenceNormalize {};
using SentenceModule = std::variant<SentenceDense, SentenceLayerNorm, SentenceNormalize>;

struct SentenceModules {
  std::filesystem::path transformer;  // the folder of the encoder
  nn::PoolingOptions pooling;
  bool pool_prompts = true;             // false: the tokens of a prompt are not pooled
  std::vector<SentenceModule> modules;  // after the pooling
  std::optional<int64_t> max_tokens;
};

// Whether a folder says that it is one: it has modules.json.
bool has_sentence_modules(const std::filesystem::path& folder);
// Of a folder without modules.json what sentence-transformers makes of it: the mean of the states;
// the last state of a causal model. Throws Unsupported for modules and poolings that are not known,
// InvalidFile, NotFound (a folder that modules.json names).
SentenceModules read_sentence_modules(const std::filesystem::path& folder, bool causal);

// What is put before texts, by name; the name of the one that is put where none is asked for.
struct Prompts {
  std::map<std::string, std::string> by_name;
  std::optional<std::string> default_name;
};
// Of config_sentence_transformers.json in the folder; none where there is no such file.
Prompts read_prompts(const std::filesystem::path& folder);

// Whether sentence_bert_config.json in the folder wants texts in lower case.
bool lowers_case(const std::filesystem::path& folder);

// What turns the logit of a cross-encoder into a score: the last part of the names of PyTorch's
// classes ("Sigmoid", "Identity"), lower case; nothing where no file says it.
std::optional<std::string> read_score_activation(const std::filesystem::path& folder,
                                                 const Json& config);

}  // namespace pippin::models
