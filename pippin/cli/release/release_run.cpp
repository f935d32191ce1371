#include "pippin/cli/release/release_run.h"

#include <set>

#include <fmt/format.h>

#include "pippin/app/facts/date.h"
#include "pippin/app/facts/model_facts.h"
#include "pippin/app/open/hub_model.h"
#include "pippin/base/error.h"
#include "pippin/cli/release/step_records.h"
#include "pippin/hub/repo_spec.h"

namespace pippin::cli {
namespace {

namespace fs = std::filesystem;

class Release {
 public:
  Release(const Recipe& recipe, const ReleaseOptions& options)
      : recipe_(recipe), options_(options), records_(recipe.output), repo_(recipe.output / "repo") {
    report_.version = options.version;
    report_.repo = recipe.repo;
    report_.source = recipe.source;
    report_.date = app::utc_now();
  }

  ReleaseReport run() {
    fs::create_directories(repo_);
    if (find_source()) {
      remove_stale();
      for (const Variant& variant : recipe_.variants) make(variant);
      write_card();
      push();
    }
    return std::move(report_);
  }

 private:
  // Pins a repository to its commit; of a folder, its files are part of the keys.
  bool find_source() {
    const auto spec = app::repository_of(recipe_.source);
    if (!spec) {
      if (!fs::exists(recipe_.source)) {
        fail(ErrorCode::NotFound, "{}: source: no such file or folder", recipe_.source);
      }
      source_ = fs::absolute(recipe_.source).string();
      source_key_ = app::read_file_facts(source_).digest;
      const fs::path card = fs::path(source_) / "README.md";
      if (fs::is_regular_file(card)) base_card_ = card.string();
      return true;
    }
    // A branch may have moved since the last run: this step is never reused.
    const StepRecord pulled = records_.run("pull", "", {"pull", recipe_.source, "--json"}, false);
    report_.steps.push_back(pulled);
    if (!succeeded(pulled)) return false;
    report_.commit = pulled.result->get_string("commit");
    const std::string path = spec->path.empty() ? "" : "/" + spec->path;
    const std::string tag = spec->gguf.empty() ? "" : ":" + spec->gguf;
    source_ = fmt::format("{}{}{}@{}", spec->id, path, tag, report_.commit);
    source_key_ = source_;
    base_ = spec->id;
    pull_card(*spec);
    return true;
  }

  // The base model's card, whose license is carried over; it may have none.
  void pull_card(const hub::RepoSpec& spec) {
    const std::string pinned = fmt::format("{}@{}", spec.id, report_.commit);
    const StepRecord card = records_.run("base-card", step_key({pinned}),
                                         {"pull", pinned, "--include", "README.md", "--json"});
    report_.steps.push_back(card);
    if (card.result)
      base_card_ = (fs::path(card.result->get_string("path")) / "README.md").string();
  }

  bool succeeded(const StepRecord& record) {
    if (record.status == 0 && record.result) return true;
    report_.failures.push_back({ReleaseStatus::Failed, fmt::format("{}: status {}: {}", record.name,
                                                                   record.status, record.error)});
    return false;
  }

  // Removes outputs of variants that the recipe no longer has.
  void remove_stale() {
    std::set<std::string> wanted = {"README.md"};
    for (const Variant& variant : recipe_.variants) wanted.insert(variant.path());
    for (const auto& entry : fs::directory_iterator(repo_)) {
      if (!wanted.contains(entry.path().filename().string())) fs::remove_all(entry.path());
    }
  }

  // The arguments, and the contents of files among them.
  std::string key_of(const Arguments& arguments, const std::string& input) const {
    std::vector<std::string> parts = {options_.version, source_key_, input};
    for (const std::string& word : arguments) {
      parts.push_back(word);
      std::error_code ignored;
      if (fs::is_regular_file(word, ignored)) parts.push_back(app::read_file_facts(word).digest);
    }
    return step_key(parts);
  }

  StepRecord step(VariantReport& report, const char* name, const Arguments& arguments,
                  const std::string& input, bool may_reuse = true) {
    StepRecord record = records_.run(fmt::format("{}.{}", report.variant.name, name),
                                     key_of(arguments, input), arguments, may_reuse);
    report.steps.push_back(record);
    return record;
  }

  void make(const Variant& variant) {
    VariantReport report;
    report.variant = variant;
    run_steps(report);
    report_.variants.push_back(std::move(report));
  }

  void run_steps(VariantReport& report) {
    const std::string package = (repo_ / report.variant.path()).string();
    Arguments convert = {"convert", source_, "-o", package, "--json"};
    append(convert, report.variant.convert);
    // Without its output, the record of the conversion is void.
    const StepRecord converted = step(report, "convert", convert, "", fs::exists(package));
    if (converted.status != 0 || !converted.result) {
      report.failures.push_back(
          {ReleaseStatus::Failed,
           fmt::format("{}: status {}: {}", converted.name, converted.status, converted.error)});
      return;
    }
    const std::string made = app::read_file_facts(package).digest;
    if (recipe_.verify) {
      Arguments verify = {"verify", package, "--against", source_, "--json"};
      append(verify, *recipe_.verify);
      check_verify(step(report, "verify", verify, made), report);
    }
    if (recipe_.doctor) {
      Arguments doctor = {"doctor", package, "--json"};
      if (!recipe_.doctor->target.empty()) append(doctor, {"--target", recipe_.doctor->target});
      check_doctor(step(report, "doctor", doctor, made), *recipe_.doctor, report);
    }
    if (recipe_.bench) {
      Arguments bench = {"bench", package, "--json"};
      append(bench, *recipe_.bench);
      check_bench(step(report, "bench", bench, made), recipe_.min_tokens_per_second, report);
    }
  }

  static void append(Arguments& words, const Arguments& more) {
    words.insert(words.end(), more.begin(), more.end());
  }

  void write_card() {
    if (report_.status() == ReleaseStatus::Failed) return;
    Arguments card = {"card", repo_.string(), "-o", (repo_ / "README.md").string()};
    // The folder is called repo.
    append(card, recipe_.repo.empty() ? Arguments{"--title", recipe_.file.stem().string()}
                                      : Arguments{"--repo", recipe_.repo});
    if (!base_.empty()) append(card, {"--base", base_});
    if (!base_card_.empty()) append(card, {"--base-card", base_card_});
    for (const VariantReport& variant : report_.variants) {
      const std::string& name = variant.variant.name;
      const auto add = [&](const char* option, const char* step) {
        const std::string record = fmt::format("{}.{}", name, step);
        append(card, {option, fmt::format("{}={}", name, records_.output_of(record).string())});
      };
      if (recipe_.verify) add("--verify", "verify");
      if (recipe_.bench) add("--bench", "bench");
    }
    append(card, recipe_.card);
    const StepRecord record = records_.run("card", "", card, false);
    report_.steps.push_back(record);
    if (record.status != 0) {
      report_.failures.push_back({ReleaseStatus::Failed, "card: " + record.error});
    }
  }

  void push() {
    if (options_.no_push || recipe_.repo.empty()) return;
    if (report_.status() != ReleaseStatus::Passed) return;
    Arguments push = {"push", repo_.string(), recipe_.repo, "--json"};
    append(push, recipe_.push);
    // The repository may have changed since the last run: never reused.
    const StepRecord record = records_.run("push", "", push, false);
    report_.steps.push_back(record);
    succeeded(record);
  }

  const Recipe& recipe_;
  const ReleaseOptions& options_;
  StepRecords records_;
  const fs::path repo_;
  std::string source_, source_key_, base_, base_card_;
  ReleaseReport report_;
};

}  // namespace

ReleaseReport run_release(const Recipe& recipe, const ReleaseOptions& options) {
  return Release(recipe, options).run();
}

}  // namespace pippin::cli
