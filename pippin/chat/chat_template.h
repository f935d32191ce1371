// A model's chat template: messages to the text that the model was trained on.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "pippin/chat/template.h"

namespace pippin {

struct Message {
  std::string role;
  std::string content;
};

class ChatTemplate {
 public:
  // From chat_template.jinja, or else tokenizer_config.json's chat_template (a string, or the one
  // named "default" of a list), with the special tokens that tokenizer_config.json names. Nothing
  // where the model has no template.
  static std::optional<ChatTemplate> from_folder(const std::filesystem::path& model_folder);
  // `special_tokens` is a dict such as {"bos_token": "<s>"}.
  static ChatTemplate from_source(std::string_view source, const chat::Value& special_tokens);

  // Throws Error(InvalidArgument) for a conversation that the template refuses.
  std::string render(std::span<const Message> messages, bool add_generation_prompt) const;

  // The same with all that templates may ask for: "messages" and whatever else ("tools",
  // "documents", "enable_thinking" ...), as apply_chat_template() takes them.
  std::string render(const chat::Dict& context, bool add_generation_prompt,
                     const chat::RenderOptions& options = {}) const;

 private:
  ChatTemplate(chat::Template parsed, chat::Value special_tokens)
      : template_(std::move(parsed)), special_tokens_(std::move(special_tokens)) {}

  chat::Template template_;
  chat::Value special_tokens_;
};

}  // namespace pippin
