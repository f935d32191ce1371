#include "pippin/chat/chat_template.h"

#include <array>

#include "pippin/base/error.h"
#include "pippin/chat/continuation.h"

namespace pippin {

using chat::Dict;
using chat::Value;

std::optional<ChatTemplate> ChatTemplate::from_folder(const std::filesystem::path& model_folder,
                                                      std::string_view name) {
  return from_sources(chat::read_template_folder(model_folder), name);
}

std::optional<ChatTemplate> ChatTemplate::from_sources(const chat::TemplateSources& sources,
                                                       std::string_view name) {
  if (sources.templates.empty()) return std::nullopt;
  const auto* source = sources.find(name.empty() ? "default" : name);
  if (source == nullptr) {
    fail(ErrorCode::NotFound, "{}: no chat template is named '{}', there are: {}",
         sources.templates.front().place, name.empty() ? "default" : name, sources.names());
  }
  const auto parse = [](const chat::TemplateSource& one) {
    return with_context(one.place, [&] { return chat::Template::parse(one.text); });
  };
  ChatTemplate result(parse(*source), sources.special_tokens);
  const auto* tools = name.empty() ? sources.find("tool_use") : nullptr;
  if (tools != nullptr) result.with_tools_ = parse(*tools);
  return result;
}

ChatTemplate ChatTemplate::from_source(std::string_view source, const Value& special_tokens) {
  return {chat::Template::parse(source), special_tokens};
}

std::string ChatTemplate::render(std::span<const Message> messages,
                                 bool add_generation_prompt) const {
  std::vector<Value> list;
  for (const auto& message : messages) {
    list.emplace_back(Dict{{"role", message.role}, {"content", message.content}});
  }
  return render(Dict{{"messages", Value(std::move(list))}},
                add_generation_prompt ? PromptEnd::Generation : PromptEnd::Conversation);
}

std::string ChatTemplate::render(const Dict& context, PromptEnd end,
                                 const chat::RenderOptions& options) const {
  // As transformers passes them: no tools and no documents are None, not undefined.
  Dict all{{"tools", Value()}, {"documents", Value()}};
  if (special_tokens_.is_dict()) {
    for (const auto& [name, token] : special_tokens_.dict().entries()) all.set(name, token);
  }
  for (const auto& [name, value] : context.entries()) all.set(name, value);
  all.set("add_generation_prompt", end == PromptEnd::Generation);
  const bool continues = end == PromptEnd::Continuation;
  if (continues) all.set("messages", chat::marked_end(all.find("messages")));
  const bool has_tools = !all.find("tools")->is_none();
  const auto& chosen = has_tools && with_tools_ ? *with_tools_ : template_;
  std::string text = chosen.render(Value(std::move(all)), options);
  return continues ? chat::cut_at_mark(std::move(text)) : text;
}

}  // namespace pippin
