// Language models: the demo model, which is part of the library.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "pippin/api/llm.h"
#include "pippin/c/c_testing.h"

namespace pippin::c {
namespace {

using Ids = std::vector<int32_t>;

const std::string kFox =
    R"([{"role": "user", "content": "Tell me a story about a fox called Mia."}])";

pippin_language_model* demo() {
  static pippin_language_model* const model = [] {
    pippin_options* options = nullptr;
    pippin_language_model* loaded = nullptr;
    EXPECT_EQ(pippin_options_new(&options, nullptr), PIPPIN_OK);
    EXPECT_EQ(pippin_options_set(options, "threads", "1", nullptr), PIPPIN_OK);
    EXPECT_EQ(pippin_language_model_load("demo", options, nullptr, &loaded, nullptr), PIPPIN_OK);
    pippin_options_free(options);
    return loaded;
  }();
  return model;
}

// The results of the C++ interface, for comparison.
const LanguageModel& oracle() {
  static const LanguageModel model = [] {
    LanguageModelOptions options;
    options.threads = 1;
    return LanguageModel::load("demo", options);
  }();
  return model;
}

Ids encode(const std::string& text, bool add_special) {
  int32_t* ids = nullptr;
  int64_t count = 0;
  EXPECT_EQ(pippin_language_model_encode(demo(), text.data(), std::ssize(text), add_special ? 1 : 0,
                                         &ids, &count, nullptr),
            PIPPIN_OK);
  const Ids result(ids, ids + count);
  pippin_free(ids);
  return result;
}

std::string render(const std::string& conversation) {
  char* text = nullptr;
  int64_t bytes = 0;
  EXPECT_EQ(pippin_language_model_render(demo(), conversation.c_str(), &text, &bytes, nullptr),
            PIPPIN_OK);
  const std::string result = text;
  EXPECT_EQ(std::ssize(result), bytes);
  pippin_free(text);
  return result;
}

class CSessions : public testing::Test {
 protected:
  CSessions() {
    EXPECT_EQ(pippin_session_open(demo(), &session_, nullptr), PIPPIN_OK);
    EXPECT_EQ(pippin_options_new(&options_, nullptr), PIPPIN_OK);
  }
  ~CSessions() override {
    pippin_session_free(session_);
    pippin_options_free(options_);
    pippin_completion_free(completion_);
  }

  void set(const char* name, const char* value) {
    ASSERT_WORKS(pippin_options_set(options_, name, value, &error));
  }

  // Requests `count` tokens, one by one.
  Ids pull(pippin_session* session, size_t count, pippin_sampler* sampler = nullptr) {
    Ids ids;
    while (ids.size() < count) {
      int32_t id = -1;
      pippin_error* error = nullptr;
      if (pippin_session_next(session, sampler, nullptr, &id, &error) != PIPPIN_OK) {
        ADD_FAILURE() << taken(error);
        break;
      }
      ids.push_back(id);
    }
    return ids;
  }

  Ids tokens(pippin_session* session) {
    int32_t* ids = nullptr;
    int64_t count = 0;
    EXPECT_EQ(pippin_session_tokens(session, &ids, &count, nullptr), PIPPIN_OK);
    const Ids result(ids, ids + count);
    pippin_free(ids);
    return result;
  }

  void feed(const Ids& ids) {
    ASSERT_WORKS(pippin_session_feed(session_, ids.data(), std::ssize(ids), nullptr, &error));
  }

  pippin_code generate(const Ids& prompt, pippin_token_function on_token, void* user,
                       const pippin_cancel* cancel, pippin_error** error) {
    pippin_completion_free(completion_);
    return pippin_generate(session_, prompt.data(), std::ssize(prompt), options_, on_token, user,
                           cancel, &completion_, error);
  }

  std::string text() const { return pippin_completion_text(completion_, nullptr); }

  const Ids prompt_ = encode(render(kFox), false);
  pippin_session* session_ = nullptr;
  pippin_options* options_ = nullptr;
  pippin_completion* completion_ = nullptr;
};

TEST(CLanguageModel, SaysWhatItIs) {
  EXPECT_EQ(pippin_language_model_context(demo()), oracle().context());
  EXPECT_EQ(pippin_language_model_vocab_size(demo()), oracle().vocab_size());
  EXPECT_EQ(pippin_language_model_has_chat_template(demo()), 1);
  EXPECT_EQ(pippin_language_model_is_end(demo(), oracle().end_tokens().front()), 1);
  EXPECT_EQ(pippin_language_model_is_end(demo(), -1), 0);
  pippin_language_model* none = nullptr;
  EXPECT_FAILS(pippin_language_model_load("/none", nullptr, nullptr, &none, &error),
               PIPPIN_ERROR_NOT_FOUND, "/none");
}

TEST(CLanguageModel, TurnsTextsIntoTokensAndBack) {
  const std::string text = "Mia had a map.";
  const Ids ids = encode(text, true);
  EXPECT_EQ(ids, oracle().encode(text, true));
  int32_t* terminated = nullptr;
  int64_t count = 0;
  ASSERT_WORKS(
      pippin_language_model_encode(demo(), text.c_str(), -1, 1, &terminated, &count, &error));
  EXPECT_EQ(Ids(terminated, terminated + count), ids);
  pippin_free(terminated);
  char* again = nullptr;
  int64_t bytes = 0;
  ASSERT_WORKS(
      pippin_language_model_decode(demo(), ids.data(), std::ssize(ids), 1, &again, &bytes, &error));
  EXPECT_EQ(again, text);
  EXPECT_EQ(bytes, std::ssize(text));
  pippin_free(again);
  EXPECT_TRUE(encode("", false).empty());
  EXPECT_FAILS(pippin_language_model_encode(demo(), "x", -2, 1, &terminated, nullptr, &error),
               PIPPIN_ERROR_INVALID_ARGUMENT, "text are -2 items");
  EXPECT_FAILS(pippin_language_model_encode(demo(), nullptr, 1, 1, &terminated, nullptr, &error),
               PIPPIN_ERROR_INVALID_ARGUMENT, "text is NULL");
  EXPECT_FAILS(pippin_language_model_decode(demo(), nullptr, 1, 1, &again, nullptr, &error),
               PIPPIN_ERROR_INVALID_ARGUMENT, "ids is NULL");
}

TEST(CLanguageModel, RendersConversations) {
  const Message message = {"user", "Tell me a story about a fox called Mia."};
  EXPECT_EQ(encode(render(kFox), false), oracle().encode(std::span(&message, 1)));
  char* text = nullptr;
  EXPECT_FAILS(pippin_language_model_render(demo(), "[{", &text, nullptr, &error),
               PIPPIN_ERROR_INVALID_FILE, "conversation");
  EXPECT_FAILS(pippin_language_model_render(demo(), nullptr, &text, nullptr, &error),
               PIPPIN_ERROR_INVALID_ARGUMENT, "conversation is NULL");
}

TEST_F(CSessions, GiveTokenAfterToken) {
  int32_t id = 0;
  EXPECT_FAILS(pippin_session_next(session_, nullptr, nullptr, &id, &error),
               PIPPIN_ERROR_INVALID_ARGUMENT, "tokens have to be fed");
  EXPECT_EQ(pippin_session_logits(session_, nullptr), nullptr);
  feed(prompt_);
  EXPECT_EQ(pippin_session_position(session_), std::ssize(prompt_));
  int64_t count = 0;
  const float* logits = pippin_session_logits(session_, &count);
  ASSERT_EQ(count, oracle().vocab_size());
  const auto best = std::max_element(logits, logits + count) - logits;

  const Ids ids = pull(session_, 12);
  EXPECT_EQ(ids[0], best);
  EXPECT_EQ(pippin_session_position(session_), std::ssize(prompt_) + 12);
  const auto sequence = oracle().new_sequence();
  TextSettings settings;
  settings.sampling = SamplingOptions();
  settings.max_tokens = 12;
  const Completion expected = oracle().generate(*sequence, prompt_, settings);
  EXPECT_EQ(ids, expected.ids);

  std::string text;
  for (const int32_t each : {-2, -1}) {  // -2: all of them
    for (const int32_t one : each == -2 ? ids : Ids{each}) {
      const char* piece = nullptr;
      int64_t bytes = 0;
      ASSERT_WORKS(pippin_session_text(session_, one, &piece, &bytes, &error));
      EXPECT_EQ(std::string(piece).size(), static_cast<size_t>(bytes));
      text += piece;
    }
  }
  EXPECT_EQ(text, expected.text);
  Ids all = prompt_;
  all.insert(all.end(), ids.begin(), ids.end());
  EXPECT_EQ(tokens(session_), all);
}

TEST_F(CSessions, AreForkedCutAndKept) {
  feed(prompt_);
  pippin_session* fork = nullptr;
  ASSERT_WORKS(pippin_session_fork(session_, &fork, &error));
  const Ids first = pull(session_, 3);
  EXPECT_EQ(pull(fork, 3), first);
  pippin_session_free(fork);
  ASSERT_WORKS(pippin_session_fork(session_, &fork, &error));
  EXPECT_EQ(tokens(fork), tokens(session_));
  const Ids more = pull(session_, 4);
  EXPECT_EQ(pull(fork, 4), more);

  TempDir folder;
  const std::string file = folder / "session";
  ASSERT_WORKS(pippin_session_save(session_, file.c_str(), &error));
  ASSERT_WORKS(pippin_session_truncate(session_, std::ssize(prompt_) + 3, &error));
  ASSERT_WORKS(pippin_session_truncate(session_, std::ssize(prompt_) - 1, &error));
  feed({prompt_.back()});
  EXPECT_EQ(pull(session_, 3), first);
  ASSERT_WORKS(pippin_session_reset(session_, &error));
  EXPECT_EQ(pippin_session_position(session_), 0);
  ASSERT_WORKS(pippin_session_restore(session_, file.c_str(), &error));
  EXPECT_EQ(tokens(session_), tokens(fork));
  feed({prompt_[0]});
  pippin_session_free(fork);

  EXPECT_FAILS(pippin_session_truncate(session_, 1000, &error), PIPPIN_ERROR_INVALID_ARGUMENT,
               "1000 tokens of");
  EXPECT_FAILS(pippin_session_truncate(session_, -1, &error), PIPPIN_ERROR_INVALID_ARGUMENT, "-1");
  EXPECT_FAILS(pippin_session_restore(session_, "/none", &error), PIPPIN_ERROR_NOT_FOUND, "/none");
  const int32_t wrong = -5;
  EXPECT_FAILS(pippin_session_feed(session_, &wrong, 1, nullptr, &error),
               PIPPIN_ERROR_INVALID_ARGUMENT, "-5");
  EXPECT_FAILS(pippin_session_feed(session_, nullptr, 1, nullptr, &error),
               PIPPIN_ERROR_INVALID_ARGUMENT, "ids is NULL");
}

TEST_F(CSessions, SampleAsTheOptionsSay) {
  set("temperature", "1");
  set("seed", "7");
  set("max_tokens", "10");
  set("repetition_penalty", "1.3");
  ASSERT_WORKS(generate(prompt_, nullptr, nullptr, nullptr, &error));
  int64_t count = 0;
  const int32_t* ids = pippin_completion_ids(completion_, &count);
  const Ids expected(ids, ids + count);
  ASSERT_WORKS(pippin_session_reset(session_, &error));
  pippin_sampler* sampler = nullptr;
  ASSERT_WORKS(pippin_sampler_new(demo(), options_, &sampler, &error));
  feed(prompt_);
  EXPECT_EQ(pull(session_, expected.size(), sampler), expected);
  pippin_sampler_free(sampler);
  // Also with the tokens that end DRY's repetitions.
  set("dry_multiplier", "0.8");
  ASSERT_WORKS(pippin_session_reset(session_, &error));
  ASSERT_WORKS(generate(prompt_, nullptr, nullptr, nullptr, &error));
  ids = pippin_completion_ids(completion_, &count);
  const Ids without(ids, ids + count);
  ASSERT_WORKS(pippin_session_reset(session_, &error));
  ASSERT_WORKS(pippin_sampler_new(demo(), options_, &sampler, &error));
  feed(prompt_);
  EXPECT_EQ(pull(session_, without.size(), sampler), without);
  pippin_sampler_free(sampler);
  set("top_p", "7");
  EXPECT_FAILS(pippin_sampler_new(demo(), options_, &sampler, &error),
               PIPPIN_ERROR_INVALID_ARGUMENT, "top_p is 7");
}

struct Heard {
  std::string text;
  Ids ids;
  size_t most = SIZE_MAX;
  pippin_cancel* cancel = nullptr;
};

int32_t hear(void* user, const pippin_token* token) {
  auto& heard = *static_cast<Heard*>(user);
  EXPECT_EQ(token->size, sizeof(pippin_token));
  EXPECT_EQ(std::string(token->text).size(), static_cast<size_t>(token->bytes));
  heard.text += token->text;
  heard.ids.push_back(token->id);
  if (heard.cancel != nullptr) pippin_cancel_trigger(heard.cancel);
  return heard.ids.size() < heard.most ? 1 : 0;
}

TEST_F(CSessions, ContinueConversations) {
  int32_t* ids = nullptr;
  int64_t count = 0;
  const auto begin = [&](const std::string& conversation) {
    pippin_error* error = nullptr;
    const pippin_code code = pippin_session_prompt(session_, conversation.c_str(), nullptr, 0,
                                                   nullptr, &ids, &count, &error);
    EXPECT_EQ(code, PIPPIN_OK) << taken(error);
    const Ids result(ids, ids + count);
    pippin_free(ids);
    return result;
  };
  EXPECT_EQ(begin(kFox), prompt_);
  set("max_tokens", "12");
  ASSERT_WORKS(generate(prompt_, nullptr, nullptr, nullptr, &error));
  // Its answer, without the last token, is in the session; the end token is not.
  const std::string more =
      kFox.substr(0, kFox.size() - 1) + R"(, {"role": "assistant", "content": ")" + text() +
      R"("}, {"role": "user", "content": [)" + R"({"type": "text", "text": "And then?"}]}])";
  const std::string as_text = kFox.substr(0, kFox.size() - 1) +
                              R"(, {"role": "assistant", "content": ")" + text() +
                              R"("}, {"role": "user", "content": "And then?"}])";
  const Ids whole = encode(render(as_text), false);
  const Ids rest = begin(more);
  const int64_t kept = pippin_session_position(session_);
  EXPECT_GE(kept, std::ssize(prompt_));
  Ids both = tokens(session_);
  both.insert(both.end(), rest.begin(), rest.end());
  EXPECT_EQ(both, whole);
  // A shorter conversation again: the rest of the longer one is dropped, and a token is fed again.
  EXPECT_EQ(begin(kFox), Ids({prompt_.back()}));
  EXPECT_EQ(pippin_session_position(session_), std::ssize(prompt_) - 1);
}

TEST_F(CSessions, RefuseImagesOfTextModels) {
  EXPECT_EQ(pippin_language_model_takes_images(demo()), 0);
  EXPECT_EQ(pippin_language_model_takes_images(nullptr), 0);
  const char* const shown = R"([{"role": "user", "content": [{"type": "image"}]}])";
  const char* const other = R"([{"role": "user", "content": [{"type": "sound"}]}])";
  feed(prompt_);
  int32_t* ids = nullptr;
  pippin_image image = {sizeof(pippin_image), nullptr, "GIF89a", 6};
  const auto begin = [&](const char* conversation, int64_t count, pippin_error** error) {
    return pippin_session_prompt(session_, conversation, &image, count, nullptr, &ids, nullptr,
                                 error);
  };
  EXPECT_FAILS(begin(shown, 1, &error), PIPPIN_ERROR_UNSUPPORTED,
               "images[0]: the model takes text only");
  EXPECT_FAILS(begin(shown, 0, &error), PIPPIN_ERROR_INVALID_ARGUMENT,
               "1 parts for images, 0 images are given");
  EXPECT_FAILS(begin(other, 0, &error), PIPPIN_ERROR_INVALID_ARGUMENT,
               "messages[0].content[0]: parts of type 'sound' are not supported");
  EXPECT_FAILS(begin("{}", 0, &error), PIPPIN_ERROR_INVALID_ARGUMENT, "no list of messages");
  EXPECT_FAILS(begin("[", 0, &error), PIPPIN_ERROR_INVALID_FILE, "conversation");
  EXPECT_FAILS(begin(nullptr, 0, &error), PIPPIN_ERROR_INVALID_ARGUMENT, "conversation is NULL");
  image.bytes = -1;
  EXPECT_FAILS(begin(shown, 1, &error), PIPPIN_ERROR_INVALID_ARGUMENT, "images[0] are -1 items");
  image.path = "/none.png";
  EXPECT_FAILS(begin(shown, 1, &error), PIPPIN_ERROR_INVALID_ARGUMENT,
               "images[0]: has both a path and data");
  image.data = nullptr;
  EXPECT_FAILS(begin(shown, 1, &error), PIPPIN_ERROR_NOT_FOUND, "/none.png");
  image.path = nullptr;
  EXPECT_FAILS(begin(shown, 1, &error), PIPPIN_ERROR_INVALID_ARGUMENT,
               "images[0]: has neither a path nor data");
  image.size = 8;
  EXPECT_FAILS(begin(shown, 1, &error), PIPPIN_ERROR_INVALID_ARGUMENT, "images[0]: size is 8");
  EXPECT_EQ(ids, nullptr);
  EXPECT_EQ(tokens(session_), prompt_);
}

TEST_F(CSessions, GenerateTexts) {
  Heard heard;
  ASSERT_WORKS(generate(prompt_, hear, &heard, nullptr, &error));
  EXPECT_EQ(pippin_completion_reason(completion_), PIPPIN_STOP_END_OF_TEXT);
  EXPECT_EQ(text(), heard.text);
  EXPECT_EQ(text().find("Once upon a time"), 0U);
  int64_t bytes = 0;
  pippin_completion_text(completion_, &bytes);
  EXPECT_EQ(bytes, std::ssize(text()));
  double number = -1;
  EXPECT_EQ(pippin_completion_number(completion_, "prompt_tokens", &number), 1);
  EXPECT_EQ(number, static_cast<double>(prompt_.size()));
  EXPECT_EQ(pippin_completion_number(completion_, "tokens_per_second", &number), 1);
  EXPECT_GT(number, 0);
  EXPECT_EQ(pippin_completion_number(completion_, "none", &number), 0);
  EXPECT_EQ(pippin_completion_number(completion_, nullptr, &number), 0);
  // The session has the prompt and the text.
  int64_t count = 0;
  pippin_completion_ids(completion_, &count);
  EXPECT_EQ(pippin_session_position(session_), std::ssize(prompt_) + count);
}

TEST_F(CSessions, EndTextsForReasons) {
  set("max_tokens", "3");
  ASSERT_WORKS(generate(prompt_, nullptr, nullptr, nullptr, &error));
  EXPECT_EQ(pippin_completion_reason(completion_), PIPPIN_STOP_MAX_TOKENS);
  const std::string start = text();
  // It continues at its position.
  const Ids more = pull(session_, 3);
  ASSERT_WORKS(pippin_session_reset(session_, &error));
  feed(prompt_);
  const Ids whole = pull(session_, 6);
  EXPECT_EQ(Ids(whole.begin() + 3, whole.end()), more);

  ASSERT_WORKS(pippin_session_reset(session_, &error));
  set("max_tokens", "-1");
  set("stop", " time");
  ASSERT_WORKS(generate(prompt_, nullptr, nullptr, nullptr, &error));
  EXPECT_EQ(pippin_completion_reason(completion_), PIPPIN_STOP_STRING);
  EXPECT_EQ(text(), "Once upon a");

  ASSERT_WORKS(pippin_session_reset(session_, &error));
  Heard heard;
  heard.most = 1;
  ASSERT_WORKS(generate(prompt_, hear, &heard, nullptr, &error));
  EXPECT_EQ(pippin_completion_reason(completion_), PIPPIN_STOP_CALLBACK);
  EXPECT_EQ(heard.ids.size(), 1U);

  ASSERT_WORKS(pippin_session_reset(session_, &error));
  Heard cut;
  ASSERT_WORKS(pippin_cancel_new(&cut.cancel, &error));
  ASSERT_WORKS(generate(prompt_, hear, &cut, cut.cancel, &error));
  EXPECT_EQ(pippin_completion_reason(completion_), PIPPIN_STOP_CANCELLED);
  EXPECT_EQ(text(), cut.text);
  int32_t id = 0;
  EXPECT_FAILS(pippin_session_next(session_, nullptr, cut.cancel, &id, &error),
               PIPPIN_ERROR_CANCELLED, "cancelled");
  pippin_cancel_free(cut.cancel);
}

TEST_F(CSessions, WriteWhatIsAskedFor) {
  set("choice", "no");
  set("choice", "yes");
  ASSERT_WORKS(generate(prompt_, nullptr, nullptr, nullptr, &error));
  EXPECT_TRUE(text() == "no" || text() == "yes") << text();
  ASSERT_WORKS(pippin_session_reset(session_, &error));
  set("regex", "[0-9]{3}");
  ASSERT_WORKS(generate(prompt_, nullptr, nullptr, nullptr, &error));
  EXPECT_EQ(text().size(), 3U);
  set("regex", "(");
  EXPECT_FAILS(generate(prompt_, nullptr, nullptr, nullptr, &error), PIPPIN_ERROR_INVALID_ARGUMENT,
               "");
  EXPECT_EQ(completion_, nullptr);
}

TEST_F(CSessions, RefuseAPromptThatIsTooLong) {
  const Ids much(static_cast<size_t>(oracle().context()) + 1, prompt_[0]);
  EXPECT_FAILS(generate(much, nullptr, nullptr, nullptr, &error), PIPPIN_ERROR_LIMIT_EXCEEDED, "");
  EXPECT_FAILS(generate({}, nullptr, nullptr, nullptr, &error), PIPPIN_ERROR_INVALID_ARGUMENT, "");
  EXPECT_EQ(pippin_session_position(session_), 0);
}

}  // namespace
}  // namespace pippin::c
