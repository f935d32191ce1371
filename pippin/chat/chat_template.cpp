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
  const std::string_view wanted = name.empty() ? "default" : name;
  ChatTemplate result(sources.special_tokens);
  const auto parsed = [&](std::string_view one) -> std::optional<chat::Template> {
    const auto* source = sources.find(one);
    if (source == nullptr) return std::nullopt;
    if (result.source_.empty()) result.source_ = source->text;
    return with_context(source->place, [&] { return chat::Template::parse(source->text); });
  };
  result.template_ = parsed(wanted);
  if (name.empty()) result.with_tools_ = parsed("tool_use");
  if (!result.template_) {
    result.no_template_ = fmt::format("{}: no chat template is named '{}', there are: {}",
                                      sources.templates.front().place, wanted, sources.names());
  }
  if (!result.template_ && !result.with_tools_)
    fail(ErrorCode::NotFound, "{}", result.no_template_);
  return result;
}

ChatTemplate ChatTemplate::from_source(std::string_view source, const Value& special_tokens) {
  ChatTemplate result(special_tokens);
  result.source_ = source;
  result.template_ = chat::Template::parse(source);
  return result;
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
  // As in transformers, tools and documents that are not given are None, not undefined.
  Dict all{{"tools", Value()}, {"documents", Value()}};
  if (special_tokens_.is_dict()) {
    for (const auto& [name, token] : special_tokens_.dict().entries()) all.set(name, token);
  }
  for (const auto& [name, value] : context.entries()) all.set(name, value);
  all.set("add_generation_prompt", end == PromptEnd::Generation);
  const bool continues = end == PromptEnd::Continuation;
  if (continues) all.set("messages", chat::marked_end(all.find("messages")));
  const bool has_tools = !all.find("tools")->is_none();
  const auto& chosen = has_tools && with_tools_ ? with_tools_ : template_;
  if (!chosen) fail(ErrorCode::NotFound, "{}", no_template_);
  std::string text = chosen->render(Value(std::move(all)), options);
  return continues ? chat::cut_at_mark(std::move(text)) : text;
}

bool ChatTemplate::reads(const std::string& variable) const {
  return (template_ && template_->free_names().contains(variable)) ||
         (with_tools_ && with_tools_->free_names().contains(variable));
}

}  // namespace pippin
