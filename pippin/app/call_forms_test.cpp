// Calls of tools under constraints, with published tokenizers and similar ones: special tokens in
// marks, SentencePiece's spaces, added tokens.
#include <filesystem>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "pippin/app/answer_form.h"
#include "pippin/base/testing.h"
#include "pippin/chat/json.h"
#include "pippin/model_output/answer_parser.h"
#include "pippin/model_output/read_syntax.h"
#include "pippin/model_output/syntax_testing.h"

namespace pippin::app {
namespace {

struct Model {
  Tokenizer tokenizer;
  ChatTemplate chat;
  std::shared_ptr<const model_output::CallSyntax> syntax;
};

Model open(const std::filesystem::path& folder) {
  auto chat = ChatTemplate::from_folder(folder);
  if (!chat) throw Error(ErrorCode::NotFound, "no template");
  auto syntax = model_output::read_call_syntax(*chat);
  if (!syntax) throw Error(ErrorCode::NotFound, "no syntax");
  return {Tokenizer::open(folder), *chat, std::make_shared<model_output::CallSyntax>(*syntax)};
}

model_output::Answer parse(const Model& model, std::span<const int32_t> ids) {
  model_output::AnswerParserOptions options;
  options.syntax = model.syntax;
  options.tools = model_output::some_tools();
  options.make_id = [] { return "made"; };
  model_output::AnswerParser parser(std::move(options));
  StreamDecoder decoder(model.tokenizer, true,
                        model_output::shown_tokens(*model.syntax, model.tokenizer));
  model_output::Answer answer;
  for (const int32_t id : ids) answer.add(parser.push(id, decoder.push(id)));
  answer.add(parser.finish(decoder.finish(), false));
  return answer;
}

// The template's text for two calls, as the model would write it.
std::string written(const Model& model, size_t count) {
  const auto render = [&](const std::string& last, PromptEnd end) {
    const chat::Value messages =
        chat::parse_json(R"([{"role": "user", "content": "Go"})" + last + "]", "messages");
    chat::Dict context{{"messages", messages}};
    model_output::add_tools(
        model.chat,
        chat::parse_json(model_output::tools_json(*model_output::some_tools()), "tools"), context);
    return model.chat.render(context, end);
  };
  std::string calls;
  for (size_t i = 0; i < count; ++i) {
    calls += std::string(i == 0 ? "" : ", ") + R"({"id": "abcdefgh)" + std::to_string(i) +
             R"(", "type": "function", "function": {"name": "weather", "arguments": )"
             R"({"city": "ab", "days": 2}}})";
  }
  const std::string prompt = render("", PromptEnd::Generation);
  const std::string text =
      render(R"(, {"role": "assistant", "content": "", "tool_calls": [)" + calls + "]}",
             PromptEnd::Conversation);
  EXPECT_TRUE(text.starts_with(prompt)) << text;
  std::string answer(model_output::behind_thoughts(std::string_view(text).substr(prompt.size())));
  answer.erase(0, answer.find_first_not_of('\n'));
  // Some templates escape quotes for HTML by mistake.
  for (size_t at = 0; (at = answer.find("&#34;", at)) != std::string::npos; ++at) {
    answer.replace(at, 5, "\"");
  }
  return answer;
}

class CallForms : public testing::TestWithParam<const char*> {};

TEST_P(CallForms, TakeWhatTheTemplateWrites) {
  PIPPIN_SHARED_OR_SKIP(folder, "tokenizers/" + std::string(GetParam()));
  const Model model = open(folder);
  FormCompiler compiler(model.tokenizer);
  AnswerForm form{.kind = AnswerForm::Kind::Text};
  form.calls = {model.syntax, model_output::some_tools(), true, true};
  for (const size_t count : {size_t{1}, size_t{2}}) {
    if (count == 2 && model.syntax->has_one_call) continue;
    constrain::ConstrainedText text(compiler.compile(form));
    std::vector<int32_t> taken;
    for (const int32_t id : model.tokenizer.encode(written(model, count), false)) {
      if (text.can_end() && model.tokenizer.is_special(id) && !text.mask()->allows(id)) break;
      ASSERT_TRUE(text.accept(id))
          << model.tokenizer.decode(taken, false) << "|" << model.tokenizer.token_bytes(id);
      taken.push_back(id);
    }
    EXPECT_TRUE(text.can_end());
    const model_output::Answer answer = parse(model, taken);
    ASSERT_EQ(answer.calls.size(), count) << answer.content;
    EXPECT_EQ(answer.content, "");
    for (const auto& call : answer.calls) {
      EXPECT_EQ(call.arguments, R"({"city": "ab", "days": 2})");
    }
  }
}

TEST_P(CallForms, WhatTheyAllowIsRead) {
  PIPPIN_SHARED_OR_SKIP(folder, "tokenizers/" + std::string(GetParam()));
  const Model model = open(folder);
  FormCompiler compiler(model.tokenizer);
  AnswerForm form{.kind = AnswerForm::Kind::Text};
  form.calls = {model.syntax, model_output::some_tools(), true, true};
  std::mt19937 random(1);
  int read = 0;
  for (int i = 0; i < 10; ++i) {
    constrain::ConstrainedText text(compiler.compile(form));
    std::vector<int32_t> ids;
    while (ids.size() < 400 && !(text.can_end() && random() % 2 == 0)) {
      const auto mask = text.mask();
      std::vector<int32_t> allowed;
      for (size_t id = 0; id < mask->vocab_size(); ++id) {
        if (mask->allows(static_cast<int32_t>(id))) allowed.push_back(static_cast<int32_t>(id));
      }
      if (allowed.empty()) break;
      ids.push_back(allowed[random() % allowed.size()]);
      ASSERT_TRUE(text.accept(ids.back()));
    }
    if (!text.can_end()) continue;
    ++read;
    const model_output::Answer answer = parse(model, ids);
    EXPECT_GE(answer.calls.size(), 1U) << model.tokenizer.decode(ids, false);
    for (const auto& call : answer.calls) EXPECT_TRUE(call.is_complete) << call.arguments;
  }
  EXPECT_GE(read, 5);
}

INSTANTIATE_TEST_SUITE_P(Tokenizers, CallForms,
                         testing::Values("llama3.2", "mistral-v0.3", "qwen2.5", "qwen3",
                                         "single-digits", "metaspace-first"),
                         [](const auto& one) {
                           std::string name = one.param;
                           std::erase_if(name, [](char c) { return c == '.' || c == '-'; });
                           return name;
                         });

}  // namespace
}  // namespace pippin::app
