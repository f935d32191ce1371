// A model's chat template, which converts messages to the text format of its training.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "pippin/chat/message.h"
#include "pippin/chat/template.h"
#include "pippin/chat/template_sources.h"

namespace pippin {

// The end of a prompt.
enum class PromptEnd {
  Conversation,  // after the last message
  Generation,    // with the beginning of an answer (add_generation_prompt)
  Continuation,  // within the last message, as far as it is written (continue_final_message)
};

class ChatTemplate {
 public:
  // Reads the model's template (template_sources.h); returns nothing if it has none. Of several
  // templates, takes the one with this name; without a name, the default one, except that requests
  // with tools use tool_use if it exists. Throws NotFound if there is no template with that name
  // (or neither default nor tool_use), InvalidFile for a syntax error.
  static std::optional<ChatTemplate> from_folder(const std::filesystem::path& model_folder,
                                                 std::string_view name = {});
  static std::optional<ChatTemplate> from_sources(const chat::TemplateSources& sources,
                                                  std::string_view name = {});
  // `special_tokens` is a dict such as {"bos_token": "<s>"}.
  static ChatTemplate from_source(std::string_view source, const chat::Value& special_tokens);

  // Throws Error(InvalidArgument) if the template rejects the conversation, NotFound if there is
  // only a template for tools.
  std::string render(std::span<const Message> messages, bool add_generation_prompt) const;

  // The same with all variables of apply_chat_template(): "messages" and any others ("tools",
  // "documents", "enable_thinking" ...). Continuation throws InvalidArgument if the last message
  // has no text, or if the template does not write it.
  std::string render(const chat::Dict& context, PromptEnd end,
                     const chat::RenderOptions& options = {}) const;

  // Returns whether the template takes a variable of this name from its context without setting it
  // first; of several templates, whether any that render() may choose does.
  bool reads(const std::string& variable) const;

  // The template's text; if there are several, the first that render() may choose.
  const std::string& source() const { return source_; }
  // The dict passed at construction.
  const chat::Value& special_tokens() const { return special_tokens_; }

 private:
  explicit ChatTemplate(chat::Value special_tokens) : special_tokens_(std::move(special_tokens)) {}

  std::optional<chat::Template> template_, with_tools_;  // at least one
  std::string no_template_;                              // why template_ is missing
  chat::Value special_tokens_;
  std::string source_;
};

}  // namespace pippin
