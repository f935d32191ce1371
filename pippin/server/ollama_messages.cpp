#include "pippin/server/ollama_messages.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "pippin/server/chat_messages.h"
#include "pippin/server/message_fields.h"
#include "pippin/server/request_json.h"

namespace pippin::server {
namespace {

// Unanswered calls of the previous turn. Results answer them by tool name, else in order.
class OpenCalls {
 public:
  // Makes an id; some templates accept only nine letters and digits.
  std::string add(const std::string& name) {
    std::string id = fmt::format("call{:05}", ++count_);
    add(name, id);
    return id;
  }
  void add(const std::string& name, const std::string& id) { open_.push_back({name, id}); }
  // Returns the id of the answered call; empty if none exists.
  std::string answer(const std::string& name) {
    auto found = std::find_if(open_.begin(), open_.end(),
                              [&](const Call& call) { return call.name == name; });
    if (found == open_.end()) found = open_.begin();
    if (found == open_.end()) return {};
    std::string id = found->id;
    open_.erase(found);
    return id;
  }

  void close(const std::string& id) {
    std::erase_if(open_, [&](const Call& call) { return call.id == id; });
  }

 private:
  struct Call {
    std::string name, id;
  };
  std::vector<Call> open_;
  size_t count_ = 0;
};

// Passes other forms on: OpenAI's reader refuses them.
void write_call(JsonWriter& json, const Json& call, OpenCalls& calls) {
  const auto function = call.is_object() ? call.find("function") : std::nullopt;
  if (!function || !function->is_object()) {
    json.value(call);
    return;
  }
  const std::string name = text_in(*function, "name"), given = text_in(call, "id");
  if (!given.empty()) calls.add(name, given);
  json.begin_object().member("id", given.empty() ? calls.add(name) : given);
  json.member("type", "function").key("function").begin_object();
  for (const auto& [key, value] : function->members()) {
    if (key != "index") json.member(key, value);
  }
  json.end_object().end_object();
}

// Returns the marks of a message's images, which come before its text.
std::string image_marks(const std::optional<Json>& list, const std::string& place,
                        MessageImages& images) {
  std::string marks;
  if (!list || list->is_null()) return marks;
  if (!list->is_array()) refuse_at(place, "expected a list of images in base64");
  for (size_t i = 0; i < list->size(); ++i) {
    const std::string image_place = fmt::format("{}[{}]", place, i);
    marks += images.add_base64(text_of(list->at(i), image_place), image_place, "images");
  }
  return marks;
}

void write_message(JsonWriter& json, const Json& message, const std::string& marks,
                   OpenCalls& calls) {
  const bool is_result = text_in(message, "role") == "tool";
  json.begin_object();
  for (const auto& [key, value] : message.members()) {
    if (key == "images") continue;  // part of the content
    if (key == "thinking") {
      if (!text_in(message, "thinking").empty()) json.member("reasoning_content", value);
    } else if (key == "tool_calls" && value.is_array()) {
      json.key("tool_calls").begin_array();
      for (const Json& call : value.elements()) write_call(json, call, calls);
      json.end_array();
    } else if (key == "tool_name") {
      json.member("name", value);
    } else if (key == "content" && value.is_string()) {
      json.member("content", marks + std::string(value.as_string()));
    } else {
      json.member(key, value);
    }
  }
  if (is_result) {
    const std::string given = text_in(message, "tool_call_id");
    calls.close(given);
    const std::string id = given.empty() ? calls.answer(text_in(message, "tool_name")) : "";
    if (!id.empty()) json.member("tool_call_id", id);
  }
  json.end_object();
}

}  // namespace

ChatInput ollama_messages(const RequestFields& body) {
  MessageImages images;
  JsonWriter json;
  json.begin_object();
  if (const auto messages = body.find("messages"); messages && messages->is_array()) {
    json.key("messages").begin_array();
    OpenCalls calls;
    for (size_t i = 0; i < messages->size(); ++i) {
      const Json message = messages->at(i);
      if (message.is_object()) {
        write_message(
            json, message,
            image_marks(message.find("images"), fmt::format("messages[{}].images", i), images),
            calls);
      } else {
        json.value(message);
      }
    }
    json.end_array();
  } else if (messages) {
    json.member("messages", *messages);
  }
  json.end_object();
  return openai_messages(Json::parse(json.text(), "request"), std::move(images));
}

ChatInput ollama_prompt(const RequestFields& body, const std::string& prompt) {
  ChatInput result;
  std::vector<chat::Value> messages;
  const auto add = [&](const char* role, std::string content) {
    messages.emplace_back(chat::Dict{{"role", role}, {"content", std::move(content)}});
  };
  std::string system = find_string(body, "system").value_or("");
  if (!system.empty()) add("system", std::move(system));
  add("user", image_marks(body.find("images"), "images", result.images) + prompt);
  result.messages = std::move(messages);
  return result;
}

}  // namespace pippin::server
