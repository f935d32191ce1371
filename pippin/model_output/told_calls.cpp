#include "pippin/model_output/told_calls.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "pippin/chat/json.h"

namespace pippin::model_output {
namespace {

using chat::Dict;
using chat::Value;
using Kind = CallPiece::Kind;

const Dict* function_of(const Value& call) {
  const Value* function = call.is_dict() ? call.dict().find("function") : nullptr;
  return function != nullptr && function->is_dict() ? &function->dict() : nullptr;
}

std::string text_in(const Dict& dict, const char* key) {
  const Value* value = dict.find(key);
  return value != nullptr && value->is_string() ? value->string() : "";
}

std::string arguments_text(const CallSyntax& syntax, const Value& arguments) {
  if (syntax.arguments != CallSyntax::Arguments::Python) return chat::to_json(arguments);
  std::string text = "(";
  for (const auto& [key, value] : arguments.dict().entries()) {
    text += (text.size() > 1 ? ", " : "") + chat::to_text(key) + "=" + chat::to_repr(value);
  }
  return text + ")";
}

// Writes calls as the model did.
std::string written(const CallSyntax& syntax, const std::vector<Value>& calls) {
  std::string text = syntax.section_begin;
  size_t number = 0;
  for (const Value& call : calls) {
    const Dict* function = function_of(call);
    if (function == nullptr) continue;
    if (number > 0) text += syntax.separator;
    text += syntax.call_begin;
    for (const CallPiece& piece : syntax.pieces) {
      if (piece.kind == Kind::Text) text += piece.text;
      if (piece.kind == Kind::Name) text += text_in(*function, "name");
      if (piece.kind == Kind::Id) text += text_in(call.dict(), "id");
      if (piece.kind == Kind::Number) text += std::to_string(number);
      const Value* arguments = function->find("arguments");
      if (piece.kind == Kind::Arguments && arguments != nullptr && arguments->is_dict()) {
        text += arguments_text(syntax, *arguments);
      }
    }
    text += syntax.call_end;
    ++number;
  }
  return text + syntax.section_end;
}

Value with_text_arguments(const Value& call) {
  const Dict* function = function_of(call);
  const Value* arguments = function == nullptr ? nullptr : function->find("arguments");
  if (arguments == nullptr || !arguments->is_dict()) return call;
  Dict named = *function, result = call.dict();
  named.set("arguments", chat::to_json(*arguments));
  result.set("function", std::move(named));
  return result;
}

}  // namespace

Value told_calls(const CallSyntax& syntax, const Value& messages) {
  std::vector<Value> result;
  std::map<std::string, std::string> names;  // tool names, by call id
  for (const Value& message : messages.list().items) {
    result.push_back(message);
    if (!message.is_dict()) continue;
    const Dict& dict = message.dict();
    Dict changed = dict;
    if (const std::string id = text_in(dict, "tool_call_id");
        text_in(dict, "role") == "tool" && dict.find("name") == nullptr && names.contains(id)) {
      changed.set("name", names[id]);
      result.back() = changed;
    }
    const Value* calls = dict.find("tool_calls");
    if (calls == nullptr || !calls->is_list() || calls->list().items.empty()) continue;
    std::vector<Value> as_text;
    for (const Value& call : calls->list().items) {
      if (const Dict* function = function_of(call)) {
        names[text_in(call.dict(), "id")] = text_in(*function, "name");
      }
      as_text.push_back(with_text_arguments(call));
    }
    if (!syntax.is_written && syntax.shape != CallSyntax::Shape::Channels) {
      changed.set("content", text_in(dict, "content") + written(syntax, calls->list().items));
      result.back() = changed;
    } else if (syntax.arguments_are_text) {
      changed.set("tool_calls", std::move(as_text));
      result.back() = changed;
    }
  }
  return result;
}

}  // namespace pippin::model_output
