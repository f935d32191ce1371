#include "pippin/python/generation.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include "pippin/base/error.h"
#include "pippin/base/stopwatch.h"
#include "pippin/python/docstrings.h"
#include "pippin/python/errors.h"
#include "pippin/python/lock.h"
#include "pippin/python/options.h"
#include "pippin/runtime/draft/drafts.h"
#include "pippin/runtime/sampling/option_table.h"

namespace pippin::python {
namespace {

namespace py = pybind11;

// Tokens generated ahead of the consumer, so that the model does not wait for Python.
constexpr size_t kAhead = 2;

void take_sampling(Options& options, SamplingOptions& sampling) {
  for (const runtime::SamplingOption& known : runtime::sampling_options()) {
    std::visit([&](const auto& of) { options.take(known.name, sampling.*of.option); },
               known.member);
  }
  options.take("logit_bias", sampling.logit_bias);
  options.take("seed", sampling.seed);
}

void take_form(Options& options, std::optional<TextForm>& form) {
  constexpr std::pair<const char*, TextForm::Kind> kForms[] = {
      {"json_schema", TextForm::Kind::JsonSchema},
      {"grammar", TextForm::Kind::Grammar},
      {"regex", TextForm::Kind::Regex}};
  const auto set = [&](TextForm made) {
    if (form) {
      fail(ErrorCode::InvalidArgument,
           "json_schema, grammar, regex, choices: an answer has one form");
    }
    form = std::move(made);
  };
  for (const auto& [name, kind] : kForms) {
    std::string text;
    options.take(name, text);
    if (!text.empty()) set(TextForm{kind, text, {}});
  }
  std::vector<std::string> choices;
  options.take("choices", choices);
  if (!choices.empty()) set(TextForm{TextForm::Kind::Choice, {}, choices});
}

void take_drafts(Options& options, const PyLanguageModel& model, TextRequest& request) {
  bool wanted = true;
  options.take("drafts", wanted);
  const py::object draft = options.take_object("draft_model");
  int64_t most = -1;
  options.take("num_draft_tokens", most);
  if (most == 0 || (!wanted && draft.is_none())) request.options.drafts = nullptr;
  if (draft.is_none() || most == 0) return;
  if (!py::isinstance<PyLanguageModel>(draft)) {
    fail(ErrorCode::InvalidArgument, "draft_model: a {} is not a language model",
         std::string(py::str(py::type::of(draft).attr("__name__"))));
  }
  request.options.drafts = model.drafts_by(draft.cast<const PyLanguageModel&>(), most);
  request.options.max_drafts = most;
}

void take_progress(Options& options, TextRequest& request, BackgroundWork& background) {
  constexpr int64_t kPiece = 2048;
  const py::object progress = options.take_object("prompt_progress_callback");
  int64_t piece = kPiece;
  options.take("prefill_step_size", piece);
  if (piece < 1) fail(ErrorCode::InvalidArgument, "prefill_step_size is {}: 1 at least", piece);
  if (progress.is_none()) return;
  request.piece = piece;
  request.progress =
      [&background,
       call = std::shared_ptr<py::object>(new py::object(progress), [](py::object* kept) {
         const Locked lock;
         delete kept;
       })](int64_t done, int64_t total) { background.call_python([&] { (*call)(done, total); }); };
}

}  // namespace

VisionPrompt prompt_of(const PyPrompt& prompt) {
  const auto* const ids = std::get_if<std::vector<int32_t>>(&prompt);
  return ids == nullptr ? std::get<VisionPrompt>(prompt) : VisionPrompt{*ids, {}};
}

TextRequest request_of(const PyLanguageModel& model, const py::dict& given,
                       BackgroundWork& background, uint64_t number) {
  Options options(given);
  TextRequest request;
  TextSettings settings;
  Sampling sampling = sampling_of(options.take_object("sampler"), options.take_object("processors"),
                                  model.model(), background, number);
  take_sampling(options, sampling.options);
  settings.sampling = sampling.options;
  settings.processors = std::move(sampling.processors);
  options.take("max_tokens", settings.max_tokens);
  options.take("stop", settings.stop);
  take_form(options, settings.form);
  request.options = model.parts().options(settings);
  auto& processors = request.options.processors;
  options.take("logprobs", request.keeps_logits);
  if (request.keeps_logits && !processors.empty()) {
    request.tap = std::make_shared<ScoreTap>(model.model().vocab_size());
    processors.push_back(request.tap);
  }
  processors.insert(processors.end(), sampling.choice.begin(), sampling.choice.end());
  std::optional<std::vector<int32_t>> end_tokens;
  options.take("end_tokens", end_tokens);
  if (end_tokens) request.options.end_ids = *end_tokens;
  take_drafts(options, model, request);
  take_progress(options, request, background);
  options.refuse_others();
  request.options.sampling.check();
  return request;
}

void watch(TextRequest& request, std::function<void(const runtime::ChosenToken&, Row)> token) {
  request.options.on_chosen = [token = std::move(token), tap = request.tap,
                               keeps = request.keeps_logits](const runtime::ChosenToken& chosen) {
    Row row;
    if (tap != nullptr) {
      row = tap->take();
    } else if (keeps) {
      row = std::make_shared<std::vector<float>>(chosen.logits.begin(), chosen.logits.end());
    }
    token(chosen, std::move(row));
  };
}

Generation::Generation(const PyLanguageModel& model, std::shared_ptr<PySequence> sequence,
                       VisionPrompt prompt, const py::dict& options)
    : model_(model.model()),
      sequence_(std::move(sequence)),
      prompt_(std::move(prompt)),
      stream_(kAhead) {
  request_ = request_of(model, options, stream_.background());
  model.parts().check(sequence_->idle());
  watch(request_, [this](const runtime::ChosenToken& token, Row row) {
    (token.is_end ? end_ : chosen_) = {token.id, {}, token.was_drafted, std::move(row)};
    if (request_.progress) {  // once: the prompt is read
      const auto progress = std::exchange(request_.progress, nullptr);
      progress(std::ssize(prompt_.ids), std::ssize(prompt_.ids));
    }
  });
  start(sequence_->begin());
}

void Generation::start(Sequence& sequence) try {
  stream_.start([this, &sequence] {
    try {
      write(sequence);
    } catch (...) {
      sequence_->end();
      throw;
    }
    sequence_->end();
  });
} catch (const Error&) {
  sequence_->end();  // the thread was not started
  throw;
}

// Feeds all but the last piece of the prompt and reports the progress.
void Generation::read_prompt(Sequence& sequence, std::span<const int32_t>& prompt) {
  const auto total = std::ssize(prompt);
  const auto start = std::chrono::steady_clock::now();
  request_.progress(0, total);
  // A prompt that does not fit is rejected as a whole.
  if (sequence.position() + total > model_.context()) return;
  if (!prompt_.rows.empty()) return;  // pieces could end within an image
  for (int64_t left = total; left > 1; left = std::ssize(prompt)) {
    const auto size = static_cast<size_t>(std::min(request_.piece, left - 1));
    sequence.prefill(prompt.first(size));
    prompt = prompt.subspan(size);
    request_.progress(total - std::ssize(prompt), total);
  }
  read_seconds_ = seconds_since(start);
}

void Generation::write(Sequence& sequence) {
  std::span<const int32_t> prompt = prompt_.ids;
  provide_rows(sequence, prompt_, 0);
  if (request_.progress) read_prompt(sequence, prompt);
  result_ = runtime::generate_text(
      sequence, LanguageModelParts::of(model_).model.tokenizer, prompt, request_.options,
      [this](int32_t id, std::string_view piece) {
        Token token = id == runtime::kNoToken ? Token() : std::exchange(chosen_, {});
        token.id = id;
        token.text = piece;
        return stream_.give(std::move(token));
      });
  result_.timings.prompt_tokens = std::ssize(prompt_.ids);
  result_.timings.prompt_seconds += read_seconds_;
  result_.timings.first_token_seconds += read_seconds_;
}

Token Generation::next() {
  if (std::optional<Token> token = stream_.next()) {
    last_ = *token;
    return *std::move(token);
  }
  if (end_.id != runtime::kNoToken) last_ = end_;
  throw py::stop_iteration();
}

std::optional<int32_t> Generation::end_token() {
  result();  // throws before the end
  if (end_.id == runtime::kNoToken) return std::nullopt;
  return end_.id;
}

const runtime::TextResult& Generation::result() {
  if (!stream_.has_ended()) fail(ErrorCode::InvalidArgument, "the text has not ended yet");
  return result_;
}

namespace {

py::object object_of(const Row& row) {
  if (row == nullptr) return py::none();
  return py::cast(Logits{row});
}

py::dict timings_of(Generation& own) {
  const runtime::Timings& timings = own.result().timings;
  const runtime::Statistics statistics = runtime::summarize(timings);
  py::dict result;
  result["prompt_tokens"] = timings.prompt_tokens;
  result["prompt_seconds"] = timings.prompt_seconds;
  result["prompt_tokens_per_second"] = statistics.prompt_tokens_per_second;
  result["first_token_seconds"] = timings.first_token_seconds;
  result["tokens_per_second"] = statistics.tokens_over_elapsed;
  return result;
}

}  // namespace

void bind_generation(py::module_& module) {
  py::class_<Logits>(module, "Logits", docs::kLogits)
      .def(
          "logprobs",
          [](const Logits& own) {
            std::vector<float> result;
            without_lock([&] { result = log_softmax(*own.row); });
            return py::array_t<float>(static_cast<py::ssize_t>(result.size()), result.data());
          },
          "Their log probabilities, a new array.");
  py::class_<Generation>(module, "Generation", docs::kGeneration)
      .def("__iter__", [](py::object self) { return self; })
      .def("__next__",
           [](Generation& own) {
             const Token token = own.next();
             return std::pair(token.id, token.text);
           })
      .def("close", &Generation::close, "Ends the text; the sequence can be used again.")
      .def_property_readonly(
          "from_draft", [](const Generation& own) { return own.last().was_drafted; },
          "Whether the last token was drafted.")
      .def_property_readonly(
          "logits", [](const Generation& own) { return object_of(own.last().logits); },
          "The scores of the step that the token came from which came last, behind the end those "
          "of "
          "the end token; None without the option logprobs.")
      .def_property_readonly(
          "reason",
          [](Generation& own) { return std::string(runtime::to_string(own.result().reason)); },
          "Why the text ended; available after the end.")
      .def_property_readonly(
          "text", [](Generation& own) { return own.result().text; },
          "The whole text; available after the end.")
      .def_property_readonly(
          "tokens", [](Generation& own) { return own.result().ids; },
          "Its tokens; available after the end.")
      .def_property_readonly(
          "end_token", [](Generation& own) { return own.end_token(); },
          "The end token that ended it, or None; available after the end.")
      .def_property_readonly(
          "drafted", [](Generation& own) { return own.result().drafted; },
          "The number of drafted tokens; available after the end.")
      .def_property_readonly(
          "accepted", [](Generation& own) { return own.result().accepted; },
          "The number of accepted ones; available after the end.")
      .def_property_readonly("timings", &timings_of,
                             "The times, and tokens per second; available after the end.");
}

}  // namespace pippin::python
