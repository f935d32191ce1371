#include "pippin/app/pair_prompt.h"

#include <utility>

#include "pippin/base/error.h"
#include "pippin/chat/json.h"
#include "pippin/chat/value.h"

namespace pippin::app {

std::optional<PairPrompt> PairPrompt::from_folder(const std::filesystem::path& folder) {
  auto form = models::read_pair_messages(folder);
  if (!form) return std::nullopt;
  auto chat_template = ChatTemplate::from_folder(folder);
  if (!chat_template) return std::nullopt;
  return PairPrompt(std::move(*chat_template), std::move(*form));
}

std::string PairPrompt::render(const std::string& system, const std::string& query,
                               const std::string& document) const {
  std::vector<chat::Value> messages;
  const auto add = [&](const char* role, const std::string& text) {
    chat::Dict message;
    message.set("role", role);
    if (form_.parts) {
      chat::Dict part;
      part.set("type", "text");
      part.set("text", text);
      message.set("content", std::vector<chat::Value>{chat::Value(std::move(part))});
    } else {
      message.set("content", text);
    }
    messages.emplace_back(std::move(message));
  };
  if (!system.empty()) add("system", system);
  add("query", query);
  add("document", document);
  chat::Dict context;
  const chat::Value given = chat::parse_json(form_.context, "processing_kwargs");
  for (const auto& [key, value] : given.dict().entries()) context.set(key, value);
  context.set("messages", std::move(messages));
  return template_.render(context,
                          form_.generation ? PromptEnd::Generation : PromptEnd::Conversation);
}

Tokenizer::Texts PairPrompt::encode(const Tokenizer& tokenizer, const std::string& system,
                                    const std::string& query, const std::string& document,
                                    size_t most) const {
  const std::string prompt = render(system, query, document);
  const size_t place = prompt.rfind(document);
  if (prompt.find(query) == std::string::npos || place == std::string::npos) {
    fail(ErrorCode::InvalidArgument,
         "the chat template has no place for the {} of a pair: it needs messages of the roles "
         "\"query\" and \"document\"",
         place == std::string::npos ? "document" : "query");
  }
  Tokenizer::Texts result;
  result.ids = tokenizer.encode(prompt, false);
  if (result.ids.size() <= most) return result;
  const std::vector<int32_t> end =
      tokenizer.encode(std::string_view(prompt).substr(place + document.size()), false);
  if (end.size() >= most) {
    fail(ErrorCode::InvalidArgument, "the model's {} tokens have no room for a pair: {} end it",
         most, end.size());
  }
  result.cut = result.ids.size() - most;
  result.ids.resize(most - end.size());
  result.ids.insert(result.ids.end(), end.begin(), end.end());
  return result;
}

}  // namespace pippin::app
