#include "pippin/app/read_answer.h"

#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/chat/json.h"
#include "pippin/io/json.h"
#include "pippin/model_output/answer_parser.h"
#include "pippin/model_output/read_syntax.h"

namespace pippin::app {

model_output::Answer read_answer(const ChatTemplate& chat, const Conversation& conversation,
                                 std::string_view text) {
  model_output::AnswerParserOptions options;
  if (auto marks = model_output::find_reasoning(chat, nullptr)) {
    options.reasoning = std::make_shared<model_output::ReasoningMarks>(std::move(*marks));
  }
  if (auto syntax = model_output::read_call_syntax(chat)) {
    options.syntax = std::make_shared<model_output::CallSyntax>(std::move(*syntax));
  }
  if (const chat::Value* tools = conversation.context.find("tools")) {
    options.tools = std::make_shared<std::vector<model_output::Tool>>(
        model_output::read_tools(Json::parse(chat::to_json(*tools), "tools")));
    if (options.syntax == nullptr) {
      fail(ErrorCode::Unsupported, "the chat template does not tell how its model calls tools");
    }
  }
  options.prompt = chat.render(conversation.context, PromptEnd::Generation, conversation.options);
  options.is_thinking = options.reasoning != nullptr &&
                        model_output::begins_thinking(*options.reasoning, options.prompt);
  int number = 0;
  options.make_id = [&number] { return fmt::format("call_{}", number++); };
  model_output::AnswerParser parser(std::move(options));
  model_output::Answer parts;
  parts.add(parser.push(-1, text));
  parts.add(parser.finish("", /*was_cut=*/false));
  return parts;
}

std::string to_json(const model_output::Answer& answer) {
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
