#include "pippin/app/conversation.h"

#include <charconv>
#include <string>

#include "pippin/base/error.h"
#include "pippin/chat/json.h"

namespace pippin::app {
namespace {

using chat::Value;

// Consumes `digits` digits.
bool take_number(std::string_view& text, size_t digits, int& number) {
  if (text.size() < digits) return false;
  const char* end = text.data() + digits;
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || stop != end || number < 0) return false;
  text.remove_prefix(digits);
  return true;
}

bool take(std::string_view& text, std::string_view one_of) {
  if (text.empty() || one_of.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

// The time from the member "now".
std::tm time_of(const Value& value, std::string_view name) {
  if (value.is_string()) {
    if (const auto time = parse_time(value.string())) return *time;
  }
  fail(ErrorCode::InvalidFile, "{}: now is not a time like \"2025-01-02 03:04:05\"", name);
}

bool flag_of(const Value& value, const char* key, std::string_view name) {
  if (!value.is(chat::Type::Boolean)) {
    fail(ErrorCode::InvalidFile, "{}: {} is neither true nor false", name, key);
  }
  return value.boolean();
}

}  // namespace

std::optional<std::tm> parse_time(std::string_view text) {
  std::tm time{};
  if (!take_number(text, 4, time.tm_year) || !take(text, "-") ||
      !take_number(text, 2, time.tm_mon) || !take(text, "-") ||
      !take_number(text, 2, time.tm_mday)) {
    return std::nullopt;
  }
  if (take(text, " T")) {
    if (!take_number(text, 2, time.tm_hour) || !take(text, ":") ||
        !take_number(text, 2, time.tm_min)) {
      return std::nullopt;
    }
    if (take(text, ":")) {
      if (!take_number(text, 2, time.tm_sec)) return std::nullopt;
      if (take(text, ".")) {
        if (!take(text, "0123456789")) return std::nullopt;
        while (take(text, "0123456789")) continue;
      }
    }
    take(text, "Z");
  }
  time.tm_year -= 1900;
  time.tm_mon -= 1;
  std::tm same = time;
  // Sets the day of the week and of the year, and normalizes a date that does not exist.
  if (!text.empty() || ::timegm(&same) == -1 || same.tm_mday != time.tm_mday ||
      same.tm_mon != time.tm_mon || same.tm_hour != time.tm_hour || same.tm_min != time.tm_min ||
      same.tm_sec != time.tm_sec) {
    return std::nullopt;
  }
  return same;
}

Conversation parse_conversation(std::string_view json, std::string_view name,
                                PromptEnd end_by_default) {
  const Value parsed = chat::parse_json(json, name);
  Conversation result;
  result.end = end_by_default;
  if (parsed.is_list()) {
    result.context.set("messages", parsed);
    return result;
  }
  if (!parsed.is_dict()) {
    fail(ErrorCode::InvalidFile, "{}: neither an object with messages nor a list of them", name);
  }
  for (const auto& [key, value] : parsed.dict().entries()) {
    const std::string& member = key.string();
    if (member == "now") {
      result.options.now = time_of(value, name);
    } else if (member == "add_generation_prompt") {
      const bool wanted = flag_of(value, "add_generation_prompt", name);
      if (result.end != PromptEnd::Continuation) {
        result.end = wanted ? PromptEnd::Generation : PromptEnd::Conversation;
      }
    } else if (member == "continue_final_message") {
      if (flag_of(value, "continue_final_message", name)) result.end = PromptEnd::Continuation;
    } else {
      result.context.set(key, value);
    }
  }
  return result;
}

}  // namespace pippin::app
