#include "pippin/app/read_answer.h"

#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "pippin/answer/answer_parser.h"
#include "pippin/answer/read_syntax.h"
#include "pippin/base/error.h"
#include "pippin/chat/json.h"
#include "pippin/io/json.h"

namespace pippin::app {

answer::Answer read_answer(const ChatTemplate& chat, const Conversation& conversation,
                           std::string_view text) {
  answer::AnswerParserOptions options;
  if (auto marks = answer::find_reasoning(chat, nullptr)) {
    options.reasoning = std::make_shared<answer::ReasoningMarks>(std::move(*marks));
  }
  if (auto syntax = answer::read_call_syntax(chat)) {
    options.syntax = std::make_shared<answer::CallSyntax>(std::move(*syntax));
  }
  if (const chat::Value* tools = conversation.context.find("tools")) {
    options.tools = std::make_shared<std::vector<answer::Tool>>(
        answer::read_tools(Json::parse(chat::to_json(*tools), "tools")));
    if (options.syntax == nullptr) {
      fail(ErrorCode::Unsupported, "the chat template does not tell how its model calls tools");
    }
  }
  options.prompt = chat.render(conversation.context, PromptEnd::Generation, conversation.options);
  options.is_thinking =
      options.reasoning != nullptr && answer::begins_thinking(*options.reasoning, options.prompt);
  int number = 0;
  options.make_id = [&number] { return fmt::format("call_{}", number++); };
  answer::AnswerParser parser(std::move(options));
  answer::Answer parts;
  parts.add(parser.push(-1, text));
  parts.add(parser.finish("", /*was_cut=*/false));
  return parts;
}

std::string to_json(const answer::Answer& answer) {
  JsonWriter json;
  json.begin_object().member("content", answer.content);
  json.member("reasoning_content", answer.thoughts).key("tool_calls").begin_array();
  for (const auto& call : answer.calls) {
    json.begin_object().member("id", call.id).member("name", call.name);
    json.member("arguments", call.arguments).end_object();
  }
  return json.end_array().end_object().text();
}

}  // namespace pippin::app
