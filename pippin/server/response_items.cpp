#include "pippin/server/response_items.h"

#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "pippin/base/base64.h"
#include "pippin/base/error.h"
#include "pippin/chat/json.h"
#include "pippin/server/message_fields.h"

namespace pippin::server {
namespace {

using chat::Dict;
using chat::Value;

constexpr size_t kMaxItems = 65536;
constexpr std::string_view kSeal = "pippin-thoughts-1:";

// A message of the conversation under construction.
struct Turn {
  std::string role, text = {}, thoughts = {}, call_id = {}, tool = {};
  std::vector<Value> calls = {};
};

void add_paragraph(std::string& text, std::string_view more) {
  if (more.empty()) return;
  if (!text.empty()) text += "\n\n";
  text += more;
}

std::string content_text(const Json& content, const std::string& place, MessageImages& images) {
  if (content.is_string()) return std::string(content.as_string());
  if (!content.is_array()) refuse_at(place, "expected a string or a list of parts");
  chat::ContentText text;
  for (size_t i = 0; i < content.size(); ++i) {
    const std::string part_place = fmt::format("{}[{}]", place, i);
    const Json part = content.at(i);
    const std::string type = type_at(part, part_place);
    if (type == "input_text" || type == "output_text" || type == "text") {
      text.add_text(text_of(member(part, "text", part_place), part_place + ".text"));
    } else if (type == "refusal") {
      text.add_text(text_of(member(part, "refusal", part_place), part_place + ".refusal"));
    } else if (type == "input_image") {
      if (part.has("file_id")) refuse_at(part_place + ".file_id", "files are not stored here");
      const std::string where = part_place + ".image_url";
      text.add_image(images.add_url(text_of(member(part, "image_url", part_place), where),
                                    part_place, "input_image"));
    } else {
      refuse_at(part_place, fmt::format("parts of type {} are not supported (supported: "
                                        "input_text, output_text, refusal, input_image)",
                                        shown(type)));
    }
  }
  return text.take();
}

// Joins the texts of a list of parts, which may be absent.
std::string parts_text(const Json& item, const char* name, const std::string& place) {
  std::string text;
  const auto parts = item.find(name);
  if (!parts) return text;
  const std::string list_place = fmt::format("{}.{}", place, name);
  if (!parts->is_array()) refuse_at(list_place, "expected a list of parts");
  for (size_t i = 0; i < parts->size(); ++i) {
    const std::string part_place = fmt::format("{}[{}]", list_place, i);
    type_at(parts->at(i), part_place);
    add_line(text, text_of(member(parts->at(i), "text", part_place), part_place + ".text"));
  }
  return text;
}

// Other servers encrypt the content in their own ways: only the summary is readable.
std::string thoughts_of(const Json& item, const std::string& place) {
  std::string text = parts_text(item, "content", place);
  std::string summary = parts_text(item, "summary", place);
  if (!text.empty()) return text;
  if (const auto sealed = item.find("encrypted_content")) {
    const auto opened = decode_base64(text_of(*sealed, place + ".encrypted_content"));
    if (opened && opened->starts_with(kSeal)) return opened->substr(kSeal.size());
  }
  return summary;
}

// Models may write arguments that are not JSON, and clients send everything back: the template then
// gets the text unchanged.
Value call_arguments(const Json& item, const std::string& place) {
  const std::string text = text_of(member(item, "arguments", place), place + ".arguments");
  if (text.empty()) return Dict();
  try {
    Value value = chat::parse_json(text, "arguments");
    if (value.is_dict()) return value;
  } catch (const Error&) {
  }
  return Dict{{"arguments", text}};
}

class Conversation {
 public:
  explicit Conversation(MessageImages& images) : images_(images) {}

  void add_message(const std::string& role, const std::string& text) {
    if (role == "assistant") return add_paragraph(assistant().text, text);
    const bool instructs = role != "user";
    const bool goes_on =
        !turns_.empty() && (turns_.back().role == role || (instructs && is_instruction()));
    if (!goes_on) turns_.push_back({role});
    add_paragraph(turns_.back().text, text);
  }

  void add(const InputItem& item) {
    const auto& [json, place] = item;
    if (!json.is_object()) refuse_at(place, "expected an object");
    const std::string type = json.has("type") ? type_at(json, place) : "message";
    if (type == "message") {
      const std::string role = role_of(json, place);
      if (role != "user" && role != "assistant" && role != "system" && role != "developer") {
        refuse_at(place + ".role", shown(role) + " is not user, assistant, system or developer");
      }
      add_message(role, content_text(member(json, "content", place), place + ".content", images_));
    } else if (type == "reasoning") {
      const std::string thoughts = thoughts_of(json, place);
      if (!thoughts.empty()) add_line(assistant().thoughts, thoughts);
    } else if (type == "function_call") {
      add_call(json, place);
    } else if (type == "function_call_output") {
      add_output(json, place);
    } else {
      refuse_at(place + ".type",
                fmt::format("items of type {} are not supported (supported: message, "
                            "reasoning, function_call, function_call_output, item_reference)",
                            shown(type)));
    }
  }

  Value messages() && {
    bool has_turn = false;
    for (const Turn& turn : turns_) has_turn = has_turn || !is_instruction(turn);
    if (!has_turn) turns_.push_back({"user"});
    std::vector<Value> result;
    for (Turn& turn : turns_) {
      Dict made{{"role", turn.role}, {"content", std::move(turn.text)}};
      if (!turn.thoughts.empty()) made.set("reasoning_content", std::move(turn.thoughts));
      if (!turn.calls.empty()) made.set("tool_calls", std::move(turn.calls));
      if (turn.role == "tool") {
        made.set("tool_call_id", std::move(turn.call_id));
        made.set("name", std::move(turn.tool));
      }
      result.emplace_back(std::move(made));
    }
    return result;
  }

 private:
  static bool is_instruction(const Turn& turn) {
    return turn.role == "system" || turn.role == "developer";
  }
  bool is_instruction() const { return is_instruction(turns_.back()); }

  Turn& assistant() {
    if (turns_.empty() || turns_.back().role != "assistant") turns_.push_back({"assistant"});
    return turns_.back();
  }

  void add_call(const Json& item, const std::string& place) {
    const std::string id = text_of(member(item, "call_id", place), place + ".call_id");
    const std::string name = text_of(member(item, "name", place), place + ".name");
    if (id.empty()) refuse_at(place + ".call_id", "is empty");
    if (name.empty()) refuse_at(place + ".name", "is empty");
    Value arguments = call_arguments(item, place);
    called_[id] = name;
    assistant().calls.emplace_back(
        Dict{{"id", id},
             {"type", "function"},
             {"function", Dict{{"name", name}, {"arguments", std::move(arguments)}}}});
  }

  void add_output(const Json& item, const std::string& place) {
    const std::string id = text_of(member(item, "call_id", place), place + ".call_id");
    const auto call = called_.find(id);
    if (call == called_.end()) {
      refuse_at(place + ".call_id", "no function_call has the call_id " + shown(id));
    }
    turns_.push_back(
        {.role = "tool",
         .text = content_text(member(item, "output", place), place + ".output", images_),
         .call_id = id,
         .tool = call->second});
  }

  MessageImages& images_;
  std::vector<Turn> turns_;
  std::map<std::string, std::string> called_;  // ids and tool names
};

}  // namespace

std::vector<InputItem> input_items(const Json& input) {
  std::vector<InputItem> items;
  if (input.is_string()) {
    JsonWriter message;
    message.begin_object().member("type", "message").member("role", "user");
    message.member("content", input.as_string()).end_object();
    items.push_back({Json::parse(message.text(), "input"), "input"});
    return items;
  }
  if (!input.is_array()) refuse_at("input", "expected a string or a list of items");
  if (input.size() > kMaxItems) {
    refuse_at("input", fmt::format("has {} items, at most {} are taken", input.size(), kMaxItems));
  }
  for (size_t i = 0; i < input.size(); ++i) {
    items.push_back({input.at(i), fmt::format("input[{}]", i)});
  }
  return items;
}

std::string sealed_thoughts(const std::string& thoughts) {
  const std::string text = std::string(kSeal) + thoughts;
  return encode_base64(as_byte_span(text));
}

ChatInput response_messages(const std::string& instructions, const std::vector<InputItem>& items) {
  ChatInput result;
  Conversation conversation(result.images);
  if (!instructions.empty()) conversation.add_message("system", instructions);
  for (const InputItem& item : items) conversation.add(item);
  result.messages = std::move(conversation).messages();
  return result;
}

}  // namespace pippin::server
