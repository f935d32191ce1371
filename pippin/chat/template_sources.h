// The chat templates that a model's files hold, as transformers finds them.
//
//   chat_template.jinja ("default") and additional_chat_templates/NAME.jinja; where there are none
//   tokenizer_config.json's chat_template, a string ("default") or a list of named ones; where it
//   has none either chat_template.json, a file of the same form.
//
// The special tokens are tokenizer_config.json's, and special_tokens_map.json's for those that it
// does not name.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "pippin/chat/value.h"

namespace pippin::chat {

inline constexpr size_t kMaxTemplateBytes = size_t{1} << 20;

struct TemplateSource {
  std::string name, text;
  std::string place;  // the file, for errors
};

struct TemplateSources {
  std::vector<TemplateSource> templates;  // none: the model has none
  Dict special_tokens;                    // {"bos_token": "<s>"}

  const TemplateSource* find(std::string_view name) const;
  // "default, rag, tool_use"
  std::string names() const;
};

// Throws InvalidFile for files of another form, LimitExceeded.
TemplateSources read_template_folder(const std::filesystem::path& folder);
// A .json of the forms above, or else a file that is a template.
TemplateSources read_template_file(const std::filesystem::path& file);

}  // namespace pippin::chat
