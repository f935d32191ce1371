#include "pippin/python/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <utility>

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include "pippin/base/error.h"
#include "pippin/python/bindings.h"
#include "pippin/python/docstrings.h"
#include "pippin/python/lock.h"
#include "pippin/python/mlx_sampling.h"
#include "pippin/runtime/sampling/penalties.h"
#include "pippin/runtime/sampling/sampler.h"

namespace pippin::python {
namespace {

namespace py = pybind11;
using runtime::Candidates;
using runtime::SamplingContext;
using Floats = py::array_t<float, py::array::c_style | py::array::forcecast>;

constexpr float kNever = -std::numeric_limits<float>::infinity();

// Can be freed on any thread.
std::shared_ptr<py::object> shared(py::object object) {
  return {new py::object(std::move(object)), [](py::object* kept) {
            const Locked lock;
            delete kept;
          }};
}

void fill(std::vector<float>& row, const Candidates& candidates) {
  std::fill(row.begin(), row.end(), kNever);
  for (const runtime::Candidate& one : candidates.items()) {
    row[static_cast<size_t>(one.id)] = static_cast<float>(one.score);
  }
}

Floats array_of(const std::vector<float>& row) {
  Floats array({py::ssize_t{1}, static_cast<py::ssize_t>(row.size())});
  std::copy(row.begin(), row.end(), array.mutable_data());
  return array;
}

std::string type_of(const py::handle& object) {
  return py::str(py::type::of(object).attr("__name__"));
}

// A function (tokens, logits) -> logits.
class PythonProcessor final : public runtime::LogitsProcessor {
 public:
  PythonProcessor(py::object function, int64_t vocab_size, BackgroundWork& background)
      : function_(shared(std::move(function))),
        row_(static_cast<size_t>(vocab_size)),
        background_(&background) {}

  void process(const SamplingContext& context, Candidates& candidates) override {
    fill(row_, candidates);
    background_->call_python([&] {
      const auto tokens = context.history.tokens();
      py::array_t<int32_t> history(static_cast<py::ssize_t>(tokens.size()), tokens.data());
      take((*function_)(history, array_of(row_)));
    });
    candidates.change_scores(
        [&](const runtime::Candidate& one) { return row_[static_cast<size_t>(one.id)]; });
  }
  std::unique_ptr<LogitsProcessor> clone() const override {
    return std::make_unique<PythonProcessor>(*this);
  }

 private:
  void take(const py::object& given) {
    const auto logits = given.is_none() ? Floats() : Floats::ensure(given);
    if (!logits || static_cast<size_t>(logits.size()) != row_.size()) {
      PyErr_Clear();
      fail(ErrorCode::InvalidArgument,
           "logits_processors: a function returned a {} that is not an array of {} logits",
           type_of(given), row_.size());
    }
    std::copy(logits.data(), logits.data() + logits.size(), row_.begin());
    if (std::any_of(row_.begin(), row_.end(), [](float score) { return std::isnan(score); })) {
      fail(ErrorCode::InvalidArgument, "logits_processors: a function returned NaN as a logit");
    }
  }

  std::shared_ptr<py::object> function_;
  std::vector<float> row_;
  BackgroundWork* background_;
};

int32_t token_of(const py::object& given, size_t vocab_size) {
  py::object number = given;
  if (py::hasattr(given, "item") && py::hasattr(given, "size")) {
    if (given.attr("size").cast<int64_t>() != 1) {
      fail(ErrorCode::InvalidArgument, "sampler: it returned {} tokens for one text",
           given.attr("size").cast<int64_t>());
    }
    number = given.attr("item")();
  }
  if (!py::isinstance<py::int_>(number)) {
    fail(ErrorCode::InvalidArgument, "sampler: it returned a {}, not a token", type_of(given));
  }
  const auto token = number.cast<int64_t>();
  if (token < 0 || token >= static_cast<int64_t>(vocab_size)) {
    fail(ErrorCode::InvalidArgument, "sampler: it returned {}, tokens are 0 to {}", token,
         vocab_size - 1);
  }
  return static_cast<int32_t>(token);
}

// A function log probabilities -> token: removes all other candidates.
class PythonChoice final : public runtime::LogitsProcessor {
 public:
  PythonChoice(py::object function, int64_t vocab_size, BackgroundWork& background)
      : function_(shared(std::move(function))),
        row_(static_cast<size_t>(vocab_size)),
        background_(&background) {}

  void process(const SamplingContext& /*context*/, Candidates& candidates) override {
    fill(row_, candidates);
    int32_t token = 0;
    background_->call_python(
        [&] { token = token_of((*function_)(array_of(log_softmax(row_))), row_.size()); });
    const size_t place = candidates.find(token);
    if (place == candidates.size()) {
      fail(ErrorCode::InvalidArgument, "sampler: it returned {}, which cannot come here", token);
    }
    candidates.set_score(place, 0);  // in case it was -infinity
    candidates.keep_if([&](size_t i) { return i == place; });
  }
  std::unique_ptr<LogitsProcessor> clone() const override {
    return std::make_unique<PythonChoice>(*this);
  }

 private:
  std::shared_ptr<py::object> function_;
  std::vector<float> row_;
  BackgroundWork* background_;
};

void check_callable(const py::handle& object, const char* name) {
  if (PyCallable_Check(object.ptr()) != 0) return;
  throw py::type_error(std::string(name) + ": a " + type_of(object) + " is not a function");
}

uint64_t random_seed() {
  // Uses Python's random numbers, so that random.seed(), or MLX's, makes texts repeat.
  return py::module_::import("pippin._seeds").attr("draw")().cast<uint64_t>();
}

}  // namespace

// The sampler of a PySampler that Python calls directly; it keeps its state between calls.
class CalledSampler {
 public:
  CalledSampler(const PySampler& own, uint64_t seed) : sampler_(seeded(own.options, seed)) {
    for (const auto& filter : own.filters) sampler_.add(filter->clone());
  }
  int32_t sample(std::span<const float> logprobs) { return sampler_.sample(logprobs); }

 private:
  static runtime::SamplingOptions seeded(runtime::SamplingOptions options, uint64_t seed) {
    options.seed = seed;
    return options;
  }
  runtime::Sampler sampler_;
};

Sampling sampling_of(const py::object& sampler, const py::object& processors,
                     const LanguageModel& model, BackgroundWork& background, uint64_t number) {
  const int64_t vocab_size = model.vocab_size();
  Sampling result;
  if (!processors.is_none()) {
    for (const py::handle one : processors) {
      if (py::isinstance<PyProcessor>(one)) {
        result.processors.push_back(one.cast<const PyProcessor&>().processor);
        continue;
      }
      check_callable(one, "logits_processors");
      result.processors.push_back(std::make_shared<PythonProcessor>(
          py::reinterpret_borrow<py::object>(one), vocab_size, background));
    }
  }
  if (sampler.is_none()) {
    result.options = model.default_sampling();
    return result;
  }
  if (py::isinstance<PySampler>(sampler)) {
    const auto& own = sampler.cast<const PySampler&>();
    result.options = own.options;
    result.options.seed = own.seed ? *own.seed + number : random_seed();
    result.choice = own.filters;
    return result;
  }
  check_callable(sampler, "sampler");
  result.choice.push_back(std::make_shared<PythonChoice>(sampler, vocab_size, background));
  return result;
}

void ScoreTap::process(const SamplingContext& /*context*/, Candidates& candidates) {
  *row_ = std::make_shared<std::vector<float>>(static_cast<size_t>(size_));
  fill(**row_, candidates);
}

std::vector<float> log_softmax(const std::vector<float>& logits) {
  const float largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - largest);
  const double normalizer = largest + std::log(sum);
  std::vector<float> result(logits.size());
  std::transform(logits.begin(), logits.end(), result.begin(),
                 [&](float logit) { return static_cast<float>(logit - normalizer); });
  return result;
}

namespace {

// The sizes of [rows, vocabulary] or of one row [vocabulary].
std::pair<py::ssize_t, py::ssize_t> rows_of(const Floats& array, const char* name) {
  if (array.ndim() < 1 || array.ndim() > 2 || array.size() == 0) {
    fail(ErrorCode::InvalidArgument, "{}: an array of {} axes is not [rows, vocabulary]", name,
         array.ndim());
  }
  return {array.ndim() == 2 ? array.shape(0) : 1, array.shape(array.ndim() - 1)};
}

py::array_t<int32_t> call_sampler(PySampler& own, const Floats& logprobs) {
  if (own.called == nullptr) {
    own.called = std::make_shared<CalledSampler>(own, own.seed ? *own.seed : random_seed());
  }
  const auto [rows, width] = rows_of(logprobs, "logprobs");
  py::array_t<int32_t> tokens(rows);
  for (py::ssize_t row = 0; row < rows; ++row) {
    tokens.mutable_at(row) =
        own.called->sample({logprobs.data() + row * width, static_cast<size_t>(width)});
  }
  return tokens;
}

Floats call_processor(const PyProcessor& own, const std::vector<int32_t>& tokens,
                      const Floats& logits) {
  const auto [rows, width] = rows_of(logits, "logits");
  Floats result(std::vector<py::ssize_t>(logits.shape(), logits.shape() + logits.ndim()));
  runtime::TokenHistory history;
  history.add_prompt(tokens);
  runtime::RandomGenerator random(0);
  std::vector<float> row(static_cast<size_t>(width));
  for (py::ssize_t i = 0; i < rows; ++i) {
    Candidates candidates;
    candidates.assign({logits.data() + i * width, static_cast<size_t>(width)});
    own.processor->clone()->process({history, random}, candidates);
    fill(row, candidates);
    std::copy(row.begin(), row.end(), result.mutable_data() + i * width);
  }
  return result;
}

std::unique_ptr<PySampler> make_sampler(double temp, double top_p, double min_p,
                                        int64_t min_tokens_to_keep, int64_t top_k,
                                        double xtc_probability, double xtc_threshold,
                                        const std::vector<int32_t>& xtc_special_tokens,
                                        std::optional<uint64_t> seed) {
  const MlxSampling options{temp,  top_p,           min_p,         min_tokens_to_keep,
                            top_k, xtc_probability, xtc_threshold, xtc_special_tokens};
  options.check();
  auto sampler = std::make_unique<PySampler>();
  sampler->options.temperature = temp;
  sampler->filters = make_filters(options);
  sampler->seed = seed;
  return sampler;
}

std::vector<PyProcessor> make_processors(const std::map<int32_t, double>& logit_bias,
                                         const std::vector<std::pair<double, int64_t>>& penalties) {
  std::vector<PyProcessor> result;
  if (!logit_bias.empty()) {
    runtime::SamplingOptions options;
    options.logit_bias = logit_bias;
    options.check();
    result.push_back({runtime::make_logit_bias(options)});
  }
  constexpr Penalty kKinds[] = {Penalty::Repetition, Penalty::Presence, Penalty::Frequency};
  constexpr const char* kNames[] = {"repetition_penalty", "presence_penalty", "frequency_penalty"};
  for (size_t i = 0; i < std::size(kKinds) && i < penalties.size(); ++i) {
    const auto [penalty, size] = penalties[i];
    if (penalty == 0) continue;
    if (!std::isfinite(penalty) || (kKinds[i] == Penalty::Repetition && penalty < 0) || size < 0) {
      fail(ErrorCode::InvalidArgument, "{} is {} of the last {} tokens: no such penalty", kNames[i],
           penalty, size);
    }
    result.push_back({make_penalty(kKinds[i], penalty, size)});
  }
  return result;
}

}  // namespace

void bind_sampling(py::module_& module) {
  py::class_<PySampler>(module, "Sampler", docs::kSampler)
      .def_property_readonly(
          "temperature", [](const PySampler& own) { return own.options.temperature; },
          "0: always the most likely token.")
      .def_property_readonly(
          "seed", [](const PySampler& own) { return own.seed; }, "None: a new one for each text.")
      .def("__call__", &call_sampler, py::arg("logprobs"));
  py::class_<PyProcessor>(module, "LogitsProcessor", docs::kLogitsProcessor)
      .def("__call__", &call_processor, py::arg("tokens"), py::arg("logits"));
  module.def("_make_sampler", &make_sampler, py::kw_only(), py::arg("temp"), py::arg("top_p"),
             py::arg("min_p"), py::arg("min_tokens_to_keep"), py::arg("top_k"),
             py::arg("xtc_probability"), py::arg("xtc_threshold"), py::arg("xtc_special_tokens"),
             py::arg("seed"));
  module.def("_make_processors", &make_processors, py::arg("logit_bias"), py::arg("penalties"));
}

}  // namespace pippin::python
