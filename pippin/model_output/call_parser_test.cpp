#include "pippin/model_output/call_parser.h"

#include <random>

#include <gtest/gtest.h>

#include "pippin/model_output/syntax_testing.h"

namespace pippin::model_output {
namespace {

struct Parsed {
  Answer answer;
  std::string streamed;  // reported content and calls, without retractions
};

Parsed parse_in(std::shared_ptr<const CallSyntax> syntax, std::string_view text, size_t size,
                bool was_cut = false, bool is_parallel = true) {
  CallParser parser({std::move(syntax), some_tools(), [] { return "made"; }, is_parallel});
  Parsed parsed;
  AnswerParts parts;
  for (size_t begin = 0; begin < text.size(); begin += size) {
    parser.push(text.substr(begin, size), parts);
  }
  parser.finish(was_cut, parts);
  parsed.answer.add(parts);
  for (const AnswerPart& part : parts) {
    if (part.kind == AnswerPart::Kind::Content) parsed.streamed += part.text;
  }
  return parsed;
}

std::string told(const Answer& answer) {
  std::string text = answer.content;
  for (const auto& call : answer.calls) {
    text += " " + call.id + ":" + call.name + call.arguments + (call.is_complete ? "" : "...");
  }
  return text;
}

// Expects the same result for every piece size.
std::string parse(std::string_view calls, std::string_view text, bool was_cut = false,
                  bool is_parallel = true) {
  const auto syntax = syntax_of(calls);
  const std::string whole =
      told(parse_in(syntax, text, text.size() + 1, was_cut, is_parallel).answer);
  for (const size_t size : {1, 2, 3, 7}) {
    EXPECT_EQ(told(parse_in(syntax, text, size, was_cut, is_parallel).answer), whole) << text;
  }
  return whole;
}

TEST(CallParser, ContentAndCalls) {
  EXPECT_EQ(parse(kHermes, "Just <text> {\"name\": 1}\n "), "Just <text> {\"name\": 1}\n ");
  EXPECT_EQ(parse(kHermes,
                  "I look.\n<tool_call>\n{\"name\": \"weather\", \"arguments\": "
                  "{\"city\": \"x\"}}\n</tool_call>"),
            "I look. made:weather{\"city\": \"x\"}");
  EXPECT_EQ(parse(kHermes,
                  "<tool_call>{\"name\":\"weather\",\"arguments\":{}}</tool_call>\n"
                  "<tool_call>{\"name\":\"weather_map\"}</tool_call> bye"),
            " bye made:weather{} made:weather_map{}");
  EXPECT_EQ(parse(kHermes,
                  "<tool_call>{\"name\":\"weather\",\"arguments\":{}}</tool_call>"
                  "<tool_call>{\"name\":\"weather_map\"}</tool_call>",
                  false, /*is_parallel=*/false),
            " made:weather{}");
}

TEST(CallParser, WhatModelsGetWrong) {
  // Arguments first, as a string, under another key; missing brackets and marks.
  const std::string right = " made:weather{\"days\": 1}";
  for (const char* text :
       {"<tool_call>{\"arguments\": {\"days\": 1}, \"name\": \"weather\"}</tool_call>",
        "<tool_call>{\"name\": \"weather\", \"arguments\": \"{\\\"days\\\": 1}\"}</tool_call>",
        "<tool_call>{\"name\": \"weather\", \"parameters\": {\"days\": 1}}",
        "<tool_call>{\"name\": \"weather\", \"arguments\": {\"days\": 1}</tool_call>",
        "<tool_call>{\"name\": \"weather\", \"arguments\": {\"days\": 1}, \"x\": [1]}</tool_call>",
        "<tool_call>{\"type\": \"function\", \"function\": {\"name\": \"weather\", "
        "\"arguments\": {\"days\": 1}}}\n\n</tool_call>"}) {
    EXPECT_EQ(parse(kHermes, text), right) << text;
  }
  EXPECT_EQ(parse(kPython, "[weather(days=1)]"), right);
  EXPECT_EQ(parse(kPython, "[weather(days=1)] so"), " so" + right);
  EXPECT_EQ(parse(kTagged, "<function=weather>\n<parameter=days>\n1\n</parameter>\n</function>"),
            right);
}

TEST(CallParser, WhatIsNoCallStaysContent) {
  for (const char* text : {
           "<tool_call>\n{\"name\": \"unknown\", \"arguments\": {}}\n</tool_call>",
           "<tool_call> is what I write",
           "<tool_call>\n{\"name\": \"\\ud800\", \"arguments\": {}}\n</tool_call>",
           "<tool_call>\n{\"name\": \"weather\", \"arguments\": \"\\ud800\"}\n</tool_call>",
           "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"a\" 1}}\n</tool_call>",
           "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"a\": 1",
           "<tool_call>\n{\"name\": \"weather\"",
           "<tool_call>\n{\"name\": \"weather\", \"arguments\": [1]}\n</tool_call>",
       }) {
    EXPECT_EQ(parse(kHermes, text), text);
  }
  const std::string tagged = "<tool_call>\n<function=weather>\n<parameter=days>\n1";
  EXPECT_EQ(parse(kTagged, tagged), tagged);
  EXPECT_EQ(parse(kBare, "The object {\"name\": \"weather\"} is one"),
            "The object {\"name\": \"weather\"} is one");
  EXPECT_EQ(parse(kBare, "{\"city\": \"weather\"}"), "{\"city\": \"weather\"}");
}

TEST(CallParser, ACallThatBreaksOffIsToldAsFarAsItWent) {
  const std::string text =
      "<tool_call>{\"name\": \"weather\", \"arguments\": {\"city\": \"x\", oops}}</tool_call>";
  EXPECT_EQ(parse_in(syntax_of(kHermes), text, 1).streamed, "oops}}</tool_call>");
  EXPECT_EQ(parse(kHermes, text), text);
}

TEST(CallParser, CallsThatAreCut) {
  EXPECT_EQ(
      parse(kHermes, "<tool_call>{\"name\": \"weather\", \"arguments\": {\"city\": \"Pa", true),
      " made:weather{\"city\": \"Pa...");
  EXPECT_EQ(parse(kHermes, "<tool_call>{\"name\": \"weather\", ", true), " made:weather...");
  EXPECT_EQ(parse(kTagged, "<tool_call><function=weather><parameter=city>\nPa", true),
            " made:weather{\"city\": \"Pa...");
  EXPECT_EQ(parse(kHermes, "<tool_call>{\"na", true), "<tool_call>{\"na");
}

TEST(CallParser, MarkedValues) {
  const auto call = [](const std::string& city, const std::string& days) {
    return parse(kTagged, "<tool_call>\n<function=weather>\n<parameter=city>\n" + city +
                              "\n</parameter>\n<parameter=days>\n" + days +
                              "\n</parameter>\n</function>\n</tool_call>");
  };
  EXPECT_EQ(call("Paris", "3"), R"( made:weather{"city": "Paris", "days": 3})");
  EXPECT_EQ(call("12", "[1]"), R"( made:weather{"city": "12", "days": [1]})");
  EXPECT_EQ(call("", "many"), R"( made:weather{"city": "", "days": "many"})");
  EXPECT_EQ(call("a\n</parameter> b", "1"),
            R"( made:weather{"city": "a\n</parameter> b", "days": 1})");
  EXPECT_EQ(call("\"q\"\\", "1"), R"( made:weather{"city": "\"q\"\\", "days": 1})");
}

TEST(CallParser, OtherShapes) {
  EXPECT_EQ(parse(kList,
                  "[CALLS][{\"name\": \"weather\", \"arguments\": {\"days\": 1}, \"id\": "
                  "\"abcdefghi\"}, {\"name\": \"weather_map\", \"arguments\": {}, \"id\": "
                  "\"123456789\"}]"),
            " abcdefghi:weather{\"days\": 1} 123456789:weather_map{}");
  EXPECT_EQ(parse(kNamed, "[CALL]weather[ID]abcdefghi[ARGS]{\"days\": 1}"),
            " abcdefghi:weather{\"days\": 1}");
  EXPECT_EQ(parse(kPython, "<calls>[weather(city='x', days=2), weather_map()]</calls>"),
            " made:weather{\"city\": \"x\", \"days\": 2} made:weather_map{}");
  EXPECT_EQ(parse(kBare, "{\"name\": \"weather\", \"parameters\": {\"days\": 1}}"),
            " made:weather{\"days\": 1}");
}

// For any text: none of it is lost, except a call's, and piece sizes do not matter.
TEST(CallParser, RandomTexts) {
  std::mt19937 random(1);
  for (const std::string_view calls : {kHermes, kTagged, kList, kNamed, kPython, kBare}) {
    const auto syntax = syntax_of(calls);
    const std::vector<std::string> words = {syntax->section_begin,
                                            syntax->call_begin,
                                            syntax->call_end,
                                            syntax->separator,
                                            syntax->section_end,
                                            syntax->key_begin,
                                            syntax->key_end,
                                            syntax->value_end,
                                            "{\"name\": \"weather\", \"arguments\": ",
                                            "weather",
                                            "weather_map",
                                            "city",
                                            "{",
                                            "}",
                                            "(",
                                            ")",
                                            "\"",
                                            ": ",
                                            "=",
                                            "1",
                                            "[ARGS]",
                                            "abcdefghi",
                                            "[ID]",
                                            "\n",
                                            " ",
                                            "x"};
    for (int i = 0; i < 3000; ++i) {
      std::string text;
      for (size_t n = random() % 12; n-- > 0;) text += words[random() % words.size()];
      const bool was_cut = random() % 2 == 0;
      const std::string whole = told(parse_in(syntax, text, text.size() + 1, was_cut).answer);
      EXPECT_EQ(told(parse_in(syntax, text, 1, was_cut).answer), whole) << text;
      const Answer answer = parse_in(syntax, text, 1, was_cut).answer;
      if (answer.calls.empty()) {
        EXPECT_EQ(answer.content, text);
      }
      for (const auto& call : answer.calls) {
        if (!call.is_complete) continue;
        EXPECT_NO_THROW(Json::parse(call.arguments, "arguments")) << text;
      }
    }
  }
}

}  // namespace
}  // namespace pippin::model_output
