#include "pippin/server/text_job.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/model_output/answer_parser.h"
#include "pippin/runtime/banned_texts.h"
#include "pippin/runtime/constrained_sampling.h"
#include "pippin/runtime/thinking_budget.h"
#include "pippin/runtime/token_rules.h"
#include "pippin/server/prompt.h"

namespace pippin::server {
namespace {

using runtime::StopReason;

class TextJob final : public std::enable_shared_from_this<TextJob> {
 public:
  TextJob(std::shared_ptr<ServedModel> model, TextJobOptions options,
          std::shared_ptr<http::Reply> reply, std::unique_ptr<AnswerWriter> writer, OnJobEnd on_end)
      : model_(std::move(model)),
        options_(std::move(options)),
        reply_(std::move(reply)),
        writer_(std::move(writer)),
        on_end_(std::move(on_end)) {}

  void start(FormQueue& forms);

 private:
  class Choice;

  runtime::TextOptions text_options() const;
  void add_processors(runtime::TextOptions& options) const;
  void check_tokens(const std::vector<int32_t>& ids, const char* param) const;
  bool has_marks() const;
  std::string form_param() const;
  std::optional<app::AnswerForm> form() const;
  void compile(const FormQueue& forms, const app::AnswerForm& form) noexcept;
  void submit(const std::shared_ptr<constrain::Constraint>& constraint);
  model_output::AnswerParserOptions parser_options() const;
  void write(size_t choice, Piece piece);
  void on_prompt(size_t choice, int64_t done, int64_t total);
  void on_prompt_logprobs(size_t choice, std::span<const scheduling::PromptLogprobs> logprobs);
  void tell_prompt(size_t choice);
  bool on_token(size_t choice, const scheduling::Token& token);
  void on_end(size_t choice, const scheduling::Outcome& outcome, std::string_view rest);
  void cancel() noexcept;
  void forget_jobs();
  void finish(const ApiError* error);

  const std::shared_ptr<ServedModel> model_;
  const TextJobOptions options_;
  std::shared_ptr<http::Reply> reply_;
  runtime::TextOptions generation_;
  std::vector<float> adapters_;

  std::mutex mutex_;  // guards the members below
  std::unique_ptr<AnswerWriter> writer_;
  OnJobEnd on_end_;
  struct Reading {
    model_output::AnswerParser parser;
    std::optional<LineLimits> lines;
    bool has_calls = false;  // complete ones
    PromptTokens prompt;     // of the first choice of a prompt whose logprobs were requested
  };
  std::vector<Reading> readings_;  // one for each choice
  Usage usage_;
  bool has_ended_ = false;

  // A separate mutex: a write may wait for the connection while mutex_ is locked, and the
  // connection ends jobs.
  std::mutex jobs_mutex_;
  std::vector<std::shared_ptr<scheduling::Job>> jobs_;
};

// Listens to the scheduler for one choice.
class TextJob::Choice final : public scheduling::Listener {
 public:
  Choice(std::shared_ptr<TextJob> job, size_t index) : job_(std::move(job)), index_(index) {}
  void on_prompt(int64_t done, int64_t total) override { job_->on_prompt(index_, done, total); }
  void on_prompt_logprobs(std::span<const scheduling::PromptLogprobs> logprobs) override {
    job_->on_prompt_logprobs(index_, logprobs);
  }
  bool on_token(const scheduling::Token& token) override { return job_->on_token(index_, token); }
  void on_end(const scheduling::Outcome& outcome, std::string_view rest) override {
    job_->on_end(index_, outcome, rest);
  }

 private:
  const std::shared_ptr<TextJob> job_;
  const size_t index_;
};

runtime::TextOptions TextJob::text_options() const {
  const TextRequest& request = options_.request;
  const runtime::LoadedModel& loaded = model_->loaded;
  runtime::TextOptions options;
  options.max_tokens =
      request.max_tokens >= 0 ? request.max_tokens : loaded.config.max_new_tokens.value_or(-1);
  options.sampling = loaded.model->capabilities().greedy_only
                         ? request.sampling.greedy_only()
                         : request.sampling.over(loaded.config.sampling, loaded.tokenizer);
  if (!request.ignore_end) {
    options.end_ids = options_.is_chat ? model_->chat_end_ids : model_->end_ids;
  }
  check_tokens(request.stop_tokens, "stop_token_ids");
  options.end_ids.insert(options.end_ids.end(), request.stop_tokens.begin(),
                         request.stop_tokens.end());
  options.logprobs = request.top_logprobs;
  if (has_marks())
    options.shown_tokens = model_output::shown_tokens(*model_->calls, loaded.tokenizer);
  options.stop = request.stop;
  options.stop.insert(options.stop.end(), loaded.config.stop_strings.begin(),
                      loaded.config.stop_strings.end());
  options.max_drafts = request.max_drafts;
  if (!request.prediction.empty()) {
    options.predicted = loaded.tokenizer.encode(request.prediction, false);
  }
  return options;
}

void TextJob::check_tokens(const std::vector<int32_t>& ids, const char* param) const {
  const int64_t size = model_->loaded.model->vocab_size();
  for (const int32_t id : ids) {
    if (id < size) continue;
    throw ApiError(400, fmt::format("{}: token {} is not in the vocabulary of {}", param, id, size),
                   param);
  }
}

// Adds processors other than the form of the answer.
void TextJob::add_processors(runtime::TextOptions& options) const {
  const TextRequest& request = options_.request;
  if (request.min_tokens > 0) {
    options.processors.push_back(
        std::make_shared<runtime::MinTokens>(options.end_ids, request.min_tokens));
  }
  if (!request.allowed_tokens.empty()) {
    check_tokens(request.allowed_tokens, "allowed_token_ids");
    options.processors.push_back(std::make_shared<runtime::AllowedTokens>(request.allowed_tokens));
  }
  if (!request.banned_texts.empty()) {
    options.processors.push_back(
        std::make_shared<runtime::BannedTexts>(request.banned_texts, model_->forms->vocabulary()));
  }
  if (options_.is_chat && request.thinking_budget >= 0 && model_->reasoning != nullptr) {
    const auto mark = [](const model_output::Mark& one) {
      return runtime::ThinkingMark{one.text, one.ids};
    };
    options.processors.push_back(std::make_shared<runtime::ThinkingBudget>(
        mark(model_->reasoning->begin), mark(model_->reasoning->end), request.thinking_budget,
        options_.is_thinking, model_->loaded.tokenizer));
  }
}

// Whether marks of the model's syntax are part of the text.
bool TextJob::has_marks() const {
  if (!options_.is_chat || model_->calls == nullptr) return false;
  return options_.tools.callable != nullptr ||
         model_->calls->shape == model_output::CallSyntax::Shape::Channels;
}

model_output::AnswerParserOptions TextJob::parser_options() const {
  model_output::AnswerParserOptions options;
  if (!options_.is_chat) return options;
  const auto is_id = [](const model_output::CallPiece& piece) {
    return piece.kind == model_output::CallPiece::Kind::Id;
  };
  options.reasoning = model_->reasoning;
  options.splits_thoughts = options_.splits_reasoning;
  options.is_thinking = options_.is_thinking;
  options.prompt = options_.prompt_end;
  options.syntax = model_->calls;
  if (options.syntax == nullptr) return options;
  options.tools = options_.tools.callable;
  options.is_parallel = options_.tools.is_parallel;
  options.make_id =
      call_ids(options_.tools.id_prefix,
               std::any_of(options.syntax->pieces.begin(), options.syntax->pieces.end(), is_id));
  return options;
}

// Returns the request's field that prescribes the form of the answer.
std::string TextJob::form_param() const {
  return options_.request.form ? options_.request.form->param : "tools";
}

// Returns the form of the answer; nothing if any is allowed.
std::optional<app::AnswerForm> TextJob::form() const {
  const ToolRequest& tools = options_.tools;
  const bool has_form = options_.request.form.has_value();
  if (!has_form && !tools.is_constrained()) return std::nullopt;
  app::AnswerForm form =
      has_form ? options_.request.form->form : app::AnswerForm{.kind = app::AnswerForm::Kind::Text};
  // The caller's grammar prescribes the whole answer, except for thoughts that the prompt began.
  const bool says_all = form.kind == app::AnswerForm::Kind::Grammar;
  const bool needs_calls = tools.choice == ToolRequest::Choice::Required;
  if (has_form && needs_calls) {
    throw ApiError(400, "tool_choice: the answer's form is given by " + form_param() + " already",
                   "tool_choice");
  }
  if (tools.callable != nullptr && !says_all) {
    form.calls = {model_->calls, tools.callable, needs_calls, tools.is_parallel};
  }
  const bool may_think = !says_all || options_.is_thinking;
  const bool knows_thoughts =
      form.calls.has_value() && model_->calls->shape == model_output::CallSyntax::Shape::Channels;
  if (options_.is_chat && may_think && !knows_thoughts && model_->reasoning != nullptr) {
    const auto mark = [](const model_output::Mark& one) {
      return app::AnswerForm::Mark{one.text, one.ids};
    };
    form.thoughts = {mark(model_->reasoning->begin), mark(model_->reasoning->end),
                     options_.is_thinking};
  }
  return form;
}

void TextJob::start(FormQueue& forms) {
  for (const auto& prompt : options_.prompts) {
    check_prompt(*model_, prompt, options_.prompt_field, options_.dialect);
  }
  try {
    generation_ = text_options();
  } catch (const Error& error) {
    throw sampling_error(error);
  }
  adapters_ = adapters_of(*model_->loaded.model, model_->name, options_.request.model,
                          options_.request.adapters, model_->adapters);
  const std::optional<app::AnswerForm> wanted = form();
  if (!wanted) return submit(nullptr);
  if (const auto known = model_->forms->find(*wanted)) return submit(known);
  const bool is_taken = forms.add(
      [self = shared_from_this(), &forms, form = *wanted] { self->compile(forms, form); });
  if (!is_taken) throw ApiError(503, "too many forms of answers wait to be compiled");
}

// Runs in a thread of the queue and reports errors to the client itself.
void TextJob::compile(const FormQueue& forms, const app::AnswerForm& form) noexcept try {
  if (reply_->is_gone()) return;
  submit(forms.compile(*model_->forms, form, *reply_, form_param()));
} catch (...) {
  const ApiError error = api_error(std::current_exception());
  const std::lock_guard lock(mutex_);
  on_end_ = {};  // the answer has not begun
  reply_->send(error_response(error, options_.dialect));
  finish(&error);
}

void TextJob::submit(const std::shared_ptr<constrain::Constraint>& constraint) {
  runtime::TextOptions& options = generation_;
  if (constraint != nullptr) {
    options.processors.push_back(std::make_shared<runtime::ConstrainedSampling>(
        constraint, options.end_ids, model_->loaded.tokenizer));
  }
  add_processors(options);
  const std::lock_guard lock(mutex_);  // nothing is written before all jobs are submitted
  const auto choices = static_cast<uint64_t>(options_.request.choices);
  const uint64_t seed = options.sampling.seed;
  try {
    for (const auto& prompt : options_.prompts) {
      for (uint64_t choice = 0; choice < choices; ++choice) {
        options.sampling.seed = seed + choice;
        readings_.push_back({model_output::AnswerParser(parser_options())});
        if (options_.lines) readings_.back().lines.emplace(*options_.lines);
        const auto listener = std::make_shared<Choice>(shared_from_this(), readings_.size() - 1);
        // Only once for all choices of a prompt.
        const int64_t prompt_logprobs = choice == 0 ? options_.request.prompt_logprobs : -1;
        auto job = model_->scheduler->submit(
            {prompt, options, prompt_logprobs, options_.rows, options_.in_background, adapters_},
            listener);
        const std::lock_guard jobs_lock(jobs_mutex_);
        jobs_.push_back(std::move(job));
      }
    }
  } catch (const Error& error) {
    has_ended_ = true;
    cancel();
    forget_jobs();
    // The prompt fits, so only the length of the queue can be exceeded.
    if (error.code() == ErrorCode::LimitExceeded) throw ApiError(503, error.what());
    throw api_error(error);
  }
  writer_->begin();
  reply_->when_gone([job = weak_from_this()] {
    if (const auto kept = job.lock()) kept->cancel();
  });
}

void TextJob::cancel() noexcept {
  const std::lock_guard lock(jobs_mutex_);
  for (const auto& job : jobs_) job->cancel();
}

void TextJob::on_prompt(size_t choice, int64_t done, int64_t total) {
  if (choice != 0 || !options_.request.with_progress) return;
  const std::lock_guard lock(mutex_);
  if (!has_ended_) writer_->on_progress(done, total);
}

void TextJob::on_prompt_logprobs(size_t choice,
                                 std::span<const scheduling::PromptLogprobs> logprobs) {
  const std::lock_guard lock(mutex_);
  if (has_ended_) return;
  const Tokenizer& tokenizer = model_->loaded.tokenizer;
  for (const scheduling::PromptLogprobs& one : logprobs) {
    PromptToken token{one.chosen.id, tokenizer.token_bytes(one.chosen.id), one};
    for (const auto& top : one.top) token.top_texts.push_back(tokenizer.token_bytes(top.id));
    readings_[choice].prompt.push_back(std::move(token));
  }
}

// Called with the first token, so that nothing is written earlier.
void TextJob::tell_prompt(size_t choice) {
  const auto choices = static_cast<size_t>(options_.request.choices);
  if (options_.request.prompt_logprobs < 0 || choice % choices != 0) return;
  const int32_t first = options_.prompts[choice / choices].front();
  PromptTokens tokens = {{first, model_->loaded.tokenizer.token_bytes(first)}};
  PromptTokens& others = readings_[choice].prompt;
  std::move(others.begin(), others.end(), std::back_inserter(tokens));
  writer_->on_prompt_tokens(choice / choices, std::move(tokens));
}

bool TextJob::on_token(size_t choice, const scheduling::Token& token) {
  const std::lock_guard lock(mutex_);
  if (has_ended_ || reply_->is_gone()) return false;
  Reading& reading = readings_[choice];
  if (reading.parser.is_thinking()) ++usage_.reasoning_tokens;
  const std::string text =
      reading.lines ? reading.lines->push(token.piece) : std::string(token.piece);
  Piece piece{reading.parser.push(token.id, text), token.logprobs};
  piece.id = token.id;
  if (token.logprobs != nullptr) {
    const Tokenizer& tokenizer = model_->loaded.tokenizer;
    piece.token = tokenizer.token_bytes(token.id);
    for (const auto& top : token.logprobs->top) {
      piece.top_tokens.push_back(tokenizer.token_bytes(top.id));
    }
  }
  if (piece.logprobs != nullptr || !piece.parts.empty() || options_.tells_tokens) {
    write(choice, std::move(piece));
  }
  return !reading.parser.is_over() && !(reading.lines && reading.lines->is_over());
}

void TextJob::write(size_t choice, Piece piece) {
  if (options_.hides_thoughts) {
    std::erase_if(piece.parts, [](const model_output::AnswerPart& part) {
      return part.kind == model_output::AnswerPart::Kind::Thoughts;
    });
  }
  for (const model_output::AnswerPart& part : piece.parts) {
    if (part.kind == model_output::AnswerPart::Kind::CallEnd) readings_[choice].has_calls = true;
  }
  writer_->on_piece(choice, piece);
}

void TextJob::on_end(size_t choice, const scheduling::Outcome& outcome, std::string_view rest) {
  const std::lock_guard lock(mutex_);
  // The choices of a prompt count its tokens only once, as OpenAI does.
  if (choice % static_cast<size_t>(options_.request.choices) == 0) {
    usage_.prompt_tokens += outcome.prompt_tokens;
    usage_.cached_tokens += outcome.cached_tokens;
    usage_.queue_seconds = std::max(usage_.queue_seconds, outcome.queue_seconds);
    usage_.prompt_seconds = std::max(usage_.prompt_seconds, outcome.prompt_seconds);
    usage_.first_token_seconds = std::max(usage_.first_token_seconds, outcome.first_token_seconds);
  }
  usage_.generated_tokens += outcome.generated_tokens;
  usage_.drafted_tokens += outcome.drafted_tokens;
  usage_.accepted_tokens += outcome.accepted_tokens;
  usage_.total_seconds = std::max(usage_.total_seconds, outcome.total_seconds);
  ++usage_.choices;
  if (has_ended_) return;
  if (outcome.error != nullptr) {
    cancel();
    const ApiError error = api_error(outcome.error);
    writer_->fail(error);
    return finish(&error);
  }
  Reading& reading = readings_[choice];
  std::string text(rest);
  if (reading.lines) text = reading.lines->push(text) + reading.lines->finish();
  const bool is_cut_short = reading.lines && reading.lines->is_over();
  const bool is_over =
      outcome.reason == StopReason::Callback && (reading.parser.is_over() || is_cut_short);
  if (!is_over &&
      (outcome.reason == StopReason::Cancelled || outcome.reason == StopReason::Callback)) {
    cancel();
    const ApiError error(503, "the request was cancelled");
    writer_->fail(error);
    return finish(&error);
  }
  const bool is_cut = outcome.reason == StopReason::MaxTokens ||
                      outcome.reason == StopReason::ContextFull || is_cut_short;
  if (options_.request.keeps_stop) text += outcome.stop_string;
  tell_prompt(choice);
  Piece last{reading.parser.finish(text, is_cut)};
  if (!last.parts.empty()) write(choice, std::move(last));
  const Finish how = is_cut ? Finish::Length : reading.has_calls ? Finish::ToolCalls : Finish::Stop;
  writer_->on_choice_end(choice, how, outcome.stop_string);
  if (usage_.choices < std::ssize(readings_)) return;
  writer_->end(usage_);
  finish(nullptr);
}

void TextJob::finish(const ApiError* error) {
  has_ended_ = true;
  if (const auto on_end = std::exchange(on_end_, {})) on_end(usage_, error);
  writer_.reset();
  reply_.reset();
  forget_jobs();  // they refer to this object, too
}

void TextJob::forget_jobs() {
  std::vector<std::shared_ptr<scheduling::Job>> ended;
  const std::lock_guard lock(jobs_mutex_);
  ended.swap(jobs_);
}

}  // namespace

void start_text_job(std::shared_ptr<ServedModel> model, TextJobOptions options, FormQueue& forms,
                    std::shared_ptr<http::Reply> reply, std::unique_ptr<AnswerWriter> writer,
                    OnJobEnd on_end) {
  std::make_shared<TextJob>(std::move(model), std::move(options), std::move(reply),
                            std::move(writer), std::move(on_end))
      ->start(forms);
}

}  // namespace pippin::server
