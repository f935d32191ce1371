#include "pippin/chat/continuation.h"

#include <optional>
#include <string_view>
#include <vector>

#include "pippin/base/error.h"

namespace pippin::chat {
namespace {

// Its last character is a blank, which a template that trims messages removes.
constexpr std::string_view kMark = "CONTINUE_FINAL_MESSAGE_TAG ";

std::optional<Value> marked(const Value& content) {
  if (content.is_string()) return Value(content.string() + std::string(kMark));
  if (!content.is_list()) return std::nullopt;
  std::vector<Value> parts = content.list().items;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    const Value* text = part->is_dict() ? part->dict().find("text") : nullptr;
    if (text == nullptr || !text->is_string()) continue;
    Dict changed = part->dict();
    changed.set("text", text->string() + std::string(kMark));
    *part = Value(std::move(changed));
    return Value(std::move(parts));
  }
  return std::nullopt;
}

}  // namespace

Value marked_end(const Value* messages) {
  const bool any = messages != nullptr && messages->is_list() && !messages->list().items.empty();
  if (any && messages->list().items.back().is_dict()) {
    std::vector<Value> list = messages->list().items;
    Dict last = list.back().dict();
    const Value* content = last.find("content");
    if (auto longer = content == nullptr ? std::nullopt : marked(*content)) {
      last.set("content", std::move(*longer));
      list.back() = Value(std::move(last));
      return Value(std::move(list));
    }
  }
  fail(ErrorCode::InvalidArgument, "no text in a final message to continue");
}

std::string cut_at_mark(std::string text) {
  const std::string_view trimmed = kMark.substr(0, kMark.size() - 1);
  const size_t at = text.rfind(trimmed);
  if (at == std::string::npos) {
    fail(ErrorCode::InvalidArgument,
         "the chat template does not write out the final message that is to be continued");
  }
  const bool whole = std::string_view(text).substr(at).starts_with(kMark);
  text.resize(at);
  if (!whole) text.resize(text.find_last_not_of(" \t\n\r\f\v") + 1);
  return text;
}

}  // namespace pippin::chat
