// Tokens for a model: ids, or a text that the model's tokenizer splits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pippin/app/open/open_model.h"

namespace pippin::app {

struct TokenInput {
  std::vector<int32_t> ids;
  std::optional<std::string> text;  // instead of ids
};

struct ModelWithTokens {
  runtime::RunnableModel model;
  std::vector<int32_t> ids;
};

// The model and its input. Ids need no tokenizer. Throws as open_model().
ModelWithTokens open_with_tokens(const ModelChoice& choice, const TokenInput& tokens);

}  // namespace pippin::app
