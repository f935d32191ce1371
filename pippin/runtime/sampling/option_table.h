// The sampling options that are one number each, as a table from which C, Python, the command line
// and the server parse them.
#pragma once

#include <cfloat>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>

#include "pippin/runtime/sampling/options.h"

namespace pippin::runtime {

// The values that a caller has given; the others are the model's.
struct SamplingOverrides {
  std::optional<double> temperature, top_p, min_p, typical_p, xtc_probability, xtc_threshold,
      mirostat_tau, mirostat_eta, repetition_penalty, presence_penalty, frequency_penalty,
      dry_multiplier, dry_base;
  std::optional<int64_t> top_k, penalty_last_n, dry_allowed_length, dry_last_n;

  // Writes the given values into `options`.
  void apply(SamplingOptions& options) const;
  bool operator==(const SamplingOverrides&) const = default;
};

template <typename T>
struct SamplingMember {
  T SamplingOptions::*option;
  std::optional<T> SamplingOverrides::*given;
};

struct SamplingOption {
  // The valid values: from `least`, which is valid itself unless `is_above`, to `most`.
  struct Range {
    double least = -DBL_MAX;
    bool is_above = false;
    double most = DBL_MAX;
    const char* text = "a number";  // follows "must be" in messages
  };

  const char* name;  // the member's; the name in C, Python, requests and messages
  std::variant<SamplingMember<double>, SamplingMember<int64_t>> member;
  Range range;
  const char* flags;   // of the command line
  const char* symbol;  // of the value, in `help`
  const char* help;

  // Throws InvalidArgument for a value outside the range.
  void check(const SamplingOptions& options) const;
};

std::span<const SamplingOption> sampling_options();

}  // namespace pippin::runtime
