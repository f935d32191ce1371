#include "pippin/server/chat_messages.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "pippin/server/message_fields.h"
#include "pippin/server/request_json.h"

namespace pippin::server {
namespace {

using chat::Dict;
using chat::Value;

constexpr size_t kMaxMessages = 65536;

std::vector<Json> list_of(const RequestFields& body) {
  const auto messages = body.find("messages");
  if (!messages) refuse_at("messages", "is missing");
  if (!messages->is_array() || messages->size() == 0) {
    refuse_at("messages", "expected a list of at least one message");
  }
  if (messages->size() > kMaxMessages) {
    refuse_at("messages",
              fmt::format("has {} messages, at most {} are taken", messages->size(), kMaxMessages));
  }
  return messages->elements();
}

// --- OpenAI ---

// Null becomes an empty text: templates would write the word None.
std::string openai_content(const Json& content, const std::string& place, MessageImages& images) {
  if (content.is_null()) return {};
  if (content.is_string()) return std::string(content.as_string());
  if (!content.is_array()) refuse_at(place, "expected a string or a list of parts");
  chat::ContentText text;
  for (size_t i = 0; i < content.size(); ++i) {
    const std::string part_place = fmt::format("{}[{}]", place, i);
    const Json part = content.at(i);
    const std::string type = type_at(part, part_place);
    if (type == "text" || type == "refusal") {
      text.add_text(
          text_of(member(part, type, part_place), fmt::format("{}.{}", part_place, type)));
    } else if (type == "image_url") {
      text.add_image(images.add_openai(part, part_place));
    } else if (type == "video_url") {
      text.add_image(images.add_video(part, part_place));
    } else {
      refuse_at(part_place, fmt::format("parts of type {} are not supported (supported: text, "
                                        "image_url, video_url)",
                                        shown(type)));
    }
  }
  return text.take();
}

// Drops null members: clients write null for absent ones.
Dict dict_of(const Json& object) {
  Dict result;
  for (const auto& [key, value] : object.members()) {
    if (!value.is_null()) result.set(std::string(key), value_of(value));
  }
  return result;
}

// Converts the arguments to an object.
Value with_arguments(const Json& call, const std::string& place) {
  const Json function = member(call, "function", place);
  const std::string where = place + ".function";
  if (!function.is_object()) refuse_at(where, "expected an object");
  if (text_of(member(function, "name", where), where + ".name").empty()) {
    refuse_at(where + ".name", "is empty");
  }
  Value arguments = arguments_of(function.find("arguments"), where + ".arguments");
  Dict named = dict_of(function);
  named.set("arguments", std::move(arguments));
  Dict result = dict_of(call);
  result.set("function", std::move(named));
  return result;
}

// Whether an assistant's turn may have no content.
bool may_lack_content(const Json& message, const std::string& role) {
  if (role != "assistant") return false;
  return message.has("tool_calls") || message.has("function_call") || message.has("refusal") ||
         message.has("reasoning_content") || message.has("reasoning");
}

Value openai_message(const Json& message, const std::string& place, MessageImages& images) {
  const std::string role = role_of(message, place);
  Dict result;
  result.set("role", role);
  for (const auto& [key, value] : message.members()) {
    if (key == "role") continue;
    if (key == "content") {
      result.set("content", openai_content(value, place + ".content", images));
    } else if (key == "tool_calls" && value.is_array()) {
      std::vector<Value> calls;
      for (size_t i = 0; i < value.size(); ++i) {
        const std::string call_place = fmt::format("{}.tool_calls[{}]", place, i);
        if (!value.at(i).is_object()) refuse_at(call_place, "expected an object");
        calls.push_back(with_arguments(value.at(i), call_place));
      }
      if (!calls.empty()) result.set("tool_calls", std::move(calls));
    } else if (!value.is_null()) {
      result.set(std::string(key), value_of(value));
      // Two names of one field; templates use the longer one.
      if (key == "reasoning" && !message.has("reasoning_content")) {
        result.set("reasoning_content", value_of(value));
      }
    }
  }
  if (result.find("content") == nullptr) {
    if (!may_lack_content(message, role)) refuse_at(place, "has no content");
    result.set("content", "");
  }
  return result;
}

// --- Anthropic ---

// Agents put such a line first. It changes with every request, so no prompt prefix would match.
bool is_billing(std::string_view text) {
  return text.starts_with("x-anthropic-billing-header");
}

// Returns the text of a block of another type than text; nothing if the model cannot read it.
std::optional<std::string> text_in_block(const Json& block, const std::string& type,
                                         const std::string& place);

[[noreturn]] void refuse_block(const std::string& place, const std::string& type) {
  refuse_at(place, fmt::format("blocks of type {} are not supported here", shown(type)));
}

// Reads a string, or blocks of text, and of images unless `images` is null.
std::string anthropic_text(const Json& content, const std::string& place,
                           MessageImages* images = nullptr) {
  if (content.is_string()) return std::string(content.as_string());
  if (!content.is_array()) refuse_at(place, "expected a string or a list of blocks");
  chat::ContentText text;
  for (size_t i = 0; i < content.size(); ++i) {
    const std::string block_place = fmt::format("{}.{}", place, i);
    const Json block = content.at(i);
    const std::string type = type_at(block, block_place);
    if (images != nullptr && type == "image") {
      text.add_image(images->add_anthropic(block, block_place));
      continue;
    }
    const auto part = text_in_block(block, type, block_place);
    if (!part) refuse_block(block_place, type);
    if (!is_billing(*part)) text.add_text(*part);
  }
  return text.take();
}

// Reads a document's source: text, or blocks of text.
std::optional<std::string> document_text(const Json& block, const std::string& place) {
  const Json source = member(block, "source", place);
  const std::string type = type_at(source, place + ".source");
  std::string text;
  for (const char* name : {"title", "context"}) {
    if (const auto value = block.find(name)) add_line(text, text_of(*value, place + "." + name));
  }
  if (type == "text") {
    add_line(text, text_of(member(source, "data", place + ".source"), place + ".source.data"));
  } else if (type == "content") {
    add_line(text, anthropic_text(member(source, "content", place + ".source"),
                                  place + ".source.content"));
  } else {
    return std::nullopt;
  }
  return text;
}

std::optional<std::string> text_in_block(const Json& block, const std::string& type,
                                         const std::string& place) {
  if (type == "text") return text_of(member(block, "text", place), place + ".text");
  if (type == "document") return document_text(block, place);
  if (type == "tool_reference") {
    return text_of(member(block, "tool_name", place), place + ".tool_name");
  }
  if (type != "search_result") return std::nullopt;
  std::string text;
  for (const char* name : {"title", "source"}) {
    if (const auto value = block.find(name)) add_line(text, text_of(*value, place + "." + name));
  }
  add_line(text, anthropic_text(member(block, "content", place), place + ".content"));
  return text;
}

// The contents of a message's blocks.
struct Blocks {
  chat::ContentText text;
  std::string thoughts;
  std::vector<Value> calls;
  std::vector<Value> results;  // separate messages
};

void add_block(const Json& block, const std::string& place, MessageImages& images, Blocks& blocks) {
  const std::string type = type_at(block, place);
  if (const auto text = text_in_block(block, type, place)) {
    blocks.text.add_text(*text);
  } else if (type == "image") {
    blocks.text.add_image(images.add_anthropic(block, place));
  } else if (type == "thinking") {
    add_line(blocks.thoughts, text_of(member(block, "thinking", place), place + ".thinking"));
  } else if (type == "redacted_thinking" || type == "tool_addition" || type == "tool_removal") {
    return;  // tools: tool_changes.h
  } else if (type == "tool_use") {
    blocks.calls.emplace_back(
        Dict{{"id", text_of(member(block, "id", place), place + ".id")},
             {"type", "function"},
             {"function", Dict{{"name", text_of(member(block, "name", place), place + ".name")},
                               {"arguments", value_of(member(block, "input", place))}}}});
  } else if (type == "tool_result") {
    const auto content = block.find("content");
    Dict result{
        {"role", "tool"},
        {"tool_call_id", text_of(member(block, "tool_use_id", place), place + ".tool_use_id")},
        {"content", content ? anthropic_text(*content, place + ".content", &images) : ""}};
    if (find_bool(block, "is_error").value_or(false)) result.set("is_error", true);
    blocks.results.emplace_back(std::move(result));
  } else {
    refuse_block(place, type);
  }
}

// Joins the instructions at the front. Those that only change tools have no text.
void add_system(const std::string& text, std::vector<Value>& result) {
  if (text.empty()) return;
  const bool joins = result.size() == 1 && result[0].dict().find("role")->string() == "system";
  std::string whole = joins ? result[0].dict().find("content")->string() : std::string();
  add_line(whole, text);
  if (joins) result.clear();
  result.emplace_back(Dict{{"role", "system"}, {"content", std::move(whole)}});
}

// Whether a message that holds until the user's next turn has expired.
bool is_cleared(const Json& message, std::span<const Json> later) {
  if (find_string(message, "clear_at").value_or("") != "next_user_message") return false;
  return std::any_of(later.begin(), later.end(), [](const Json& next) {
    return next.is_object() && find_string(next, "role") == "user";
  });
}

void add_anthropic_message(const Json& message, const std::string& place, MessageImages& images,
                           std::vector<Value>& result) {
  const std::string role = role_of(message, place);
  if (role != "user" && role != "assistant" && role != "system") {
    refuse_at(place + ".role", fmt::format("\"{}\" is not user, assistant or system", role));
  }
  const Json content = member(message, "content", place);
  Blocks blocks;
  if (content.is_string()) {
    blocks.text.add_text(content.as_string());
  } else if (content.is_array()) {
    for (size_t i = 0; i < content.size(); ++i) {
      add_block(content.at(i), fmt::format("{}.content.{}", place, i), images, blocks);
    }
  } else {
    refuse_at(place + ".content", "expected a string or a list of blocks");
  }
  // Results come first: they answer the calls of the previous turn.
  result.insert(result.end(), blocks.results.begin(), blocks.results.end());
  std::string text = blocks.text.take();
  if (!blocks.results.empty() && text.empty()) return;
  if (role == "system") return add_system(text, result);
  Dict made{{"role", role}, {"content", std::move(text)}};
  if (!blocks.thoughts.empty()) made.set("reasoning_content", blocks.thoughts);
  if (!blocks.calls.empty()) made.set("tool_calls", std::move(blocks.calls));
  result.emplace_back(std::move(made));
}

}  // namespace

ChatInput openai_messages(const RequestFields& body, MessageImages images) {
  std::vector<Value> result;
  for (const Json& message : list_of(body)) {
    result.push_back(openai_message(message, fmt::format("messages[{}]", result.size()), images));
  }
  return {std::move(result), std::move(images)};
}

ChatInput anthropic_messages(const RequestFields& body) {
  MessageImages images;
  std::vector<Value> result;
  if (const auto system = body.find("system")) {
    const std::string text = anthropic_text(*system, "system");
    add_system(text, result);
  }
  const std::vector<Json> messages = list_of(body);
  for (size_t i = 0; i < messages.size(); ++i) {
    const std::string place = fmt::format("messages.{}", i);
    if (messages[i].is_object() && is_cleared(messages[i], std::span(messages).subspan(i + 1))) {
      continue;
    }
    add_anthropic_message(messages[i], place, images, result);
  }
  if (result.empty()) refuse_at("messages", "have no text");
  return {std::move(result), std::move(images)};
}

Value without_developer(const Value& messages) {
  std::vector<Value> result;
  for (const Value& message : messages.list().items) {
    const Value& role = *message.dict().find("role");
    result.push_back(message);
    if (!role.is_string() || role.string() != "developer") continue;
    Dict changed = message.dict();
    changed.set("role", "system");
    result.back() = std::move(changed);
  }
  return result;
}

}  // namespace pippin::server
