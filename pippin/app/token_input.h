// Tokens for a model: ids, or a text that the model's tokenizer splits, with images.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pippin/app/open/open_model.h"
#include "pippin/chat/message.h"
#include "pippin/runtime/embedded_rows.h"

namespace pippin::app {

struct TokenInput {
  std::vector<int32_t> ids;
  std::optional<std::string> text;  // instead of ids
  // Before the text, or where it has the model's placeholders.
  std::vector<MessageImage> images = {};
};

struct ModelWithTokens {
  runtime::RunnableModel model;
  std::vector<int32_t> ids;
  std::vector<std::shared_ptr<const runtime::EmbeddedRows>> rows = {};  // of images
};

// The model and its input. Ids need no tokenizer. Throws as open_model() and text_prompt().
ModelWithTokens open_with_tokens(const ModelChoice& choice, const TokenInput& tokens);

}  // namespace pippin::app
