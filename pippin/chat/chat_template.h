// A model's chat template: messages to the text that the model was trained on.
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

// How a prompt ends.
enum class PromptEnd {
  Conversation,  // after the last message
  Generation,    // with what begins an answer (add_generation_prompt)
  Continuation,  // within the last message, as far as it goes (continue_final_message)
};

class ChatTemplate {
 public:
  // The model's templates (template_sources.h); nothing where it has none. Of several the one with
  // this name; without a name the default one, but tool_use, if there is one, where there are
  // tools. Throws NotFound for a name that is none of them (and where there is neither default nor
  // tool_use), InvalidFile for broken syntax.
  static std::optional<ChatTemplate> from_folder(const std::filesystem::path& model_folder,
                                                 std::string_view name = {});
  static std::optional<ChatTemplate> from_sources(const chat::TemplateSources& sources,
                                                  std::string_view name = {});
  // `special_tokens` is a dict such as {"bos_token": "<s>"}.
  static ChatTemplate from_source(std::string_view source, const chat::Value& special_tokens);

  // Throws Error(InvalidArgument) for a conversation that the template refuses, NotFound where
  // there is only a template for tools.
  std::string render(std::span<const Message> messages, bool add_generation_prompt) const;

  // The same with all that templates may ask for: "messages" and whatever else ("tools",
  // "documents", "enable_thinking" ...), as apply_chat_template() takes them. Continuation throws
  // InvalidArgument where the last message has no text, or the template does not write it out.
  std::string render(const chat::Dict& context, PromptEnd end,
                     const chat::RenderOptions& options = {}) const;

  // Whether it takes a variable of this name from its context: one that it does not set itself
  // before. Of several templates, whether any that render() may choose does.
  bool reads(const std::string& variable) const;

  // The text of the template; of several that of the first that render() may choose.
  const std::string& source() const { return source_; }
  // The dict that it was made with.
  const chat::Value& special_tokens() const { return special_tokens_; }

 private:
  explicit ChatTemplate(chat::Value special_tokens) : special_tokens_(std::move(special_tokens)) {}

  std::optional<chat::Template> template_, with_tools_;  // one at least
  std::string no_template_;                              // why there is no template_
  chat::Value special_tokens_;
  std::string source_;
};

}  // namespace pippin
