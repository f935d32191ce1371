// The recipe of a release: a YAML file whose keys are options of the commands that it runs.
//
//   source: HuggingFaceTB/SmolLM2-135M-Instruct   # org/name, org/name@revision or a folder
//   repo: org/SmolLM2-135M-coreml                 # without it, nothing is pushed
//   variants:                                     # each by `pippin convert`, with these options
//     int8: {quantize: int8}
//     iphone: {device: iphone15}
//   verify: {text: sample.txt, max-kl: 0.05}      # `pippin verify`; its limits are the gate
//   doctor: {target: ios18, fail-on: error}       # `pippin doctor`
//   bench: {n-prompt: 128, n-gen: 32}             # `pippin bench`
//   card: {license: apache-2.0}                   # `pippin card`
//   push: {create-pr: true}                       # `pippin push`
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pippin::cli {

using Arguments = std::vector<std::string>;

struct Variant {
  std::string name;
  bool is_folder = false;  // else one package
  Arguments convert;
  // The output, in the folder that is pushed.
  std::string path() const { return is_folder ? name : name + ".mlpackage"; }
};

struct DoctorGate {
  std::string target;                // empty: that of the package
  std::string fail_on = "error";     // "error", "warning", "never"
  std::vector<std::string> allowed;  // rules that never fail
};

struct Recipe {
  std::filesystem::path file;
  std::string source, repo;
  std::filesystem::path output;  // absolute
  std::vector<Variant> variants;
  std::optional<Arguments> verify, bench;  // nullopt: not run
  std::optional<DoctorGate> doctor;
  std::optional<double> min_tokens_per_second;  // of bench
  Arguments card, push;
};

// Whether a command has that option ("convert", "--quantize").
using HasOption = std::function<bool(std::string_view command, const std::string& option)>;

// Throws InvalidFile with the place: for unknown keys and options, those that the release sets
// itself, and missing ones; NotFound, LimitExceeded.
Recipe read_recipe(const std::filesystem::path& file, const HasOption& has_option);

}  // namespace pippin::cli
