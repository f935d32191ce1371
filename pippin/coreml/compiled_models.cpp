#include "pippin/coreml/compiled_models.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <vector>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/base/files/file.h"
#include "pippin/base/files/mapped_file.h"
#include "pippin/base/files/mapped_origin.h"
#include "pippin/base/files/output.h"
#include "pippin/base/files/temporary_folder.h"
#include "pippin/base/stopwatch.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/coreml/trial.h"
#include "pippin/mil/package/package.h"

namespace pippin::coreml {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kWorks = "works";

// All files of a package in a fixed order, or just a file.
std::vector<fs::path> files_of(const fs::path& package) {
  std::vector<fs::path> files;
  if (!fs::is_directory(package)) return {package};
  for (const auto& entry : fs::recursive_directory_iterator(package)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string name_of(const fs::path& path) {
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

// Archives and program texts are read by Pippin alone.
bool is_core_ml_form(const fs::path& package) {
  const fs::path ending = package.extension();
  return ending != ".zip" && ending != ".gz" && ending != ".mil";
}

// A folder for which the cache had no space.
struct LeftOver {
  explicit LeftOver(fs::path at) : path(std::move(at)) {}
  LeftOver(const LeftOver&) = delete;
  LeftOver& operator=(const LeftOver&) = delete;
  ~LeftOver() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  fs::path path;
};

// The only model in the folder.
std::optional<fs::path> compiled_in(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == ".mlmodelc") return it->path();
  }
  return std::nullopt;
}

}  // namespace

void CompiledModels::check(const mil::Model& model, std::string_view function) const {
  if (model.is_pipeline() || model.is_translated()) {
    fail(ErrorCode::Unsupported, "the device 'coreml' runs ML Programs, this is a {}",
         mil::to_string(model.kind));
  }
  if (!model.description(function).states.empty() && !framework_.has_states()) {
    fail(ErrorCode::Unsupported,
         "the model has states, which Core ML has from macOS 15 on; this is {}",
         framework_.system());
  }
  if (function != model.default_function && !framework_.has_functions()) {
    fail(ErrorCode::Unsupported,
         "function '{}' is not the default one; Core ML loads others from macOS 15 on; this is {}",
         function, framework_.system());
  }
}

// A key by content; files seen before are identified by their metadata on disk.
std::string CompiledModels::key_of(const fs::path& package, LoadCache* cache) const {
  CacheKey content, place;
  content.add("core ml").add(framework_.system());
  place.add("core ml, files").add(framework_.system());
  bool settled = cache != nullptr;
  const auto files = files_of(package);
  std::vector<std::shared_ptr<const MappedFile>> mapped;
  for (const fs::path& file : files) {
    mapped.push_back(MappedFile::open(file));
    const ByteSpan bytes = mapped.back()->bytes();
    const auto origin = origin_of(bytes);
    place.add(file.lexically_relative(package).string()).add(static_cast<int64_t>(bytes.size()));
    if (bytes.empty()) continue;
    settled = settled && origin && origin->settled;
    if (!origin) continue;
    place.add(static_cast<int64_t>(origin->device)).add(static_cast<int64_t>(origin->inode));
    place.add(origin->modified_ns).add(origin->changed_ns);
  }
  const std::string alias = place.finish();
  if (settled) {
    if (auto known = cache->find_alias(alias)) return *known;
  }
  for (size_t i = 0; i < files.size(); ++i) {
    check_cancel();
    content.add(files[i].lexically_relative(package).string()).add(mapped[i]->bytes());
  }
  std::string key = content.finish();
  if (settled && cache->has_place(0)) cache->store_alias(alias, key);
  return key;
}

ErrorText CompiledModels::run(const TrialTask& task) const {
  if (!options_.trial.empty()) return run_trial_apart(options_.trial, task, options_.limit);
  return with_limit(options_.limit, [&](const KeepWaiting& keep_waiting) {
    return run_trial(framework_, task, keep_waiting);
  });
}

std::shared_ptr<const CompiledModel> CompiledModels::compile(
    const fs::path& package, const std::string& name, const std::string& key,
    const std::shared_ptr<LoadCache>& cache, LoadReport& report) const {
  auto result = std::make_shared<CompiledModel>();
  result->name = name;
  std::optional<fs::path> started;
  if (cache != nullptr) started = cache->start_folder(key);
  TrialTask task;
  task.package = package;
  if (started) {
    task.target = *started;
    result->temporary = std::make_shared<const LeftOver>(*started);
  } else {
    const auto folder = std::make_shared<const TemporaryFolder>("coreml");
    task.target = folder->path();
    result->temporary = folder;
  }
  const auto start = std::chrono::steady_clock::now();
  ErrorText error_text = run(task);
  report.compile_seconds = seconds_since(start);
  auto made = compiled_in(task.target);
  if (error_text.empty() && !made) error_text = "no result";
  if (!error_text.empty()) {
    fail(ErrorCode::Device, "{}: Core ML cannot compile it: {}", name, error_text);
  }
  const auto kept = started ? cache->keep_folder(key, *started, fmt::format("{}, by Core ML", name))
                            : std::nullopt;
  if (const auto found = kept ? compiled_in(*kept) : std::nullopt) {
    made = found;
    result->key = key;
    result->cache = cache;
    result->temporary = nullptr;
  }
  result->path = *made;
  return result;
}

std::shared_ptr<const CompiledModel> CompiledModels::get(const mil::Model& model,
                                                         const std::shared_ptr<LoadCache>& cache,
                                                         LoadReport& report) const {
  std::optional<TemporaryFolder> written;
  const bool is_there = mil::is_package(model.path) && is_core_ml_form(model.path);
  fs::path package = is_there ? model.path : fs::path();
  std::string name = name_of(package);
  if (is_there && package.extension() == ".mlmodelc") {
    auto result = std::make_shared<CompiledModel>();
    result->path = fs::absolute(package);
    result->name = name;
    return result;
  }
  if (!is_there) {
    written.emplace("coreml");
    package = *written / "model.mlpackage";
    name = "the model";
    mil::write_package(model, package);
  }
  package = fs::absolute(package);
  const std::string key = cache != nullptr ? key_of(package, cache.get()) : "";
  if (cache != nullptr) {
    const auto folder = cache->find_folder(key);
    const auto compiled = folder ? compiled_in(*folder) : std::nullopt;
    if (compiled) {
      auto result = std::make_shared<CompiledModel>();
      result->path = *compiled;
      result->name = name;
      result->key = key;
      result->cache = cache;
      return result;
    }
    cache->drop_folder(key);
  }
  return compile(package, name, key, cache, report);
}

void CompiledModels::try_function(const CompiledModel& compiled, const std::string& function,
                                  LoadReport& report) const {
  if (options_.units == ComputeUnits::CpuOnly || options_.units == ComputeUnits::CpuAndGpu) return;
  // Without a child process, nothing would survive to report the failure.
  if (options_.trial.empty()) return;
  const fs::path note =
      compiled.key.empty()
          ? fs::path()
          : compiled.path.parent_path() / fmt::format("verdict-{}-{}", to_string(options_.units),
                                                      function.empty() ? "default" : function);
  std::string verdict;
  std::error_code error;
  if (!note.empty() && fs::is_regular_file(note, error)) verdict = read_file(note, 4096);
  if (verdict.empty()) {
    const auto start = std::chrono::steady_clock::now();
    TrialTask task;
    task.compiled = compiled.path;
    task.choice = {options_.units, function};
    verdict = run(task);
    report.trial_seconds = seconds_since(start);
    if (verdict.empty()) verdict = kWorks;
    if (!note.empty()) write_file(note, verdict);
  }
  if (verdict == kWorks) return;
  fail(ErrorCode::Device,
       "{}: Core ML with {} fails at the first prediction: {}; other compute units may do",
       compiled.name, to_string(options_.units), verdict);
}

}  // namespace pippin::coreml
