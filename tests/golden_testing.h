// For tests that compare a model with what another implementation stored: the tiny checkpoints of
// data/architectures, and the reference interpreter as the slow oracle of a program.
#pragma once

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "pippin/engine/reference.h"
#include "pippin/io/npz.h"
#include "pippin/mil/tensor.h"

namespace pippin::testing_models {

inline double largest(std::span<const double> values) {
  double most = 0;
  for (const double value : values) most = std::max(most, std::abs(value));
  return most;
}

// What Hugging Face computed: the logits of a prompt, and a greedy continuation with its own.
struct Golden {
  std::vector<int32_t> prompt, generated;
  std::vector<double> logits, gen_logits;
  size_t vocabulary;

  // Where frequencies depend on the length, a cached key keeps those of its own time: Hugging
  // Face's forward with its cache is what to compare with, not its forward without.
  explicit Golden(const std::filesystem::path& folder) {
    const NpzFile npz = NpzFile::open(folder / "golden.npz");
    const std::string cached = npz.contains("gen_ids_hfcache") ? "_hfcache" : "";
    const auto ids = [&](const std::string& name) {
      const NpyArray array = npz.read(name);
      return std::vector<int32_t>(array.as<int32_t>().begin(), array.as<int32_t>().end());
    };
    prompt = ids("input_ids");
    generated = ids("gen_ids" + cached);
    logits = npz.read("logits").to_doubles();
    gen_logits = npz.read("gen_logits" + cached).to_doubles();
    vocabulary = logits.size() / prompt.size();
  }

  // What follows the prompt and the first i generated tokens.
  std::span<const double> gen_row(size_t i) const {
    return std::span(gen_logits).subspan(i * vocabulary, vocabulary);
  }
  double largest_logit() const { return largest(logits); }
};

// Infinite where sizes differ or something is no number.
template <typename Have>
double max_difference(const Have& have, std::span<const double> want) {
  double worst = have.size() == want.size() ? 0 : std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < std::min(have.size(), want.size()); ++i) {
    const double difference = std::abs(have[i] - want[i]);
    if (std::isnan(difference)) return std::numeric_limits<double>::infinity();
    worst = std::max(worst, difference);
  }
  return worst;
}

// The logits of tokens at positions [past, past + ids.size()), by the reference interpreter.
inline std::vector<double> run_reference(const engine::ReferenceInterpreter& interpreter,
                                         engine::ReferenceState& state,
                                         std::span<const int32_t> ids, int64_t past) {
  const auto query = static_cast<int64_t>(ids.size());
  const int64_t end = past + query;
  mil::Tensor tokens(mil::DataType::Int32, {1, query});
  std::copy(ids.begin(), ids.end(), tokens.values.begin());
  mil::Tensor mask(mil::DataType::Float32, {1, 1, query, end});
  for (int64_t row = 0; row < query; ++row) {
    for (int64_t column = past + row + 1; column < end; ++column) {
      mask.values[static_cast<size_t>(row * end + column)] =
          -std::numeric_limits<double>::infinity();
    }
  }
  return interpreter.run({{"inputIds", tokens}, {"causalMask", mask}}, state).at("logits").values;
}

}  // namespace pippin::testing_models
