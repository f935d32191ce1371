// Embeddings of texts: a language model's last hidden states, pooled and normalized to length 1.
#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <span>
#include <vector>

#include "pippin/app/open/open_model.h"

namespace pippin::server {

// Pooling of a text's hidden states into one vector (sentence-transformers' 1_Pooling/config.json).
enum class Pooling { Last, Mean, First };

// Reads the pooling from the model's folder; the default is Last, which suits causal models. Throws
// InvalidFile; Unsupported for other kinds of pooling.
Pooling read_pooling(const std::filesystem::path& folder);

// Thread-safe; embeds one text at a time.
class Embedder {
 public:
  // Opens the model a second time, with its hidden states as an output; the weights are mapped, not
  // copied. Throws the errors of app::open_hidden().
  explicit Embedder(const app::ModelChoice& choice);

  // Returns `width` numbers. Throws LimitExceeded for more tokens than the context holds.
  std::vector<float> embed(std::span<const int32_t> ids);

 private:
  const app::HiddenModel model_;
  const Pooling pooling_;
  std::mutex mutex_;
  std::unique_ptr<runtime::Sequence> sequence_;
};

// Pools the states of a text, [tokens, width], into one vector of length 1.
std::vector<float> pool(std::span<const float> states, int64_t width, Pooling pooling);

}  // namespace pippin::server
