// Language models: loading one, feeding sequences, generating text, and conversations.
//
//   const auto model = pippin::LanguageModel::load("org/name");
//   pippin::Chat chat(model);
//   chat.send("Why is the sky blue?", [](std::string_view piece) { ... return true; });
//
// A LanguageModel is shared freely between threads and cheap to copy. A Sequence, a Batch and a
// Chat may be used from any thread, one at a time. Calls that take long are cancelled by a
// CancelToken (base/cancel.h): what a scope of the calling thread names. Errors are thrown
// (base/exception.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/base/cancel.h"
#include "pippin/base/exception.h"
#include "pippin/base/export.h"
#include "pippin/chat/message.h"
#include "pippin/runtime/batch.h"
#include "pippin/runtime/generator.h"
#include "pippin/runtime/load_options.h"
#include "pippin/runtime/sequence.h"

namespace pippin {

using runtime::Batch;
using runtime::Capabilities;
using runtime::LogitsProcessor;
using runtime::Logprobs;
using runtime::Overflow;
using runtime::Rows;
using runtime::SamplingOptions;
using runtime::Sequence;
using runtime::StopReason;

struct LanguageModelOptions : runtime::LoadOptions {
  // A folder or file, or org/name; empty: the model's own.
  std::string tokenizer = {};
  // Called while a repository is pulled, from any thread: bytes done and in all.
  std::function<void(const std::string& repository, uint64_t done, uint64_t total)> progress = {};
};

// How a text is made. What is not given comes from the model's own files.
struct TextSettings {
  std::optional<SamplingOptions> sampling;
  int64_t max_tokens = -1;        // negative: until another reason
  std::vector<std::string> stop;  // the text ends before the first of these
  Overflow overflow = Overflow::Stop;
  // The first links of the chain that chooses tokens: a mask, a bias by position.
  std::vector<std::shared_ptr<const LogitsProcessor>> processors;
  int64_t logprobs = -1;  // tell so many of the likeliest tokens of each step; negative: of none
};

// A text, and what it took.
struct Completion {
  std::string text;
  std::vector<int32_t> ids;        // without the end token
  std::vector<Logprobs> logprobs;  // one for each of these, where asked for
  StopReason reason = StopReason::MaxTokens;
  int64_t prompt_tokens = 0;  // of the whole conversation
  int64_t cached_tokens = 0;  // those of them that were computed before
  runtime::Timings timings;
};

// Is called with each piece of text, valid UTF-8; false ends it: StopReason::Callback.
using OnText = std::function<bool(std::string_view piece)>;

class PIPPIN_API LanguageModel {
 public:
  // `model` is a package, a folder of packages, a Hugging Face folder, org/name on the Hub (from
  // the cache, or pulled into it), or "demo", the one inside Pippin. A path that exists wins.
  // Throws NotFound; InvalidFile; Unsupported for a model that is no language model, or has
  // something that Pippin lacks; Network.
  static LanguageModel load(const std::string& model, const LanguageModelOptions& options = {});

  const std::string& name() const;  // as load() got it
  int64_t context() const;          // the most tokens of a sequence
  int64_t vocab_size() const;
  const Capabilities& capabilities() const;
  bool has_chat_template() const;
  const SamplingOptions& default_sampling() const;  // that the model's files recommend; else greedy
  std::vector<int32_t> end_tokens() const;          // of a text, and of an answer
  int num_threads() const;

  // With the special tokens that begin or end a text.
  std::vector<int32_t> encode(std::string_view text, bool add_special_tokens = true) const;
  // A conversation, ready for the assistant's answer. Throws InvalidArgument where the model has no
  // chat template or its template refuses the conversation; Unsupported for a template that uses
  // what Pippin lacks.
  std::vector<int32_t> encode(std::span<const Message> messages) const;
  // Ids that name no token are left out.
  std::string decode(std::span<const int32_t> ids, bool skip_special_tokens = true) const;

  // With nothing fed yet. Throws LimitExceeded, and Unsupported for a second one of a model that
  // can hold only one (capabilities()).
  std::unique_ptr<Sequence> new_sequence() const;
  Batch new_batch() const;

  // Feeds `prompt` behind what the sequence has and makes text until something ends it. The same
  // seed gives the same text, whatever else runs. A cancelled call ends with what there is, and
  // StopReason::Cancelled. Throws InvalidArgument for a sequence of another model, LimitExceeded
  // where the prompt does not fit, Unsupported for sampling with a model that has no logits.
  Completion generate(Sequence& sequence, std::span<const int32_t> prompt,
                      const TextSettings& settings = {}, const OnText& on_text = {}) const;

 private:
  friend class Chat;
  struct Loaded;
  explicit LanguageModel(std::shared_ptr<const Loaded> loaded) : loaded_(std::move(loaded)) {}
  std::shared_ptr<const Loaded> loaded_;
};

// A conversation with a model. Each answer feeds only what is new: the longest common beginning of
// the tokens stays, also where a template drops something of earlier messages. A model without a
// chat template goes on with the messages' texts, one after the other.
class PIPPIN_API Chat {
 public:
  explicit Chat(LanguageModel model, TextSettings settings = {});

  // The conversation. It may be changed between answers: system messages, another last message,
  // one that was saved.
  std::vector<Message> messages;
  TextSettings settings;

  // Adds a message of the user and then the answer; where this throws, neither stays.
  Completion send(std::string text, const OnText& on_text = {});
  // Answers the messages as they are and adds the answer, as far as it came.
  Completion answer(const OnText& on_text = {});

  const LanguageModel& model() const { return model_; }
  const Sequence& sequence() const { return *sequence_; }

 private:
  std::vector<int32_t> tokens() const;
  std::optional<int64_t> keep_common(std::span<const int32_t> ids);

  LanguageModel model_;
  std::unique_ptr<Sequence> sequence_;
};

}  // namespace pippin
