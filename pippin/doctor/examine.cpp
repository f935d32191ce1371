#include "pippin/doctor/examine.h"

#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/doctor/calibrate.h"
#include "pippin/doctor/other_kinds.h"
#include "pippin/doctor/rules.h"
#include "pippin/io/model_files.h"
#include "pippin/mil/package/package.h"
#include "pippin/mil/proto/serialize.h"
#include "pippin/tabular/stage.h"

namespace pippin::doctor {
namespace {

namespace fs = std::filesystem;

bool holds_tokenizer(const fs::path& folder) {
  return fs::is_directory(folder) && !files_of_role(folder, FileRole::Tokenizer).empty();
}

// In the package, or next to it.
bool package_has_tokenizer(const fs::path& package) {
  return holds_tokenizer(package / "Data" / mil::kTokenizerItem) ||
         holds_tokenizer(fs::absolute(package).lexically_normal().parent_path());
}

// The packages of a folder, sorted by name.
std::vector<fs::path> packages_in(const fs::path& folder) {
  std::vector<fs::path> packages;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (mil::is_package(entry.path())) packages.push_back(entry.path());
  }
  std::sort(packages.begin(), packages.end());
  if (packages.empty()) {
    fail(ErrorCode::NotFound, "{}: neither a package nor a folder that holds some",
         folder.string());
  }
  return packages;
}

class Examination {
 public:
  Examination(const fs::path& path, const ExamineOptions& options) : options_(options) {
    report_.path = path;
    report_.target = options.target;
    if (options.text.empty()) return;
    measured_ = measure_peaks(path, options.text, options.tokenizer, options.threads);
  }

  // `alone`: there are no other packages, so an error in it ends the report.
  void add(const fs::path& package, std::optional<bool> has_tokenizer, bool alone) {
    check_cancel();
    const std::string name = package.lexically_normal().filename().string();
    mil::Model model;
    try {
      model = mil::read_package(package);
    } catch (const Error& error) {
      if (const std::string kind = mil::refused_model_kind(error.what()); !kind.empty()) {
        return add_closed(name, kind, rule_of_kind(kind), error.what());
      }
      if (alone || error.code() == ErrorCode::Cancelled) throw;
      return add_closed(name, "no readable package", kUnreadable, error.what());
    }
    add(model, name.empty() ? package.string() : name, has_tokenizer, nullptr);
  }

  Report take() { return std::move(report_); }

 private:
  void add(const mil::Model& model, const std::string& name, std::optional<bool> has_tokenizer,
           const mil::Model* pipeline) {
    if (model.is_translated()) {
      const std::string kind(to_string(model.kind));
      const std::string refusal = model.is_tabular() ? model.tabular->refusal() : "";
      if (!refusal.empty()) return add_closed(name, kind, kClosedKind, refusal);
      return add_closed(name, kind, rule_of_kind(kind), {});
    }
    PartReport part;
    part.name = name;
    const bool network = !model.network_kind.empty();
    part.kind = network ? model.network_kind : to_string(model.kind);
    part.specification_version = network ? model.network_version : model.specification_version;
    const auto peaks = measured_.find(package_key(model.path));
    part.findings = examine_model(model, options_, has_tokenizer,
                                  peaks == measured_.end() ? nullptr : &peaks->second, pipeline);
    if (network) part.findings.insert(part.findings.begin(), {&kOtherKind, name, {{}}});
    if (!model.is_pipeline()) {
      part.estimate = estimate(model, part.findings);
      // Findings point into the model, which is about to be destroyed.
      for (FunctionEstimate& function : part.estimate->functions) function.operations.clear();
    }
    for (Finding& finding : part.findings) {
      finding.package = name;
      for (Place& place : finding.places) place.operation = nullptr;
    }
    report_.parts.push_back(std::move(part));
    for (size_t i = 0; i < model.stages.size(); ++i) {
      add(model.stages[i].model, name + " " + mil::stage_name(model, i), std::nullopt, &model);
    }
  }

  // Adds models whose content no rule covers.
  void add_closed(const std::string& name, const std::string& kind, const Rule& rule,
                  const std::string& what) {
    PartReport part;
    part.name = name;
    part.kind = kind;
    part.findings.push_back({&rule, name, {{{}, {}, what}}});
    report_.parts.push_back(std::move(part));
  }

  const ExamineOptions& options_;
  PackagePeaks measured_;
  Report report_;
};

}  // namespace

int64_t Report::count(Severity severity) const {
  int64_t count = 0;
  for (const PartReport& part : parts) {
    count += std::count_if(part.findings.begin(), part.findings.end(), [&](const Finding& finding) {
      return finding.rule->severity == severity;
    });
  }
  return count;
}

std::vector<Finding> examine_model(const mil::Model& model, const ExamineOptions& options,
                                   std::optional<bool> has_tokenizer, const Peaks* measured,
                                   const mil::Model* pipeline) {
  Subject subject(model, options.target);
  subject.pipeline = pipeline;
  subject.has_tokenizer = has_tokenizer;
  subject.measured = measured;
  Findings findings;
  for (const Group* group : groups()) group->check(subject, findings);
  return findings.take({});
}

Report examine(const fs::path& path, const ExamineOptions& options) {
  if (!fs::exists(path)) fail(ErrorCode::NotFound, "{}: no such file or folder", path.string());
  Examination examination(path, options);
  if (mil::is_package(path) || !fs::is_directory(path)) {
    examination.add(path, package_has_tokenizer(path), true);
    return examination.take();
  }
  const bool has_tokenizer = holds_tokenizer(path);
  for (const fs::path& package : packages_in(path)) {
    examination.add(package, has_tokenizer || package_has_tokenizer(package), false);
  }
  return examination.take();
}

}  // namespace pippin::doctor
