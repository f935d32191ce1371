// The prompt of a cross-encoder that is a language model: query and document as messages of its
// chat template.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "pippin/chat/chat_template.h"
#include "pippin/models/encoders/sentence_transformer.h"
#include "pippin/tokenizers/tokenizer.h"

namespace pippin::app {

class PairPrompt {
 public:
  // Nullopt if the folder's model takes two texts, or has no template.
  static std::optional<PairPrompt> from_folder(const std::filesystem::path& folder);

  // Returns at most `most` ids: truncates the end of the document, before the template's text after
  // it. `system` is a message before the others; empty: none. Throws InvalidArgument if the
  // template has no place for one of the two.
  Tokenizer::Texts encode(const Tokenizer& tokenizer, const std::string& system,
                          const std::string& query, const std::string& document, size_t most) const;

 private:
  PairPrompt(ChatTemplate chat_template, models::PairMessages form)
      : template_(std::move(chat_template)), form_(std::move(form)) {}
  std::string render(const std::string& system, const std::string& query,
                     const std::string& document) const;

  ChatTemplate template_;
  models::PairMessages form_;
};

}  // namespace pippin::app
