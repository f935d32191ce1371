#include "pippin/runtime/end_of_turn.h"

#include <gtest/gtest.h>

namespace pippin::runtime {
namespace {

// Words, and <s>, <|end|> and </s> as special tokens; <think> is an added token, but not special.
Tokenizer words() {
  return Tokenizer::from_json(R"({"version": "1.0", "normalizer": null, "post_processor": null,
      "pre_tokenizer": {"type": "Whitespace"}, "decoder": null,
      "added_tokens": [
        {"id": 2, "content": "<s>", "special": true, "single_word": false, "lstrip": false,
         "rstrip": false, "normalized": false},
        {"id": 3, "content": "<|end|>", "special": true, "single_word": false, "lstrip": false,
         "rstrip": false, "normalized": false},
        {"id": 4, "content": "</s>", "special": true, "single_word": false, "lstrip": false,
         "rstrip": false, "normalized": false},
        {"id": 5, "content": "<think>", "special": false, "single_word": false, "lstrip": false,
         "rstrip": false, "normalized": false}],
      "model": {"type": "WordLevel", "unk_token": "?", "vocab": {"?": 0, "end": 1}}})",
                              "words");
}

std::optional<int32_t> found(const char* source) {
  const auto chat =
      ChatTemplate::from_source(source, chat::Dict{{"bos_token", "<s>"}, {"eos_token", "</s>"}});
  return end_of_turn(chat, words());
}

TEST(EndOfTurn, IsTheSpecialTokenAfterAnAnswer) {
  EXPECT_EQ(found("{% for m in messages %}{{ m.role }}: {{ m.content }}<|end|>{% endfor %}"), 3);
  EXPECT_EQ(found("{{ bos_token }}{% for m in messages %}{{ m.content }}{{ eos_token }}\n"
                  "{% endfor %}"),
            4);
}

TEST(EndOfTurn, MayComeAfterBlanks) {
  EXPECT_EQ(found("{% for m in messages %}{{ m.content }} \n\t<|end|>{% endfor %}"), 3);
}

// If there are several, the first one ends the turn: the model writes it first.
TEST(EndOfTurn, IsTheFirstOfSeveral) {
  EXPECT_EQ(found("{% for m in messages %}{{ m.content }}<|end|>{% endfor %}</s>"), 3);
}

TEST(EndOfTurn, OnlyAssistantsEndCounts) {
  EXPECT_EQ(found("{% for m in messages %}{{ m.content }}"
                  "{{ '<s>' if m.role == 'user' else '</s>' }}{% endfor %}"),
            4);
}

TEST(EndOfTurn, NothingWhereNoSpecialTokenFollows) {
  EXPECT_EQ(found("{% for m in messages %}{{ m.content }}{% endfor %}"), std::nullopt);
  EXPECT_EQ(found("{% for m in messages %}{{ m.content }}\n\n{% endfor %}"), std::nullopt);
  EXPECT_EQ(found("{% for m in messages %}{{ m.content }} end <|end|>{% endfor %}"), std::nullopt);
  EXPECT_EQ(found("{% for m in messages %}{{ m.content }}<think>{% endfor %}"), std::nullopt);
}

TEST(EndOfTurn, NothingWhereTheTemplateRefusesOrLeavesOut) {
  EXPECT_EQ(found("{{ raise_exception('only one message') }}"), std::nullopt);
  EXPECT_EQ(found("{{ messages[0].content }}<|end|>"), std::nullopt);
  EXPECT_EQ(found("{% for m in messages %}{{ m.content | upper }}<|end|>{% endfor %}"),
            std::nullopt);
}

}  // namespace
}  // namespace pippin::runtime
