// Finds the chat templates in a model's files, as transformers does.
//
//   chat_template.jinja ("default") and additional_chat_templates/NAME.jinja; without these,
//   tokenizer_config.json's chat_template, a string ("default") or a list of named templates;
//   without that, chat_template.json, a file of the same form.
//
// The special tokens come from tokenizer_config.json and, if missing there, from
// special_tokens_map.json.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "pippin/chat/value.h"

namespace pippin::chat {

inline constexpr size_t kMaxTemplateBytes = size_t{1} << 20;

struct TemplateSource {
  std::string name, text;
  std::string place;  // the file, for error messages
};

struct TemplateSources {
  std::vector<TemplateSource> templates;  // empty: the model has none
  Dict special_tokens;                    // {"bos_token": "<s>"}

  const TemplateSource* find(std::string_view name) const;
  // Returns "default, rag, tool_use".
  std::string names() const;
};

// Throws InvalidFile for files with another form, LimitExceeded.
TemplateSources read_template_folder(const std::filesystem::path& folder);
// Reads a .json file of one of the forms above; any other file is itself a template.
TemplateSources read_template_file(const std::filesystem::path& file);

}  // namespace pippin::chat
