#include "pippin/cli/push.h"

#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "pippin/base/stopwatch.h"
#include "pippin/base/text.h"
#include "pippin/cli/options/options.h"
#include "pippin/cli/options/progress.h"
#include "pippin/hub/push/push.h"
#include "pippin/io/json.h"

namespace pippin::cli {
namespace {

using Change = hub::PushedFile::Change;

struct PushCommand {
  hub::PushOptions options;
  std::string token;
  bool is_private = false, is_public = false, json = false, quiet = false;
};

// One bar per stage, and notices above it; called by any thread.
class PushDisplay {
 public:
  explicit PushDisplay(Progress::Style style) : style_(style) {}

  void update(const char* stage, uint64_t done, uint64_t total) {
    const std::lock_guard lock(mutex_);
    if (!bar_ || stage_ != stage) {
      stage_ = stage;
      bar_.reset();
      bar_.emplace(stage_, style_);
    }
    bar_->update(done, total);
  }
  void notice(const std::string& line) {
    const std::lock_guard lock(mutex_);
    if (!bar_) bar_.emplace(stage_ = "Pushing", style_);
    bar_->print_line("pippin: " + line);
  }

 private:
  std::mutex mutex_;
  Progress::Style style_;
  std::string stage_;
  std::optional<Progress> bar_;
};

std::string json_of(const hub::PushResult& result, bool dry_run, double seconds) {
  JsonWriter writer;
  writer.begin_object()
      .member("repo", result.repo)
      .member("revision", result.revision)
      .member("commit", result.commit)
      .member("url", result.url)
      .member("pull_request", result.pull_request)
      .member("private", result.is_private)
      .member("creates_repo", result.creates_repo)
      .member("creates_branch", result.creates_branch)
      .member("committed", result.has_committed)
      .member("dry_run", dry_run)
      .member("bytes", result.bytes)
      .member("sent", result.sent)
      .member("seconds", seconds);
  writer.key("files").begin_array();
  for (const hub::PushedFile& file : result.files) {
    writer.begin_object()
        .member("path", file.path)
        .member("bytes", file.size)
        .member("change", hub::to_string(file.change))
        .end_object();
  }
  return writer.end_array().end_object().text() + "\n";
}

// "12 files, 2.4 GB, 3 deleted" of the changes.
std::string changes_of(const hub::PushResult& result) {
  size_t sent = 0, deleted = 0, ignored = 0;
  for (const hub::PushedFile& file : result.files) {
    deleted += file.change == Change::Deleted ? 1 : 0;
    ignored += file.change == Change::Ignored ? 1 : 0;
    sent += file.change != Change::Same && file.change != Change::Deleted &&
                    file.change != Change::Ignored
                ? 1
                : 0;
  }
  std::string text = fmt::format("{} of {} files, {}", sent, result.files.size() - deleted,
                                 format_bytes(result.bytes));
  if (deleted > 0) text += fmt::format(", {} deleted", deleted);
  if (ignored > 0) text += fmt::format(", {} ignored by .gitignore", ignored);
  return text;
}

void print_dry_run(const hub::PushResult& result) {
  std::string text;
  for (const hub::PushedFile& file : result.files) {
    text += fmt::format("{:8} {:>9}  {}\n", hub::to_string(file.change), format_bytes(file.size),
                        file.path);
  }
  print_out(text);
  std::string creates;
  if (result.creates_repo) {
    creates = fmt::format("; creates the {} repository", result.is_private ? "private" : "public");
  } else if (result.creates_branch) {
    creates = "; creates the branch";
  }
  fmt::print(stderr, "{}@{}: would push {}{}\n", result.repo, result.revision, changes_of(result),
             creates);
}

void print_result(const hub::PushResult& result, const PushCommand& command, double seconds) {
  if (!command.quiet) {
    const std::string visibility = fmt::format(" ({}{})", result.creates_repo ? "new, " : "",
                                               result.is_private ? "private" : "public");
    if (result.has_committed) {
      fmt::print(stderr, "{}@{}{}: {}, {} sent in {:.1f} s, commit {}\n", result.repo,
                 result.revision, visibility, changes_of(result), format_bytes(result.sent),
                 seconds, result.commit.substr(0, 8));
    } else {
      fmt::print(stderr, "{}@{}{}: all {} files are there, nothing to commit\n", result.repo,
                 result.revision, visibility, result.files.size());
    }
  }
  const std::string& url = result.pull_request.empty() ? result.url : result.pull_request;
  print_out((url.empty() ? result.commit : url) + "\n");
}

void run_push(const PushCommand& command) {
  hub::PushOptions options = command.options;
  hub::Settings settings = hub::read_settings();
  if (!command.token.empty()) {
    settings.token = hub::clean_token(command.token, "--token");
    settings.token_source = "--token";
  }
  if (command.is_private || command.is_public) options.is_private = command.is_private;
  const auto start = std::chrono::steady_clock::now();
  hub::PushResult result;
  {
    PushDisplay display(command.json || command.quiet ? Progress::Style::Quiet
                                                      : Progress::Style::Auto);
    options.progress = [&](const char* stage, uint64_t done, uint64_t total) {
      display.update(stage, done, total);
    };
    if (!command.quiet) options.notice = [&](const std::string& line) { display.notice(line); };
    result = hub::push(options, settings, hub::PushNotes::of_user());
  }
  const double seconds = seconds_since(start);
  if (command.json) return print_out(json_of(result, options.dry_run, seconds));
  if (options.dry_run) return print_dry_run(result);
  print_result(result, command, seconds);
}

}  // namespace

CLI::App* add_push_command(CLI::App& app) {
  auto command = std::make_shared<PushCommand>();
  hub::PushOptions& options = command->options;
  CLI::App* sub =
      app.add_subcommand("push", "Publish a package or a folder on the Hugging Face Hub");
  const auto option = [&](const char* name, auto& value, const char* type, const char* help) {
    return sub->add_option(name, value, help)->type_name(type);
  };
  option("SRC", options.source, "", "A package, a folder or a file")->required();
  option("REPO", options.repo, "", "org/name; a name alone: one of the token's user")->required();
  option("--revision", options.revision, "REV",
         "Branch to commit to, created if it is missing, or refs/pr/N (main)");
  sub->add_flag("--create-pr", options.creates_pr, "Open a pull request instead");
  CLI::Option* is_private =
      sub->add_flag("--private", command->is_private, "A new repository is private (the default)");
  sub->add_flag("--public", command->is_public, "A new repository is public")->excludes(is_private);
  option("--path-in-repo", options.path_in_repo, "PATH",
         "Where the files go (a package or file: its name; a folder: the top)");
  option("--include", options.include, "GLOB", "Push only files that match; repeatable");
  option("--exclude", options.exclude, "GLOB", "Leave out files that match; repeatable");
  option("--delete", options.remove, "GLOB",
         "Delete files of the repository that match and are not pushed; repeatable");
  option("-m,--commit-message", options.summary, "TEXT", "The commit's subject");
  option("--commit-description", options.description, "TEXT", "The commit's body");
  sub->add_flag("--dry-run", options.dry_run, "Print what would be pushed, and change nothing");
  option("--token", command->token, "TOKEN",
         "Access token (default: HF_TOKEN, or the one that hf auth login stored)");
  option("--max-workers", options.connections, "N", "Simultaneous connections (4)")
      ->check(between(1, 32));
  sub->add_flag("--json", command->json, "Print commit, URL and files as JSON");
  sub->add_flag("-q,--quiet", command->quiet, "Print the URL only");
  sub->footer(
      "Prints the commit's URL, or that of the pull request. Contents are sent first, then one\n"
      "commit: an interrupted push changes nothing, and the next one continues. Files that the\n"
      "repository has are not sent. Files of a pushed package that it no longer has are deleted.");
  sub->callback([command] { run_push(*command); });
  return sub;
}

}  // namespace pippin::cli
