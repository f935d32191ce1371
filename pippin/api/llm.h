// Language models: loading one, feeding sequences, generating text, and conversations.
//
//   const auto model = pippin::LanguageModel::load("org/name");
//   pippin::Chat chat(model);
//   chat.send("Why is the sky blue?", [](std::string_view piece) { ... return true; });
//
// A LanguageModel is cheap to copy and may be shared between threads. A Sequence, a Batch and a
// Chat may be used from any thread, but by one at a time. Long calls can be cancelled with a
// CancelToken (base/threads/cancel.h) that a scope on the calling thread sets. Errors are thrown as
// pippin::Error (base/exception.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/base/exception.h"
#include "pippin/base/export.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/chat/message.h"
#include "pippin/runtime/batch.h"
#include "pippin/runtime/generator.h"
#include "pippin/runtime/load_options.h"
#include "pippin/runtime/sequence.h"
#include "pippin/runtime/vision_prompt.h"

namespace pippin {

using runtime::Batch;
using runtime::Capabilities;
using runtime::EmbeddedRows;
using runtime::LogitsProcessor;
using runtime::Logprobs;
using runtime::Overflow;
using runtime::provide_rows;
using runtime::Rows;
using runtime::SamplingOptions;
using runtime::Sequence;
using runtime::StopReason;
using runtime::VisionPrompt;

struct LanguageModelParts;

// Options of LanguageModel::load().
struct LanguageModelOptions : runtime::LoadOptions {
  // A folder, a file or org/name. Empty: the model's own tokenizer.
  std::string tokenizer = {};
  // Called while a repository is downloaded, from any thread, with the bytes done and in total.
  std::function<void(const std::string& repository, uint64_t done, uint64_t total)> progress = {};
};

// The required form of a text (docs/constraints.md): JSON matching a schema, any JSON object, a
// text of a grammar (GBNF), a match of a regular expression, one of a list.
struct TextForm {
  // The kinds of forms.
  enum class Kind : uint8_t { JsonSchema, JsonObject, Grammar, Regex, Choice };
  Kind kind = Kind::JsonObject;           // decides which of the other members is used
  std::string text = {};                  // the schema, the grammar or the expression
  std::vector<std::string> choices = {};  // for Kind::Choice: the text is one of these
};

// Settings of text generation. Defaults come from the model's own files.
struct TextSettings {
  // The choice of tokens; by default, LanguageModel::default_sampling().
  std::optional<SamplingOptions> sampling;
  // The most tokens to generate; negative: the max_new_tokens of the model's own files, or no
  // limit.
  int64_t max_tokens = -1;
  // The text ends before the first of these, or of the model's own stop strings.
  std::vector<std::string> stop;
  Overflow overflow = Overflow::Stop;  // the action at the end of the context
  // Compiled once per model and cached. A form that is invalid or not supported throws
  // InvalidArgument, InvalidFile, Unsupported or LimitExceeded before anything is generated.
  std::optional<TextForm> form = {};
  bool drafts = true;  // guess tokens by lookup and verify them together: the same text, sooner
  // They see the logits before the rest of the sampling chain: for a mask, or a bias by position.
  std::vector<std::shared_ptr<const LogitsProcessor>> processors;
  int64_t logprobs = -1;  // how many of the most likely tokens to report per step; negative: none
};

// The generated text and its statistics.
struct Completion {
  std::string text;                           // the generated text, UTF-8
  std::vector<int32_t> ids;                   // the generated tokens, without the end token
  std::vector<Logprobs> logprobs;             // one per id, if requested
  StopReason reason = StopReason::MaxTokens;  // the reason for the end of the text
  int64_t prompt_tokens = 0;  // the tokens of the whole conversation before the text
  int64_t cached_tokens = 0;  // those of prompt_tokens that were in the cache already
  runtime::Timings timings;   // of this call
};

// Called with each piece of text, which is valid UTF-8. Returning false ends the text with
// StopReason::Callback.
using OnText = std::function<bool(std::string_view piece)>;

// Called with each token and the text that it adds, which is valid UTF-8 and may be empty; at the
// end with -1 and the text held back. Returning false ends the text with StopReason::Callback.
using OnToken = std::function<bool(int32_t id, std::string_view piece)>;

// A loaded language model with its tokenizer and chat template.
class PIPPIN_API LanguageModel {
 public:
  // Loads a package, a folder of packages, a Hugging Face folder, org/name on the Hub (taken from
  // the cache or downloaded into it), or "demo", the model inside Pippin. An existing path takes
  // precedence. Throws NotFound; InvalidFile; Network; Unsupported for a model that is not a
  // language model or needs something that Pippin lacks.
  static LanguageModel load(const std::string& model, const LanguageModelOptions& options = {});

  // The name that load() was given.
  const std::string& name() const;
  // The most tokens that a sequence can have.
  int64_t context() const;
  // The number of tokens, and of logits.
  int64_t vocab_size() const;
  // The abilities of the model's sequences.
  const Capabilities& capabilities() const;
  // Whether encode(messages) and render() work.
  bool has_chat_template() const;
  // The sampling options of generation_config.json, else greedy ones.
  const SamplingOptions& default_sampling() const;
  // Returns the tokens whose text has a newline, a colon, a quote or an asterisk: generate() takes
  // them in place of an empty SamplingOptions::dry_breakers.
  std::vector<int32_t> default_dry_breakers() const;
  // The tokens that end a text or an answer.
  std::vector<int32_t> end_tokens() const;
  // The threads that the model computes with.
  int num_threads() const;

  // Returns the token ids of a text, with the special tokens that begin or end it. Throws
  // LimitExceeded beyond 2^30 bytes.
  std::vector<int32_t> encode(std::string_view text, bool add_special_tokens = true) const;
  // Returns the token ids of a conversation, up to where the assistant's answer begins. Throws
  // InvalidArgument if the model has no chat template or the template rejects the conversation;
  // Unsupported for a template that uses something that Pippin lacks.
  std::vector<int32_t> encode(std::span<const Message> messages) const;
  // Whether messages may have images.
  bool takes_images() const;
  // As encode(), for messages with images: generate() takes the ids after provide_rows() has given
  // the rows to the sequence. Also throws Unsupported if the model takes text only; InvalidFile,
  // Unsupported and LimitExceeded for images that cannot be read.
  VisionPrompt prompt(std::span<const Message> messages) const;
  // The same for a conversation in JSON, as render() takes it. In contents that are lists of parts,
  // {"type": "text", "text": ...} and {"type": "image"}, each image is the next of `images`. Also
  // throws the errors of render(), and InvalidArgument for another number of images and for parts
  // of other types.
  VisionPrompt prompt(std::string_view conversation, std::span<const MessageImage> images) const;
  // Returns the text that the model's chat template makes of a conversation in JSON: the list of
  // messages, or an object with "messages" and other values that the template uses ("tools",
  // "documents", "add_generation_prompt" ...), by default up to where the assistant's answer
  // begins. encode(text, false) returns its tokens. Throws as encode(), and InvalidFile for
  // anything else.
  std::string render(std::string_view conversation) const;
  // Returns the text of token ids. Ids that are not in the vocabulary are skipped.
  std::string decode(std::span<const int32_t> ids, bool skip_special_tokens = true) const;

  // Returns an empty sequence. Throws LimitExceeded if there is no memory for it; Unsupported for a
  // second sequence of a model that can have only one (capabilities()).
  std::unique_ptr<Sequence> new_sequence() const;
  // Returns an empty batch, for steps of several sequences of this model.
  Batch new_batch() const;

  // Appends `prompt` to the sequence and generates text until something ends it. The same seed
  // gives the same text, whatever else runs at the same time. A cancelled call returns the text so
  // far, with StopReason::Cancelled. Throws InvalidArgument for a sequence of another model,
  // LimitExceeded if the prompt does not fit, Unsupported for sampling from a model without logits.
  Completion generate(Sequence& sequence, std::span<const int32_t> prompt,
                      const TextSettings& settings = {}, const OnText& on_text = {}) const;
  // As generate(), token by token.
  Completion generate_tokens(Sequence& sequence, std::span<const int32_t> prompt,
                             const TextSettings& settings, const OnToken& on_token) const;

 private:
  friend class Chat;
  friend class TokenDecoder;
  friend struct LanguageModelParts;
  explicit LanguageModel(std::shared_ptr<const LanguageModelParts> parts)
      : parts_(std::move(parts)) {}
  std::shared_ptr<const LanguageModelParts> parts_;
};

// Converts tokens to text one by one, for callers that choose the tokens themselves. The pieces,
// with finish() last, add up to the result of decode(); each is valid UTF-8, and text that a later
// token could change is held back.
class PIPPIN_API TokenDecoder {
 public:
  // Starts a text; keeps the model alive.
  explicit TokenDecoder(const LanguageModel& model, bool skip_special_tokens = true);
  TokenDecoder(TokenDecoder&&) noexcept;
  TokenDecoder& operator=(TokenDecoder&&) noexcept;
  ~TokenDecoder();

  // Adds a token and returns the text that is certain now.
  std::string push(int32_t id);
  // Returns the rest; no tokens may follow.
  std::string finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// A conversation with a model. Each answer computes only new tokens: the longest common prefix of
// the tokens stays in the cache, even if the template drops parts of earlier messages. A model
// without a chat template continues the concatenated texts of the messages.
class PIPPIN_API Chat {
 public:
  // Starts an empty conversation. Throws as LanguageModel::new_sequence().
  explicit Chat(LanguageModel model, TextSettings settings = {});

  // The conversation, which may be changed freely between answers.
  std::vector<Message> messages;
  TextSettings settings;  // used by every answer; may be changed between answers as well

  // Appends a user message and then the answer. If it throws, neither is kept.
  Completion send(std::string text, const OnText& on_text = {});
  // The same with images, before the text. Throws as LanguageModel::prompt().
  Completion send(std::string text, std::vector<MessageImage> images, const OnText& on_text = {});
  // Answers the current messages and appends the answer, even if it is incomplete. Throws as
  // LanguageModel::encode() and generate(), and InvalidArgument if the messages have no tokens.
  Completion answer(const OnText& on_text = {});

  // The model.
  const LanguageModel& model() const { return model_; }
  // The tokens and the cache of the conversation so far.
  const Sequence& sequence() const { return *sequence_; }

 private:
  VisionPrompt prompt() const;
  std::optional<int64_t> keep_common(std::span<const int32_t> ids);

  LanguageModel model_;
  std::unique_ptr<Sequence> sequence_;
};

}  // namespace pippin
