// The demo model, which is part of the library, in conversations.
#include "pippin/api/llm.h"

#include <algorithm>
#include <limits>

#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/runtime/sampling/candidates.h"

namespace pippin {
namespace {

const std::string kFox = "Tell me a story about a fox called Mia.";

const LanguageModel& demo() {
  static const LanguageModel model = [] {
    LanguageModelOptions options;
    options.threads = 1;
    return LanguageModel::load("demo", options);
  }();
  return model;
}

TextSettings at_most(int64_t tokens) {
  TextSettings settings;
  settings.max_tokens = tokens;
  return settings;
}

SamplingOptions sampled(uint64_t seed) {
  SamplingOptions options;
  options.temperature = 1;
  options.seed = seed;
  return options;
}

// Masks one token.
class Without final : public LogitsProcessor {
 public:
  explicit Without(int32_t id) : id_(id) {}
  void process(const runtime::SamplingContext& /*context*/,
               runtime::Candidates& candidates) override {
    candidates.keep_if([&](size_t i) { return candidates.items()[i].id != id_; });
  }
  std::unique_ptr<LogitsProcessor> clone() const override { return std::make_unique<Without>(id_); }

 private:
  int32_t id_;
};

TEST(LanguageModel, SaysWhatItIs) {
  EXPECT_EQ(demo().name(), "demo");
  EXPECT_GT(demo().context(), 100);
  EXPECT_GE(demo().vocab_size(), 100);
  EXPECT_TRUE(demo().has_chat_template());
  EXPECT_TRUE(demo().capabilities().truncate);
  EXPECT_EQ(demo().num_threads(), 1);
  EXPECT_FALSE(demo().end_tokens().empty());
  EXPECT_EQ(demo().decode(demo().encode("Mia had a map.")), "Mia had a map.");
}

TEST(LanguageModel, RendersConversations) {
  const Message message = {"user", kFox};
  const std::string list = R"([{"role": "user", "content": ")" + kFox + R"("}])";
  const std::string text = demo().render(list);
  EXPECT_EQ(demo().encode(text, false), demo().encode(std::span(&message, 1)));
  EXPECT_EQ(demo().render(R"({"messages": )" + list + "}"), text);
  const std::string whole =
      demo().render(R"({"add_generation_prompt": false, "messages": )" + list + "}");
  EXPECT_LT(whole.size(), text.size());
  EXPECT_EQ(text.find(whole), 0U);
  EXPECT_ERROR(demo().render("[{"), ErrorCode::InvalidFile, "conversation");
}

TEST(LanguageModel, DecodesTokenByToken) {
  const std::string text = "Mia had a caf\xC3\xA9 \xF0\x9F\xA6\x8A.";
  TokenDecoder decoder(demo());
  std::string pieces;
  for (const int32_t id : demo().encode(text)) pieces += decoder.push(id);
  EXPECT_EQ(pieces + decoder.finish(), demo().decode(demo().encode(text)));
}

TEST(LanguageModel, GeneratesFromTokens) {
  const auto sequence = demo().new_sequence();
  const auto prompt = demo().encode("Once upon a time", true);
  std::string pieces;
  const Completion whole =
      demo().generate(*sequence, prompt, at_most(12), [&](std::string_view piece) {
        pieces += piece;
        return true;
      });
  EXPECT_EQ(whole.text, pieces);
  EXPECT_EQ(whole.reason, StopReason::MaxTokens);
  EXPECT_EQ(whole.ids.size(), 12U);
  EXPECT_EQ(whole.prompt_tokens, std::ssize(prompt));
  EXPECT_EQ(whole.cached_tokens, 0);
  EXPECT_EQ(demo().decode(whole.ids), whole.text);
  // Manually: the most likely token of each row.
  const auto other = demo().new_sequence();
  std::vector<int32_t> ids;
  auto logits = other->prefill(prompt);
  while (ids.size() < 12) {
    ids.push_back(
        static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin()));
    logits = other->decode(ids.back());
  }
  EXPECT_EQ(whole.ids, ids);
  // Token by token.
  const auto third = demo().new_sequence();
  std::vector<int32_t> told;
  std::string text;
  demo().generate_tokens(*third, prompt, at_most(12), [&](int32_t id, std::string_view piece) {
    if (id >= 0) told.push_back(id);
    text += piece;
    return true;
  });
  EXPECT_EQ(told, ids);
  EXPECT_EQ(text, whole.text);
}

TEST(LanguageModel, TellsLogProbabilities) {
  TextSettings settings = at_most(5);
  settings.logprobs = 3;
  const auto sequence = demo().new_sequence();
  const Completion made = demo().generate(*sequence, demo().encode("Once"), settings);
  ASSERT_EQ(made.logprobs.size(), made.ids.size());
  for (size_t i = 0; i < made.ids.size(); ++i) {
    EXPECT_EQ(made.logprobs[i].chosen.id, made.ids[i]);
    ASSERT_EQ(made.logprobs[i].top.size(), 3U);
    EXPECT_EQ(made.logprobs[i].top[0].id, made.ids[i]);  // greedy
    EXPECT_LE(made.logprobs[i].chosen.logprob, 0);
  }
}

TEST(LanguageModel, TakesProcessorsOfTheCaller) {
  const auto prompt = demo().encode("Once upon a time");
  TextSettings settings = at_most(1);
  const auto first = demo().generate(*demo().new_sequence(), prompt, settings).ids.at(0);
  settings.processors = {std::make_shared<Without>(first)};
  EXPECT_NE(demo().generate(*demo().new_sequence(), prompt, settings).ids.at(0), first);
}

TEST(LanguageModel, HoldsATextToItsForm) {
  const auto prompt = demo().encode("Once upon a time");
  TextSettings settings = at_most(100);
  const auto text_of = [&](const TextForm& form) {
    settings.form = form;
    return demo().generate(*demo().new_sequence(), prompt, settings).text;
  };
  using Kind = TextForm::Kind;
  EXPECT_EQ(text_of({Kind::Choice, "", {"fox"}}), "fox");
  EXPECT_EQ(text_of({Kind::Regex, "[0-9]{4}"}).size(), 4U);
  EXPECT_EQ(text_of({Kind::Grammar, "root ::= \"(\" [a-z] \")\""}).size(), 3U);
  EXPECT_EQ(text_of({Kind::JsonSchema, R"({"enum":[{"a":[1,2]}]})"}), R"({"a":[1,2]})");
  EXPECT_TRUE(text_of({Kind::JsonObject}).starts_with('{'));
  EXPECT_ERROR(text_of({Kind::Regex, "["}), ErrorCode::InvalidArgument,
               "regular expression: the pattern is broken");
}

TEST(LanguageModel, SeedsSayWhatIsDrawnWhateverRunsBeside) {
  const auto prompt = demo().encode("Once upon a time");
  TextSettings settings = at_most(20);
  settings.sampling = sampled(7);
  const auto alone = demo().generate(*demo().new_sequence(), prompt, settings);
  const auto beside = demo().new_sequence();
  TextSettings other = at_most(3);
  other.sampling = sampled(8);
  const auto again = demo().generate(*demo().new_sequence(), prompt, settings, [&](auto) {
    beside->reset();
    demo().generate(*beside, prompt, other);
    return true;
  });
  EXPECT_EQ(again.ids, alone.ids);
  settings.sampling = sampled(9);
  EXPECT_NE(demo().generate(*demo().new_sequence(), prompt, settings).ids, alone.ids);
}

TEST(LanguageModel, RefusesWhatIsNoLanguageModel) {
  EXPECT_ERROR(LanguageModel::load("/no/such/model"), ErrorCode::NotFound,
               "/no/such/model: there is no such model");
  const auto half = source_dir() / "tests/install/add_half.mlmodelc";
  EXPECT_ERROR(LanguageModel::load(half), ErrorCode::NotFound, "has no tokenizer inside");
  LanguageModelOptions options;
  options.tokenizer = demo_model_folder();
  EXPECT_ERROR(LanguageModel::load(half, options), ErrorCode::Unsupported,
               "not a stateful language model");
}

TEST(LanguageModel, RefusesSequencesOfOthers) {
  const LanguageModel other = LanguageModel::load("demo");
  const auto sequence = other.new_sequence();
  EXPECT_ERROR(demo().generate(*sequence, demo().encode("Once")), ErrorCode::InvalidArgument,
               "the sequence is of another model than demo");
  Batch batch = demo().new_batch();
  EXPECT_ERROR(batch.add(*sequence, 1), ErrorCode::InvalidArgument, "another model");
}

TEST(Chat, FeedsOnlyWhatIsNew) {
  Chat chat(demo(), at_most(40));
  const Completion first = chat.send(kFox);
  EXPECT_EQ(first.cached_tokens, 0);
  const Completion second = chat.send("What can you do?");
  ASSERT_EQ(chat.messages.size(), 4U);
  EXPECT_EQ(chat.messages[1].content, first.text);
  EXPECT_GE(second.cached_tokens, first.prompt_tokens);
  // As if everything had been asked at once.
  Chat fresh(demo(), at_most(40));
  fresh.messages.assign(chat.messages.begin(), chat.messages.end() - 1);
  const Completion all = fresh.answer();
  EXPECT_EQ(all.text, second.text);
  EXPECT_EQ(all.prompt_tokens, second.prompt_tokens);
  EXPECT_EQ(all.cached_tokens, 0);
}

TEST(Chat, AnswersWhatWasEdited) {
  Chat chat(demo(), at_most(30));
  const std::string answer = chat.send(kFox).text;
  chat.send("What can you do?");
  // The same again: all tokens except the last are cached.
  chat.messages.resize(1);
  const Completion again = chat.answer();
  EXPECT_EQ(again.text, answer);
  EXPECT_EQ(again.cached_tokens, again.prompt_tokens - 1);
  chat.messages = {{"user", "Tell me a story about a panda called Bo."}};
  const std::string other = chat.answer().text;
  EXPECT_EQ(other, Chat(demo(), at_most(30)).send("Tell me a story about a panda called Bo.").text);
  EXPECT_NE(other, answer);
}

TEST(Chat, SaysWhyAnAnswerEnds) {
  EXPECT_EQ(Chat(demo()).send(kFox).reason, StopReason::EndOfText);
  TextSettings settings;
  settings.stop = {" time"};
  const Completion stopped = Chat(demo(), settings).send(kFox);
  EXPECT_EQ(stopped.reason, StopReason::StopString);
  EXPECT_EQ(stopped.text, "Once upon a");
  const Completion enough = Chat(demo()).send(kFox, [](auto) { return false; });
  EXPECT_EQ(enough.reason, StopReason::Callback);
  EXPECT_EQ(enough.ids.size(), 1U);
}

TEST(Chat, GoesOnAfterACancelledAnswer) {
  CancelToken token;
  Chat chat(demo(), at_most(40));
  {
    const CancelScope scope(token);
    const Completion cut = chat.send(kFox, [&](auto) {
      token.request();
      return true;
    });
    EXPECT_EQ(cut.reason, StopReason::Cancelled);
    EXPECT_EQ(chat.messages.back().content, cut.text);
  }
  chat.messages.resize(1);
  EXPECT_EQ(chat.answer().text, Chat(demo(), at_most(40)).send(kFox).text);
}

TEST(Chat, TakesBackAMessageThatCannotBeAnswered) {
  Chat chat(demo());
  std::string much;
  for (int64_t i = 0; i < demo().context(); ++i) much += " fox Mia";
  EXPECT_ERROR(chat.send(much), ErrorCode::LimitExceeded, "the prompt has ");
  EXPECT_TRUE(chat.messages.empty());
  EXPECT_EQ(chat.send(kFox).reason, StopReason::EndOfText);
}

}  // namespace
}  // namespace pippin
