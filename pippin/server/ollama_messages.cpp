#include "pippin/server/ollama_messages.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "pippin/server/chat_messages.h"
#include "pippin/server/message_fields.h"

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

void write_message(JsonWriter& json, const Json& message, const std::string& place,
                   OpenCalls& calls) {
  const bool is_result = text_in(message, "role") == "tool";
  json.begin_object();
  for (const auto& [key, value] : message.members()) {
    if (key == "images") {
      if (value.is_null() || (value.is_array() && value.size() == 0)) continue;
      refuse_at(place + ".images", "the model takes text only, not images");
    }
    if (key == "thinking") {
      if (!text_in(message, "thinking").empty()) json.member("reasoning_content", value);
    } else if (key == "tool_calls" && value.is_array()) {
      json.key("tool_calls").begin_array();
      for (const Json& call : value.elements()) write_call(json, call, calls);
      json.end_array();
    } else if (key == "tool_name") {
      json.member("name", value);
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

chat::Value ollama_messages(const RequestFields& body) {
  JsonWriter json;
  json.begin_object();
  if (const auto messages = body.find("messages"); messages && messages->is_array()) {
    json.key("messages").begin_array();
    OpenCalls calls;
    for (size_t i = 0; i < messages->size(); ++i) {
      const Json message = messages->at(i);
      if (message.is_object()) {
        write_message(json, message, fmt::format("messages[{}]", i), calls);
      } else {
        json.value(message);
      }
    }
    json.end_array();
  } else if (messages) {
    json.member("messages", *messages);
  }
  json.end_object();
  return openai_messages(Json::parse(json.text(), "request"));
}

}  // namespace pippin::server
