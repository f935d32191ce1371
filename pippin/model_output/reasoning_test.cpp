#include "pippin/model_output/reasoning.h"

#include <gtest/gtest.h>

namespace pippin::model_output {
namespace {

// A tokenizer with one token per character, and a few special ones.
Tokenizer tokenizer() {
  std::string vocabulary;
  int id = 0;
  const auto add = [&](std::string_view token) {
    vocabulary += (id == 0 ? "" : ",") + ("\"" + std::string(token) + "\":" + std::to_string(id));
    ++id;
  };
  for (char c = ' '; c < 127; ++c) {
    if (c == '"' || c == '\\') continue;
    add(std::string(1, c));
  }
  add("\\n");
  const std::string added =
      R"([{"id":200,"content":"<|channel|>","special":true,"single_word":false,
      "lstrip":false,"rstrip":false,"normalized":false},
      {"id":201,"content":"<|message|>","special":true,"single_word":false,
      "lstrip":false,"rstrip":false,"normalized":false},
      {"id":202,"content":"<|end|>","special":true,"single_word":false,
      "lstrip":false,"rstrip":false,"normalized":false}])";
  return Tokenizer::from_json(R"({"version":"1.0","added_tokens":)" + added +
                                  R"(,"normalizer":null,"pre_tokenizer":null,
      "post_processor":null,"decoder":{"type":"Fuse"},"model":{"type":"BPE","vocab":{)" +
                                  vocabulary + R"(},"merges":[]}})",
                              "tokenizer.json");
}

ChatTemplate chat(std::string_view source) {
  return ChatTemplate::from_source(source, chat::Value(chat::Dict{}));
}

struct Split {
  std::string reasoning, content;
};

// Splits a text token by token.
Split split(const ReasoningMarks& marks, std::string_view text, bool is_thinking = false) {
  const Tokenizer tokens = tokenizer();
  ReasoningSplitter splitter(std::make_shared<ReasoningMarks>(marks), is_thinking);
  StreamDecoder decoder(tokens);
  Split result;
  const auto add = [&](const ReasoningSplitter::Parts& parts) {
    result.reasoning += parts.reasoning;
    result.content += parts.content;
  };
  for (const int32_t id : tokens.encode(text, false)) add(splitter.push(id, decoder.push(id)));
  add(splitter.finish(decoder.finish()));
  return result;
}

const ReasoningMarks kThink = {{"<think>", {}}, {"</think>", {}}};

TEST(Reasoning, IsSplitOff) {
  const auto check = [](std::string_view text, bool thinks, std::string_view reasoning,
                        std::string_view content) {
    const Split parts = split(kThink, text, thinks);
    EXPECT_EQ(parts.reasoning, reasoning) << text;
    EXPECT_EQ(parts.content, content) << text;
  };
  check("<think>\nwhy\n</think>\n\nso", false, "why", "so");
  check(" <think>a</think>b</think>", false, "a", "b</think>");
  check("no thoughts", false, "", "no thoughts");
  check(" \n<thin", false, "", " \n<thin");
  check("<think>cut off </thi", false, "cut off </thi", "");
  check("in </x> it\n</think> out ", true, "in </x> it", "out ");
  check("first <think>a</think>", false, "", "first <think>a</think>");
  check("<think></think>x", false, "", "x");
  check("", false, "", "");
}

TEST(Reasoning, OfMarksThatLeaveNoText) {
  const Tokenizer tokens = tokenizer();
  const auto marks = find_reasoning(
      chat("{% for m in messages %}<|end|>{{ m.role }}:{% if m.thinking %}<|channel|>analysis"
           "<|message|>{{ m.thinking }}<|end|><|channel|>final<|message|>{% endif %}"
           "{{ m.content }}{% endfor %}{% if add_generation_prompt %}<|end|>assistant:{% endif %}"),
      &tokens);
  ASSERT_TRUE(marks);
  EXPECT_EQ(marks->begin.text, "<|channel|>analysis<|message|>");
  EXPECT_EQ(marks->end.text, "<|end|><|channel|>final<|message|>");
  const Split parts = split(*marks, marks->begin.text + "why" + marks->end.text + "so");
  EXPECT_EQ(parts.reasoning, "why");
  EXPECT_EQ(parts.content, "so");
  // Text that only begins like a mark stays text.
  EXPECT_EQ(split(*marks, "<|channel|>analyses").content, "analyses");
}

TEST(Reasoning, MarksAreReadOffTemplates) {
  const Tokenizer tokens = tokenizer();
  EXPECT_FALSE(find_reasoning(chat("{{ messages[0].content }}"), &tokens));
  EXPECT_FALSE(find_reasoning(chat("{{ raise_exception('no') }}"), &tokens));
  const auto known =
      find_reasoning(chat("{{ messages[0].content.split('</think>')[-1] }}<think>"), &tokens);
  ASSERT_TRUE(known);
  EXPECT_EQ(known->end.text, "</think>");
  const auto odd =
      find_reasoning(chat("{% for m in messages %}[{{ m.role }}]{% if m.reasoning_content %}(({{ "
                          "m.reasoning_content }})){% endif %}{{ m.content }}{% endfor %}"
                          "{% if add_generation_prompt %}[assistant]{% endif %}"),
                     &tokens);
  ASSERT_TRUE(odd);
  EXPECT_EQ(odd->begin.text, "((");
  EXPECT_EQ(odd->end.text, "))");
}

TEST(Reasoning, PromptsMayOpenIt) {
  EXPECT_TRUE(begins_thinking(kThink, "assistant\n<think>\n"));
  EXPECT_FALSE(begins_thinking(kThink, "assistant\n<think>\n\n</think>\n\n"));
  EXPECT_FALSE(begins_thinking(kThink, "What is <think>?\nassistant\n"));
}

}  // namespace
}  // namespace pippin::model_output
