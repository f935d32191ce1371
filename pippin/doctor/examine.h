// A package, or a folder of them, against all rules.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "pippin/doctor/estimate.h"
#include "pippin/doctor/subject.h"

namespace pippin::doctor {

struct ExamineOptions {
  std::optional<Target> target;     // else what the model declares is taken as right
  std::string text;                 // a file to measure norms on (calibrate.h); empty: estimated
  std::filesystem::path tokenizer;  // of that text, where the package has none; may be empty
  int threads = 0;
};

// One model: a package, or a stage of a pipeline, which stands before its stages. Its findings
// point into no model any more.
struct PartReport {
  std::string name;  // "x.mlpackage", "x.mlpackage stage 1 'detector'"
  std::string kind;  // "ML Program", "pipeline", "neuralNetwork": what it holds
  int32_t specification_version = 0;
  std::vector<Finding> findings;
  std::optional<PackageEstimate> estimate;  // of programs; without its operations
};

struct Report {
  std::filesystem::path path;
  std::optional<Target> target;
  std::vector<PartReport> parts;
  int64_t count(Severity severity) const;  // findings
};

// A package in any form, or a folder that holds some. Throws NotFound if there is none, else as
// mil::read_package(); a model of another kind is a finding, and so is a package of a folder that
// cannot be read.
Report examine(const std::filesystem::path& path, const ExamineOptions& options = {});

// The findings of one model, pointing to its operations: of a pipeline those of the package, not of
// its stages. A stage of `pipeline` needs no description of its own, and what it passes on to other
// stages is not an interface.
std::vector<Finding> examine_model(const mil::Model& model, const ExamineOptions& options = {},
                                   std::optional<bool> has_tokenizer = std::nullopt,
                                   const Peaks* measured = nullptr,
                                   const mil::Model* pipeline = nullptr);

}  // namespace pippin::doctor
