// For tests that compare a model with stored results of another implementation: the tiny
// checkpoints of data/architectures. reference_logits.h has the slow oracle of a program, and
// differences.
#pragma once

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "pippin/io/npz.h"
#include "pippin/mil/tensor.h"

namespace pippin::testing_models {

inline double largest(std::span<const double> values) {
  double most = 0;
  for (const double value : values) most = std::max(most, std::abs(value));
  return most;
}

// Hugging Face's results: the logits of a prompt, and a greedy continuation with its logits.
struct Golden {
  std::vector<int32_t> prompt, generated;
  std::vector<double> logits, gen_logits;
  size_t vocabulary;

  // If frequencies depend on the length, a cached key keeps the frequencies of the time when it was
  // computed: the comparison needs Hugging Face's forward pass with its cache, not the one without.
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

  // The logits after the prompt and the first i generated tokens.
  std::span<const double> gen_row(size_t i) const {
    return std::span(gen_logits).subspan(i * vocabulary, vocabulary);
  }
  double largest_logit() const { return largest(logits); }
};

}  // namespace pippin::testing_models
