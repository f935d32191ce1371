// Generates several texts together: their sequences share each pass over the weights.
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <pybind11/stl.h>

#include "pippin/base/error.h"
#include "pippin/base/stopwatch.h"
#include "pippin/python/bindings.h"
#include "pippin/python/generation.h"
#include "pippin/runtime/generation.h"

namespace pippin::python {
namespace {

namespace py = pybind11;
using Clock = std::chrono::steady_clock;
using Prompts = std::vector<VisionPrompt>;

// One of the texts.
struct Text {
  Text(const runtime::Model& model, TextRequest& given) : request(given) {
    watch(request, [this](const runtime::ChosenToken& token, Row row) {
      if (row == nullptr || token.is_end) return;
      logprobs.push_back(log_softmax(*row)[static_cast<size_t>(token.id)]);
    });
    generation.emplace(model, request.options);
  }
  Text(const Text&) = delete;
  Text& operator=(const Text&) = delete;

  TextRequest request;
  std::optional<runtime::Generation> generation;
  std::unique_ptr<Sequence> sequence;
  std::vector<float> logprobs;  // of its tokens, if wanted
  StopReason reason = StopReason::MaxTokens;
};

class Together {
 public:
  Together(const PyLanguageModel& model, const Prompts& prompts, size_t at_most)
      : model_(model), prompts_(prompts), batch_(model.model().new_batch()), at_most_(at_most) {
    if (!model.model().capabilities().many_sequences) at_most_ = 1;
  }

  // Calls `progress` with the number of finished texts.
  void run(std::vector<std::unique_ptr<Text>>& texts,
           const std::vector<std::shared_ptr<PySequence>>& begun,
           const std::function<void(size_t)>& ended) {
    for (size_t i = 0; i < texts.size() || !active_.empty();) {
      while (i < texts.size() && active_.size() < at_most_ &&
             begin(*texts[i], i, begun.empty() ? nullptr : begun[i].get())) {
        ++i;
      }
      step();
      if (num_ended_ != std::exchange(told_, num_ended_)) ended(num_ended_);
    }
  }

  bool keeps_sequences = false;
  int64_t prompt_tokens = 0, generation_tokens = 0;
  double prompt_seconds = 0, generation_seconds = 0;

 private:
  const runtime::Model& runtime_model() const { return *model_.parts().model.model; }

  // Returns false if there is not enough memory until another text ends.
  bool begin(Text& text, size_t index, const PySequence* begun) {
    try {
      text.sequence = begun == nullptr ? model_.model().new_sequence() : begun->idle().fork();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::LimitExceeded || active_.empty()) throw;
      return false;
    }
    const auto start = Clock::now();
    const std::vector<int32_t>& prompt = prompts_[index].ids;
    with_context(fmt::format("prompts[{}]", index), [&] {
      if (text.sequence->position() + std::ssize(prompt) > runtime_model().context()) {
        fail(ErrorCode::LimitExceeded, "the prompt has {} tokens, the model's context holds {}",
             text.sequence->position() + std::ssize(prompt), runtime_model().context());
      }
      provide_rows(*text.sequence, prompts_[index], 0);
      text.generation->observe(text.sequence->tokens());
      text.generation->observe(prompt);
      const auto logits = text.sequence->prefill(prompt);
      prompt_tokens += std::ssize(prompt);
      prompt_seconds += seconds_since(start);
      if (text.generation->is_complete()) return end(text, StopReason::MaxTokens);
      if (choose(text, logits)) active_.push_back(&text);
    });
    return true;
  }

  // Returns false if the text has ended.
  bool choose(Text& text, std::span<const float> logits) {
    if (!text.generation->choose(*text.sequence, logits)) {
      return end(text, StopReason::EndOfText), false;
    }
    ++generation_tokens;
    if (text.generation->must_end()) return end(text, StopReason::EndOfText), false;
    if (text.generation->is_complete()) return end(text, StopReason::MaxTokens), false;
    return true;
  }

  void end(Text& text, StopReason reason) {
    text.reason = reason;
    if (!keeps_sequences) text.sequence.reset();
    ++num_ended_;
  }

  // Feeds the next token of each text.
  void step() {
    std::erase_if(active_, [&](Text* text) {
      if (text->sequence->position() < runtime_model().context()) return false;
      end(*text, StopReason::ContextFull);
      return true;
    });
    if (active_.empty()) return;
    const auto start = Clock::now();
    batch_.clear();
    for (Text* text : active_) batch_.add(*text->sequence, text->generation->ids().back());
    batch_.run();
    size_t row = 0;
    std::erase_if(active_, [&](Text* text) { return !choose(*text, batch_.logits(row++)); });
    generation_seconds += seconds_since(start);
  }

  const PyLanguageModel& model_;
  const Prompts& prompts_;
  Batch batch_;
  size_t at_most_;
  std::vector<Text*> active_;
  size_t num_ended_ = 0, told_ = 0;
};

py::dict result_of(const Together& together, std::vector<std::unique_ptr<Text>>& texts) {
  py::list tokens, logprobs, reasons, sequences;
  for (const auto& text : texts) {
    tokens.append(text->generation->ids());
    logprobs.append(text->logprobs);
    reasons.append(std::string(runtime::to_string(text->reason)));
    if (text->sequence == nullptr) continue;
    sequences.append(std::make_shared<PySequence>(std::move(text->sequence)));
  }
  py::dict result;
  result["tokens"] = tokens;
  result["logprobs"] = logprobs;
  result["reasons"] = reasons;
  result["sequences"] = sequences;
  result["prompt_tokens"] = together.prompt_tokens;
  result["prompt_seconds"] = together.prompt_seconds;
  result["generation_tokens"] = together.generation_tokens;
  result["generation_seconds"] = together.generation_seconds;
  return result;
}

}  // namespace

py::dict generate_together(const PyLanguageModel& model, const std::vector<PyPrompt>& given,
                           const std::vector<std::shared_ptr<PySequence>>& begun,
                           const std::vector<py::dict>& options, int64_t at_most,
                           bool keeps_sequences, const py::object& progress) {
  if (at_most < 1) fail(ErrorCode::InvalidArgument, "{} texts at a time: 1 at least", at_most);
  Prompts prompts;
  prompts.reserve(given.size());
  for (const PyPrompt& one : given) prompts.push_back(prompt_of(one));
  if (options.size() != prompts.size() || (!begun.empty() && begun.size() != prompts.size())) {
    fail(ErrorCode::InvalidArgument, "{} prompts with options for {} and sequences for {}",
         prompts.size(), options.size(), begun.size());
  }
  for (const auto& sequence : begun) model.parts().check(sequence->idle());
  std::vector<std::unique_ptr<Text>> texts;
  Together together(model, prompts, static_cast<size_t>(at_most));
  together.keeps_sequences = keeps_sequences;
  run_work(
      [&](BackgroundWork& background) {
        for (size_t i = 0; i < options.size(); ++i) {
          TextRequest request = request_of(model, options[i], background, i);
          texts.push_back(std::make_unique<Text>(*model.parts().model.model, request));
        }
      },
      [&](BackgroundWork& background) {
        together.run(texts, begun, [&](size_t count) {
          if (!progress.is_none()) background.call_python([&] { progress(count, prompts.size()); });
        });
      });
  return result_of(together, texts);
}

}  // namespace pippin::python
