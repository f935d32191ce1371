// Applies all rules to a package, or to a folder of packages.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "pippin/doctor/estimate.h"
#include "pippin/doctor/subject.h"

namespace pippin::doctor {

struct ExamineOptions {
  std::optional<Target> target;  // if unset, the model's own declarations are assumed to be right
  std::string text;              // a file for measuring norms (calibrate.h); empty: estimated
  std::filesystem::path tokenizer;  // for that text, if the package has none; may be empty
  int threads = 0;
};

// One model: a package, or a stage of a pipeline (the pipeline precedes its stages). Its findings
// do not point into a model.
struct PartReport {
  std::string name;  // "x.mlpackage", "x.mlpackage stage 1 'detector'"
  std::string kind;  // the kind of its content: "ML Program", "pipeline", "neuralNetwork"
  int32_t specification_version = 0;
  std::vector<Finding> findings;
  std::optional<PackageEstimate> estimate;  // for programs; without its operations
};

struct Report {
  std::filesystem::path path;
  std::optional<Target> target;
  std::vector<PartReport> parts;
  int64_t count(Severity severity) const;  // findings
};

// Examines a package in any form, or a folder of packages. Throws NotFound if none exists,
// otherwise as mil::read_package(); a model of another kind is a finding, and so is an unreadable
// package in a folder.
Report examine(const std::filesystem::path& path, const ExamineOptions& options = {});

// The findings of one model, pointing to its operations; for a pipeline, those of the package but
// not of its stages. A stage of `pipeline` needs no description, and values that it passes to other
// stages are not part of the interface.
std::vector<Finding> examine_model(const mil::Model& model, const ExamineOptions& options = {},
                                   std::optional<bool> has_tokenizer = std::nullopt,
                                   const Peaks* measured = nullptr,
                                   const mil::Model* pipeline = nullptr);

}  // namespace pippin::doctor
