// The ways to choose the next token from Python: the library's samplers and processors, and Python
// functions.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <pybind11/pybind11.h>

#include "pippin/api/llm.h"
#include "pippin/python/background_work.h"
#include "pippin/runtime/generator.h"
#include "pippin/runtime/sampling/options.h"
#include "pippin/runtime/sampling/processor.h"

namespace pippin::python {

using Row = std::shared_ptr<std::vector<float>>;  // scores of all tokens

// Sampling with the model's own chain, with filters in front.
struct PySampler {
  runtime::SamplingOptions options;  // temperature
  std::vector<std::shared_ptr<const runtime::LogitsProcessor>> filters;
  std::optional<uint64_t> seed;  // empty: a new one for each text
  std::shared_ptr<class CalledSampler> called;
};

struct PyProcessor {
  std::shared_ptr<const runtime::LogitsProcessor> processor;
};

// The sampling of one text.
struct Sampling {
  runtime::SamplingOptions options;
  // First the processors that change scores, then those that choose.
  std::vector<std::shared_ptr<const runtime::LogitsProcessor>> processors, choice;
};

// `sampler`: a PySampler, a function of log probabilities [1, vocabulary] that returns a token, or
// None for the model's own. `processors`: a list of PyProcessors and functions of tokens and logits
// [1, vocabulary] that return logits, or None. Functions are called by the thread that waits for
// `background`, which must outlive the result. Throws InvalidArgument for other objects. `number`:
// the text's index among those sampled together.
Sampling sampling_of(const pybind11::object& sampler, const pybind11::object& processors,
                     const LanguageModel& model, BackgroundWork& background, uint64_t number = 0);

// Records the scores after the processors before it.
class ScoreTap final : public runtime::LogitsProcessor {
 public:
  explicit ScoreTap(int64_t vocab_size) : size_(vocab_size), row_(std::make_shared<Row>()) {}
  void process(const runtime::SamplingContext& context, runtime::Candidates& candidates) override;
  std::unique_ptr<LogitsProcessor> clone() const override {
    return std::make_unique<ScoreTap>(*this);
  }
  // The scores of the last token.
  Row take() const { return std::move(*row_); }

 private:
  int64_t size_;
  std::shared_ptr<Row> row_;  // shared by all copies
};

// logits - log(sum(exp(logits)))
std::vector<float> log_softmax(const std::vector<float>& logits);

}  // namespace pippin::python
