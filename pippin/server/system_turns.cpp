#include "pippin/server/system_turns.h"

#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/server/message_fields.h"

namespace pippin::server {
namespace {

using chat::Dict;
using chat::Value;

std::string_view member(const Value& message, const char* name) {
  if (!message.is_dict()) return {};
  const Value* const value = message.dict().find(name);
  return value != nullptr && value->is_string() ? std::string_view(value->string())
                                                : std::string_view();
}

bool is_instruction(const Value& message) {
  const std::string_view role = member(message, "role");
  return role == "system" || role == "developer";
}

Value with_content(const Value& message, std::string content) {
  Dict changed = message.dict();
  changed.set("content", std::move(content));
  return changed;
}

std::string mark_of(size_t index) {
  return fmt::format("message-{}-of-these", index);
}

std::set<size_t> instructions_in(const std::vector<Value>& messages) {
  std::set<size_t> found;
  for (size_t i = 0; i < messages.size(); ++i) {
    if (is_instruction(messages[i])) found.insert(i);
  }
  return found;
}

bool renders(const std::vector<Value>& messages, const RenderMessages& render) {
  try {
    render(messages);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// Returns the instructions that the template does not write between their neighbours. Short marks
// replace the texts, because one text may contain another.
std::set<size_t> misplaced(const std::vector<Value>& messages, const RenderMessages& render) {
  constexpr size_t kAbsent = std::string::npos;
  std::vector<Value> marked;
  for (size_t i = 0; i < messages.size(); ++i) {
    const bool has_text = !member(messages[i], "content").empty();
    marked.push_back(has_text ? with_content(messages[i], mark_of(i)) : messages[i]);
  }
  std::string text;
  try {
    text = render(marked);
  } catch (const Error&) {
    // The error does not name the refused message. It may also be about a mark that replaces a
    // text.
    return renders(messages, render) ? std::set<size_t>() : instructions_in(messages);
  }
  std::set<size_t> found, between;  // `between`: since the last turn
  std::vector<size_t> places(messages.size(), kAbsent);
  size_t last_turn = kAbsent;
  for (size_t i = 0; i < messages.size(); ++i) {
    const size_t place = text.find(mark_of(i));
    places[i] = place;
    if (is_instruction(messages[i])) {
      if (place == kAbsent || (last_turn != kAbsent && place < last_turn)) found.insert(i);
      // Some templates write instructions that come before the first turn before the last one.
      if (last_turn != kAbsent) between.insert(i);
    } else if (place != kAbsent) {
      for (const size_t one : between) {
        if (places[one] > place) found.insert(one);
      }
      between.clear();
      last_turn = place;
    }
  }
  return found;
}

// Returns the messages with these ones as text of user's turns.
Value folded(const std::vector<Value>& messages, const std::set<size_t>& which) {
  std::vector<Value> result;
  bool was_folded = false;  // whether the last one of `result` was
  for (size_t i = 0; i < messages.size(); ++i) {
    const bool folds = which.contains(i);
    const bool is_user = folds || member(messages[i], "role") == "user";
    const bool joins = is_user && (folds || was_folded) && !result.empty() &&
                       member(result.back(), "role") == "user";
    const std::string_view text = member(messages[i], "content");
    if (joins) {
      std::string whole(member(result.back(), "content"));
      if (!text.empty()) add_line(whole, text);
      result.back() = with_content(result.back(), std::move(whole));
    } else if (folds) {
      result.emplace_back(Dict{{"role", "user"}, {"content", std::string(text)}});
    } else {
      result.push_back(messages[i]);
    }
    was_folded = folds;
  }
  return result;
}

}  // namespace

Value place_systems(const Value& messages, const RenderMessages& render) {
  const std::vector<Value>& list = messages.list().items;
  const std::set<size_t> instructions = instructions_in(list);
  if (instructions.empty()) return messages;
  std::set<size_t> which = misplaced(list, render);
  if (which.empty()) return messages;
  // A template that refuses instructions may still accept the first one.
  if (which == instructions && which.size() > 1 && which.contains(0)) {
    std::set<size_t> later = which;
    later.erase(0);
    Value with_first = folded(list, later);
    if (misplaced(with_first.list().items, render).empty()) return with_first;
  }
  return folded(list, which);
}

}  // namespace pippin::server
