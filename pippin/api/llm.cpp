#include "pippin/api/llm.h"

#include <memory>
#include <utility>

#include "pippin/api/llm_parts.h"
#include "pippin/app/conversation.h"
#include "pippin/app/open/open_model.h"
#include "pippin/app/prompt_tokens.h"
#include "pippin/app/sampling_choice.h"
#include "pippin/runtime/constrained_sampling.h"

namespace pippin {
namespace {

app::AnswerForm::Kind kind_of(TextForm::Kind kind) {
  switch (kind) {
    case TextForm::Kind::JsonSchema:
      return app::AnswerForm::Kind::JsonSchema;
    case TextForm::Kind::JsonObject:
      break;
    case TextForm::Kind::Grammar:
      return app::AnswerForm::Kind::Grammar;
    case TextForm::Kind::Regex:
      return app::AnswerForm::Kind::Regex;
    case TextForm::Kind::Choice:
      return app::AnswerForm::Kind::Choice;
  }
  return app::AnswerForm::Kind::JsonObject;
}

}  // namespace

LanguageModel LanguageModel::load(const std::string& model, const LanguageModelOptions& options) {
  app::ModelChoice choice = {model == "demo" ? std::string() : model, options.tokenizer,
                             static_cast<const runtime::LoadOptions&>(options)};
  if (options.progress) {
    choice.pulls = [progress = options.progress](const std::string& repository,
                                                 hub::PullOptions& pull) {
      pull.progress = [progress, repository](uint64_t done, uint64_t total) {
        progress(repository, done, total);
      };
      return std::shared_ptr<void>();
    };
  }
  auto parts = std::make_shared<LanguageModelParts>(
      LanguageModelParts{model, app::open_model(choice), {}, {}, {}});
  parts->forms = std::make_unique<app::FormCompiler>(parts->model.tokenizer);
  parts->drafts = std::make_shared<runtime::Drafts>();
  parts->end_ids = app::end_tokens(parts->model, true);
  return LanguageModel(std::move(parts));
}

runtime::TextOptions LanguageModelParts::options(const TextSettings& settings) const {
  runtime::TextOptions options;
  options.sampling = settings.sampling.value_or(model.config.sampling);
  if (options.sampling.dry_multiplier > 0 && options.sampling.dry_breakers.empty()) {
    options.sampling.dry_breakers = dry_breakers();
  }
  options.max_tokens =
      settings.max_tokens >= 0 ? settings.max_tokens : model.config.max_new_tokens.value_or(-1);
  options.stop = settings.stop;
  options.stop.insert(options.stop.end(), model.config.stop_strings.begin(),
                      model.config.stop_strings.end());
  options.overflow = settings.overflow;
  options.processors = settings.processors;
  if (settings.form) {
    app::AnswerForm form;
    form.kind = kind_of(settings.form->kind);
    form.text = settings.form->text;
    form.choices = settings.form->choices;
    options.processors.push_back(std::make_shared<runtime::ConstrainedSampling>(
        forms->compile(form), end_ids, model.tokenizer));
  }
  if (settings.drafts) options.drafts = drafts;
  options.logprobs = settings.logprobs;
  options.end_ids = end_ids;
  return options;
}

std::vector<int32_t> LanguageModelParts::dry_breakers() const {
  return app::tokens_with(model.tokenizer, app::SamplingChoice().dry_breakers);
}

void LanguageModelParts::check(const Sequence& sequence) const {
  if (&sequence.model() != model.model.get()) {
    fail(ErrorCode::InvalidArgument, "the sequence is of another model than {}", name);
  }
}

std::vector<int32_t> LanguageModel::default_dry_breakers() const {
  return parts_->dry_breakers();
}

const std::string& LanguageModel::name() const {
  return parts_->name;
}

int64_t LanguageModel::context() const {
  return parts_->model.model->context();
}

int64_t LanguageModel::vocab_size() const {
  return parts_->model.model->vocab_size();
}

const Capabilities& LanguageModel::capabilities() const {
  return parts_->model.model->capabilities();
}

bool LanguageModel::has_chat_template() const {
  return parts_->model.chat_template.has_value();
}

const SamplingOptions& LanguageModel::default_sampling() const {
  return parts_->model.config.sampling;
}

std::vector<int32_t> LanguageModel::end_tokens() const {
  return parts_->end_ids;
}

int LanguageModel::num_threads() const {
  return parts_->model.pool->num_threads();
}

std::vector<int32_t> LanguageModel::encode(std::string_view text, bool add_special_tokens) const {
  return parts_->model.tokenizer.encode(text, add_special_tokens);
}

std::vector<int32_t> LanguageModel::encode(std::span<const Message> messages) const {
  return app::chat_tokens(parts_->model, messages);
}

bool LanguageModel::takes_images() const {
  return parts_->model.images != nullptr;
}

VisionPrompt LanguageModel::prompt(std::span<const Message> messages) const {
  return app::chat_prompt(parts_->model, messages);
}

VisionPrompt LanguageModel::prompt(std::string_view conversation,
                                   std::span<const MessageImage> images) const {
  const app::Conversation parsed =
      app::parse_conversation(conversation, "conversation", PromptEnd::Generation);
  return app::conversation_prompt(parts_->model, app::chat_template(parts_->model), parsed,
                                  app::image_files(images));
}

std::string LanguageModel::render(std::string_view conversation) const {
  const app::Conversation parsed =
      app::parse_conversation(conversation, "conversation", PromptEnd::Generation);
  return app::chat_template(parts_->model).render(parsed.context, parsed.end, parsed.options);
}

std::string LanguageModel::decode(std::span<const int32_t> ids, bool skip_special_tokens) const {
  return parts_->model.tokenizer.decode(ids, skip_special_tokens);
}

std::unique_ptr<Sequence> LanguageModel::new_sequence() const {
  return parts_->model.model->new_sequence();
}

Batch LanguageModel::new_batch() const {
  return Batch(parts_->model.model);
}

Completion LanguageModel::generate(Sequence& sequence, std::span<const int32_t> prompt,
                                   const TextSettings& settings, const OnText& on_text) const {
  return generate_tokens(sequence, prompt, settings, [&](int32_t /*id*/, std::string_view piece) {
    return piece.empty() || !on_text || on_text(piece);
  });
}

Completion LanguageModel::generate_tokens(Sequence& sequence, std::span<const int32_t> prompt,
                                          const TextSettings& settings,
                                          const OnToken& on_token) const {
  parts_->check(sequence);
  Completion result;
  result.cached_tokens = sequence.position();
  result.prompt_tokens = result.cached_tokens + static_cast<int64_t>(prompt.size());
  auto made = runtime::generate_text(sequence, parts_->model.tokenizer, prompt,
                                     parts_->options(settings), on_token);
  result.text = std::move(made.text);
  result.ids = std::move(made.ids);
  result.logprobs = std::move(made.logprobs);
  result.reason = made.reason;
  result.timings = std::move(made.timings);
  return result;
}

struct TokenDecoder::Impl {
  LanguageModel model;  // the owner of the tokenizer
  StreamDecoder decoder;
};

TokenDecoder::TokenDecoder(const LanguageModel& model, bool skip_special_tokens)
    : impl_(std::make_unique<Impl>(
          Impl{model, StreamDecoder(model.parts_->model.tokenizer, skip_special_tokens)})) {}
TokenDecoder::TokenDecoder(TokenDecoder&&) noexcept = default;
TokenDecoder& TokenDecoder::operator=(TokenDecoder&&) noexcept = default;
TokenDecoder::~TokenDecoder() = default;

std::string TokenDecoder::push(int32_t id) {
  return impl_->decoder.push(id);
}

std::string TokenDecoder::finish() {
  return impl_->decoder.finish();
}

Chat::Chat(LanguageModel model, TextSettings given)
    : settings(std::move(given)), model_(std::move(model)), sequence_(model_.new_sequence()) {}

VisionPrompt Chat::prompt() const {
  if (model_.has_chat_template() || model_.parts_->model.template_error) {
    return model_.prompt(messages);
  }
  std::string text;
  for (const Message& message : messages) {
    if (!message.images.empty()) {
      fail(ErrorCode::Unsupported, "{}: the model has no chat template",
           message.images.front().name);
    }
    text += message.content;
  }
  return {model_.encode(text), {}};
}

// The number of `ids`, fewer than all, that the sequence has and keeps. Nullopt if the call was
// cancelled while it waited for the model.
std::optional<int64_t> Chat::keep_common(std::span<const int32_t> ids) try {
  const int64_t keep = runtime::keepable(*sequence_, sequence_->tokens(), ids);
  if (keep == 0) {
    sequence_->reset();
  } else if (keep < sequence_->position()) {
    sequence_->truncate(keep);
  }
  return keep;
} catch (const Error& error) {
  if (error.code() != ErrorCode::Cancelled) throw;
  return std::nullopt;
}

Completion Chat::send(std::string text, const OnText& on_text) {
  return send(std::move(text), std::vector<MessageImage>(), on_text);
}

Completion Chat::send(std::string text, std::vector<MessageImage> images, const OnText& on_text) {
  messages.push_back({"user", std::move(text), std::move(images)});
  try {
    return answer(on_text);
  } catch (...) {
    messages.pop_back();
    throw;
  }
}

Completion Chat::answer(const OnText& on_text) {
  const VisionPrompt whole = prompt();
  const std::vector<int32_t>& ids = whole.ids;
  if (ids.empty()) fail(ErrorCode::InvalidArgument, "the conversation has no tokens to answer");
  Completion result;
  if (const auto kept = keep_common(ids)) {
    provide_rows(*sequence_, whole, *kept);
    result = model_.generate(*sequence_, std::span(ids).subspan(static_cast<size_t>(*kept)),
                             settings, on_text);
  } else {
    result.reason = StopReason::Cancelled;
  }
  messages.push_back({"assistant", result.text});
  return result;
}

}  // namespace pippin
