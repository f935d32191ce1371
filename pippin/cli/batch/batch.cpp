#include "pippin/cli/batch/batch.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "pippin/base/error.h"
#include "pippin/base/files/created_folders.h"
#include "pippin/base/files/output.h"
#include "pippin/base/log.h"
#include "pippin/base/platform/program_path.h"
#include "pippin/base/stopwatch.h"
#include "pippin/batch/job.h"
#include "pippin/batch/merge.h"
#include "pippin/batch/shard.h"
#include "pippin/batch/status.h"
#include "pippin/batch/worker.h"
#include "pippin/cli/batch/batch_answers.h"
#include "pippin/cli/batch/batch_script.h"
#include "pippin/cli/batch/crash_mark.h"
#include "pippin/cli/options/model_entry.h"
#include "pippin/cli/options/model_options.h"
#include "pippin/cli/options/options.h"
#include "pippin/cli/options/progress.h"
#include "pippin/cli/options/ranks.h"
#include "pippin/io/json.h"

namespace pippin::cli {
namespace {

namespace fs = std::filesystem;

struct BatchCommand {
  std::string input, output, model, format = "npy";
  uint64_t shard = 0;
  int64_t slurm = 0;
  bool embed = false, dry_run = false, json = false, quiet = false;
  int tensor_parallel = 1;
  ModelArguments model_options;
  const CLI::App* parsed = nullptr;
};

// Where the job is, and the file that it ends in.
struct BatchPlaces {
  fs::path folder, target;  // no target: the answers stay in the folder
  bool is_hidden = false;   // the folder belongs to the target alone
};

BatchPlaces places_of(const BatchCommand& command) {
  const fs::path output = command.output;
  const fs::path ending = output.extension();
  if (ending == ".npy" && !command.embed) {
    throw CLI::ValidationError("-o " + command.output + ": only --embed writes .npy");
  }
  if (ending == ".npy" || ending == ".jsonl") {
    const bool is_given = command.parsed->get_option("--format")->count() > 0;
    if (is_given && ending != "." + command.format) {
      throw CLI::ValidationError(fmt::format("-o {}: the ending is not that of --format {}",
                                             command.output, command.format));
    }
    return {output.parent_path() / ("." + output.filename().string() + ".batch"), output, true};
  }
  if (!command.embed) return {output, {}, false};
  return {output, output / ("vectors." + command.format), false};
}

// These options change no answer. The threads do not either: sums have one order.
constexpr std::array<std::string_view, 24> kNeutralOptions = {
    "--input-file", "--output-file",     "--model",        "--format",
    "--shard",      "--slurm",           "--dry-run",      "--json",
    "--quiet",      "--embed",           "--threads",      "--pin-threads",
    "--parallel",   "--max-queue",       "--cache-tokens", "--cache-ram",
    "--cache-disk", "--cache-disk-size", "--keep-alive",   "--no-cache",
    "--low-memory", "--draft",           "--draft-max",    "--tensor-parallel"};
constexpr std::array<std::string_view, 3> kUnsubmitted = {"--input-file", "--slurm", "--dry-run"};

// The options given, except those in `without`: names, and values as they are given again.
std::vector<std::pair<std::string, std::string>> given_options(
    const CLI::App& command, std::span<const std::string_view> without) {
  std::vector<std::pair<std::string, std::string>> given;
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    if (std::find(without.begin(), without.end(), name) != without.end()) continue;
    const bool is_flag = option->get_expected_min() == 0;
    for (const std::string& value : option->results()) {
      given.emplace_back(name, is_flag ? "" : value);
    }
  }
  return given;
}

batch::JobSettings job_settings(const BatchCommand& command, const server::ModelEntry& model) {
  batch::JobSettings settings;
  settings.input = command.input;
  settings.kind = command.embed ? batch::InputKind::Texts : batch::InputKind::Requests;
  settings.shard_requests = command.shard;
  for (const auto& [name, value] : given_options(*command.parsed, kNeutralOptions)) {
    std::string& all = settings.options[name];
    if (!all.empty()) all += ' ';
    all += value.empty() ? "given" : value;
  }
  settings.options["--model"] = describe_model(model);
  return settings;
}

void submit(const BatchCommand& command, const BatchPlaces& places) {
  std::vector<std::string> words = {program_path(), "batch", command.input};
  for (const auto& [name, value] : given_options(*command.parsed, kUnsubmitted)) {
    words.push_back(value.empty() ? name : fmt::format("{}={}", name, value));
  }
  const fs::path folder = fs::absolute(places.folder);
  const std::string script = batch_script(words, command.slurm, fs::current_path(), folder);
  if (command.dry_run) return print_out(script);
  CreatedFolders folders;
  folders.create(folder);
  write_file(folder / "job.sbatch", script);
  ::execlp("sbatch", "sbatch", (folder / "job.sbatch").c_str(), nullptr);
  fail(ErrorCode::NotFound, "sbatch: {}: Slurm's programs are needed here", std::strerror(errno));
}

void print_result(const BatchCommand& command, const batch::Job& job,
                  const batch::WorkerResult& result, const batch::JobStatus& status,
                  const BatchPlaces& places, double seconds) {
  const std::string place = (places.target.empty() ? places.folder : places.target).string();
  if (command.json) {
    JsonWriter json;
    json.begin_object().member("id", job.id).member("output", place);
    json.member("requests", job.requests).member("answered", status.answered);
    json.member("failed", status.failed).member("answered_here", result.answered);
    json.member("seconds", seconds).end_object();
    print_out(json.text() + "\n");
  }
  if (!result.first_failure.empty()) {
    fmt::print(stderr, "pippin: {} requests failed here, first {}\n", result.failed,
               result.first_failure);
  }
  if (command.quiet) return;
  fmt::print(stderr, "pippin: {} requests answered, {} of them failed: {}{}\n", status.answered,
             status.failed, place,
             places.target.empty() ? " (pippin batch merge makes one file)" : "");
}

void batch(BatchCommand& command) {
  if (command.input.empty()) throw CLI::RequiredError("INPUT");
  if (command.output.empty()) throw CLI::RequiredError("--output-file");
  if (command.dry_run && command.slurm == 0) throw CLI::ValidationError("--dry-run needs --slurm");
  const BatchPlaces places = places_of(command);
  if (command.slurm > 0) return submit(command, places);
  const auto start = std::chrono::steady_clock::now();
  const LogScope log(LogLevel::Warn);
  const server::ModelEntry model = model_entry(command.model.empty() ? "demo" : command.model);
  const uint64_t seed = command.model_options.sampling.seed.value_or(0);
  command.model_options.sampling.seed.reset();  // each request has its own
  server::ModelSettings settings_of_model = command.model_options.settings();
  settings_of_model.choice.path = model.path;
  if (run_as_rank(settings_of_model.choice, command.tensor_parallel)) return;
  std::optional<BatchAnswers> answers;
  const auto load = [&] {
    if (answers) return;
    server::ModelListOptions options;
    static_cast<server::ModelSettings&>(options) = settings_of_model;
    options.models.push_back(model);
    options.scheduler.max_waiting = std::max<int64_t>(options.scheduler.max_waiting, 4096);
    answers.emplace(std::move(options));
  };
  if (places.is_hidden && fs::exists(places.folder / "merged") && !fs::exists(places.target)) {
    fail(ErrorCode::NotFound, "{}: was written and is gone; remove {} to compute it again",
         places.target.string(), places.folder.string());
  }
  batch::JobSettings settings = job_settings(command, model);
  if (!fs::exists(places.folder / "job.json")) load();
  settings.check = [&](const batch::Request& request, const std::string& where) {
    load();
    answers->check(request, where);
  };
  const std::string owner = batch::Claims::new_owner();
  const batch::Job job = batch::open_job(places.folder, settings, owner);
  if (fs::exists(job.merged())) {
    if (!command.quiet) fmt::print(stderr, "pippin: {} is complete\n", places.target.string());
    return;
  }
  batch::WorkerResult result;
  if (job.count_missing() > 0) {
    load();
    Progress progress("Answers", command.quiet ? Progress::Style::Quiet : Progress::Style::Auto,
                      stderr, "requests");
    batch::WorkerOptions options;
    options.in_flight = answers->in_flight();
    options.first_share = first_share();
    options.on_progress = [&](uint64_t done, uint64_t total) { progress.update(done, total); };
    constexpr size_t kTexts = 32;
    if (command.embed) options.group = kTexts;
    const batch::Answering answer = [&](std::span<const batch::Request* const> requests) {
      if (command.embed) return answers->embed(job.id, requests);
      return std::vector{answers->answer(job.id, *requests.front(), seed)};
    };
    mark_crashes(batch::crash_mark(job, owner));
    result = work(job, owner, answer, options);
  }
  const batch::JobStatus status = batch::status_of(job);
  if (places.is_hidden) {
    merge_and_remove(job, places.target, status.failed);
  } else if (!places.target.empty() && !fs::exists(places.target)) {
    merge(job, places.target);
  }
  print_result(command, job, result, status, places, seconds_since(start));
}

batch::Job known_job(const std::string& folder) {
  auto job = batch::read_job(folder);
  if (!job)
    fail(ErrorCode::NotFound, "{}: has no job.json, so it is not the output of pippin batch",
         folder);
  return std::move(*job);
}

void print_status(const std::string& folder, bool as_json) {
  const batch::Job job = known_job(folder);
  const batch::JobStatus status = batch::status_of(job);
  if (as_json) {
    JsonWriter json;
    json.begin_object().member("id", job.id).member("requests", job.requests);
    json.member("answered", status.answered).member("failed", status.failed);
    json.member("shards", job.shards.size()).member("complete_shards", status.complete_shards);
    json.key("workers").begin_array();
    for (const batch::ClaimState& claim : status.claims) {
      json.begin_object().member("shard", claim.number).member("host", claim.host);
      json.member("pid", claim.pid).member("seconds", claim.age);
      json.member("is_alive", !claim.is_stale).end_object();
    }
    return print_out(json.end_array().end_object().text() + "\n");
  }
  std::string text = fmt::format(
      "{} of {} requests answered, {} of them failed; {} of {} shards complete\n", status.answered,
      job.requests, status.failed, status.complete_shards, job.shards.size());
  for (const batch::ClaimState& claim : status.claims) {
    text += fmt::format("shard {}: {}, process {}, seen {:.0f} s ago{}\n", claim.number, claim.host,
                        claim.pid, claim.age, claim.is_stale ? ": it has died" : "");
  }
  print_out(text);
}

void add_job_commands(CLI::App& sub) {
  struct JobCommand {
    std::string folder, target;
    bool json = false;
  };
  auto values = std::make_shared<JobCommand>();
  const auto add = [&](const char* name, const char* help) {
    CLI::App* one = sub.add_subcommand(name, help);
    one->add_option("OUT", values->folder, "The folder of -o")->type_name("")->required();
    return one;
  };
  CLI::App* status = add("status", "Print how far a job is, and who works on it");
  status->add_flag("--json", values->json, "Print it as JSON");
  status->callback([values] { print_status(values->folder, values->json); });
  CLI::App* merged = add("merge", "Write the answers of a complete job into one file");
  merged->add_option("-o,--output-file", values->target, "File: .jsonl, or .npy for vectors")
      ->type_name("FILE")
      ->required();
  merged->callback([values] {
    const batch::Job job = known_job(values->folder);
    if (fs::path(values->target).extension() == ".npy" && job.kind != batch::InputKind::Texts) {
      fail(ErrorCode::InvalidArgument, "{}: only jobs of --embed have vectors", values->target);
    }
    batch::merge(job, values->target);
  });
}

}  // namespace

CLI::App* add_batch_command(CLI::App& app) {
  auto command = std::make_shared<BatchCommand>();
  CLI::App* sub =
      app.add_subcommand("batch", "Answer a file of requests, in any number of processes");
  const auto option = [&](const char* name, auto& value, const char* type, const char* help) {
    return sub->add_option(name, value, help)->type_name(type);
  };
  option("INPUT,-i,--input-file", command->input, "FILE",
         "Requests in OpenAI's batch format, one a line; with --embed: texts");
  option("-o,--output-file", command->output, "OUT",
         "Folder of the job, or a file that ends in .jsonl or .npy");
  option("-m,--model", command->model, "MODEL",
         "What `pippin run` takes, or NAME=MODEL (default: the demo model)");
  sub->add_flag("--embed", command->embed, "Each line is a text: compute its vector");
  option("--format", command->format, "FORMAT", "Of the vectors: npy or jsonl (npy)")
      ->check(CLI::IsMember({"npy", "jsonl"}).description(""));
  option("--shard", command->shard, "N",
         "Requests that a process takes at once (a 256th of the input, 16 to 512)")
      ->check(between(1));
  option("--slurm", command->slurm, "N", "Submit the job to Slurm, as an array of N processes")
      ->check(between(1));
  sub->add_flag("--dry-run", command->dry_run, "With --slurm: only print the script");
  sub->add_flag("--json", command->json, "Print a summary as JSON");
  sub->add_flag("-q,--quiet", command->quiet, "Print no progress");
  add_model_options(*sub, command->model_options);
  add_ranks_option(*sub, command->tensor_parallel);
  add_job_commands(*sub);
  sub->footer(
      "Processes with the same output share the work, on one machine or several with a common\n"
      "folder. After a crash or Ctrl-C, the same command goes on. docs/batch.md tells more.");
  command->parsed = sub;
  sub->callback([command] {
    if (command->parsed->get_subcommands().empty()) batch(*command);
  });
  return sub;
}

}  // namespace pippin::cli
