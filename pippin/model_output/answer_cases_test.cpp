// Parses answers of real models: the cases of the shared data.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "pippin/base/files/file.h"
#include "pippin/base/testing.h"
#include "pippin/model_output/answer_parser.h"
#include "pippin/model_output/read_syntax.h"

namespace pippin::model_output {
namespace {

struct Model {
  std::shared_ptr<const ReasoningMarks> reasoning;
  std::shared_ptr<const CallSyntax> syntax;
};

Model read_model(const std::filesystem::path& file) {
  const chat::Dict tokens{{"bos_token", "<s>"}, {"eos_token", "</s>"}};
  const auto chat = ChatTemplate::from_source(read_file(file), chat::Value(tokens));
  Model model;
  if (auto marks = find_reasoning(chat, nullptr)) {
    model.reasoning = std::make_shared<ReasoningMarks>(std::move(*marks));
  }
  if (auto syntax = read_call_syntax(chat)) {
    model.syntax = std::make_shared<CallSyntax>(std::move(*syntax));
  }
  return model;
}

AnswerParser parser(const Model& model, const Json& one) {
  AnswerParserOptions options;
  options.reasoning = model.reasoning;
  options.splits_thoughts = one.get_string("reasoning_format") != "none";
  options.prompt = one.get_string("generation_prompt");
  options.is_thinking =
      model.reasoning != nullptr && begins_thinking(*model.reasoning, options.prompt);
  options.syntax = model.syntax;
  options.tools = std::make_shared<std::vector<Tool>>(read_tools(one.at("tools")));
  options.make_id = [] { return "made"; };
  return AnswerParser(std::move(options));
}

std::string trimmed(std::string_view text) {
  return std::string(mark_of(text));
}

// Returns the first difference, or an empty string.
std::string difference(const Answer& answer, const Json& expected, bool is_partial) {
  const auto differ = [](std::string what, std::string_view is, std::string_view wanted) {
    return what + " is `" + std::string(is) + "`, not `" + std::string(wanted) + "`";
  };
  const std::string content = expected.get_string_or("content", "");
  if (trimmed(answer.content) != trimmed(content)) {
    return differ("content", answer.content, content);
  }
  const std::string thoughts = expected.get_string_or("reasoning_content", "");
  if (trimmed(answer.thoughts) != trimmed(thoughts)) {
    return differ("reasoning", answer.thoughts, thoughts);
  }
  const std::vector<Json> calls = expected.at("tool_calls").elements();
  if (calls.size() != answer.calls.size()) {
    return differ("calls", std::to_string(answer.calls.size()), std::to_string(calls.size()));
  }
  for (size_t i = 0; i < calls.size(); ++i) {
    const Answer::Call& call = answer.calls[i];
    const std::string id = calls[i].get_string("id");
    if (call.name != calls[i].get_string("name")) {
      return differ("name", call.name, calls[i].get_string("name"));
    }
    if (!id.empty() && id != call.id) return differ("id", call.id, id);
    if (is_partial) continue;
    if (!call.is_complete) return "a call is not complete";
    const auto same = [](const std::string& json) { return Json::parse(json, "arguments").dump(); };
    const std::string wanted = same(calls[i].get_string("arguments"));
    if (same(call.arguments) != wanted) return differ("arguments", call.arguments, wanted);
  }
  return "";
}

// Parses a text fed in pieces of `size` bytes, cut between characters.
Answer parse(const Model& model, const Json& one, std::string_view text, size_t size, bool is_cut) {
  AnswerParser answers = parser(model, one);
  Answer answer;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(begin + size, text.size());
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
    answer.add(answers.push(-1, text.substr(begin, end - begin)));
    begin = end;
  }
  answer.add(answers.finish("", is_cut));
  return answer;
}

std::string told(const Answer& answer) {
  std::string text = answer.thoughts + "|" + answer.content;
  for (const auto& call : answer.calls) text += "|" + call.name + call.id + call.arguments;
  return text;
}

TEST(AnswerCases, OfTheSharedData) {
  PIPPIN_SHARED_OR_SKIP(folder, "serving/tool-calls");
  std::map<std::string, Model> models;
  std::ifstream file(folder / "cases.jsonl");
  int number = 0, right = 0, wrong = 0, doubtful = 0, wrong_doubtful = 0;
  for (std::string line; std::getline(file, line); ++number) {
    const Json one = Json::parse(line, "case");
    const std::string name = one.get_string("template");
    if (!models.contains(name)) models[name] = read_model(folder / "templates" / name);
    const Model& model = models[name];
    const bool is_partial = one.get_bool("partial");
    const std::string text = one.get_string("input_text");
    const Answer answer = parse(model, one, text, text.size() + 1, is_partial);
    const std::string fault = difference(answer, one.at("expected"), is_partial);
    const bool is_doubtful = one.has("doubtful");
    ++(fault.empty() ? right : is_doubtful ? wrong_doubtful : wrong);
    doubtful += is_doubtful ? 1 : 0;
    EXPECT_TRUE(fault.empty() || is_doubtful) << number << " " << name << ": " << fault << "\n"
                                              << text;
    if (!fault.empty() && std::getenv("PIPPIN_TELL") != nullptr) {
      printf("%d %s %s: %s\n", number, is_doubtful ? "doubtful" : "", name.c_str(), fault.c_str());
    }
    // The same in pieces, and for every prefix of the text.
    EXPECT_EQ(told(parse(model, one, text, 1, is_partial)), told(answer)) << number << " " << name;
    EXPECT_EQ(told(parse(model, one, text, 3, is_partial)), told(answer)) << number << " " << name;
    for (size_t size = 0; size < text.size(); ++size) {
      if ((static_cast<unsigned char>(text[size]) & 0xC0) == 0x80) continue;
      const std::string_view begin = std::string_view(text).substr(0, size);
      EXPECT_EQ(told(parse(model, one, begin, 1, true)), told(parse(model, one, begin, size, true)))
          << number << " " << name << " of " << begin;
    }
  }
  printf("%d cases right, %d wrong, %d of %d doubtful ones differ\n", right, wrong, wrong_doubtful,
         doubtful);
  EXPECT_GE(right, 160);
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace pippin::model_output
