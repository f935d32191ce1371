// Embeddings of texts: a language model's last states, pooled and of length 1.
#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <span>
#include <vector>

#include "pippin/app/open_model.h"

namespace pippin::server {

// How the states of a text become one (sentence-transformers' 1_Pooling/config.json).
enum class Pooling { Last, Mean, First };

// What the model's folder says; Last where it says nothing, as models that read forwards do. Throws
// InvalidFile; Unsupported for other ways.
Pooling read_pooling(const std::filesystem::path& folder);

// Any thread; one text at a time.
class Embedder {
 public:
  // Opens the model once more, with its states as an output: weights are mapped, not copied. Throws
  // as app::open_hidden().
  explicit Embedder(const app::ModelChoice& choice);

  // `width` numbers. Throws LimitExceeded for more tokens than the context holds.
  std::vector<float> embed(std::span<const int32_t> ids);

 private:
  const app::HiddenModel model_;
  const Pooling pooling_;
  std::mutex mutex_;
  std::unique_ptr<runtime::Sequence> sequence_;
};

// The states of a text, [tokens, width], as one vector of length 1.
std::vector<float> pool(std::span<const float> states, int64_t width, Pooling pooling);

}  // namespace pippin::server
