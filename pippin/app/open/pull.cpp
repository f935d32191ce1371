#include "pippin/app/open/pull.h"

#include <chrono>

#include "pippin/base/error.h"
#include "pippin/base/stopwatch.h"
#include "pippin/hub/cache_scan.h"
#include "pippin/io/json.h"

namespace pippin::app {

hub::RepoSpec repository_of(const PullRequest& request, const std::string& endpoint) {
  std::string repo = request.repo;
  // A URL copied from a browser.
  const std::string site = endpoint + "/";
  if (repo.starts_with(site)) repo.erase(0, site.size());
  auto spec = hub::parse_repo_spec(repo, true);
  if (!spec) {
    fail(ErrorCode::InvalidArgument, "\"{}\" is not a repository: org/name or org/name@revision",
         request.repo);
  }
  if (!request.revision.empty()) {
    if (!hub::is_safe_revision(request.revision)) {
      fail(ErrorCode::InvalidArgument, "--revision: \"{}\" is not a branch, tag or commit",
           request.revision);
    }
    spec->revision = request.revision;
  }
  return *spec;
}

PullReport pull(const PullRequest& request, const PullObserver& pulls) {
  hub::Settings settings = hub::read_settings();
  if (!request.cache_dir.empty()) settings.cache = request.cache_dir;
  if (!request.token.empty()) {
    settings.token = hub::clean_token(request.token, "--token");
    settings.token_source = "--token";
  }
  PullReport report;
  report.spec = repository_of(request, settings.endpoint);
  hub::PullOptions options;
  options.choose.include = request.include;
  options.choose.include.insert(options.choose.include.end(), request.files.begin(),
                                request.files.end());
  options.choose.exclude = request.exclude;
  options.local_dir = request.local_dir;
  options.connections = request.max_workers;
  const auto start = std::chrono::steady_clock::now();
  const auto observer = pulls ? pulls(report.spec.id, options) : nullptr;
  report.pulled = hub::pull(report.spec, settings, options);
  if (options.choose.include.empty()) {
    report.tokenizer = pull_named_tokenizer(report.pulled, settings, options);
  }
  report.seconds = seconds_since(start);
  return report;
}

uint64_t remove_pulled(const std::string& model) {
  const auto spec = hub::parse_repo_spec(model);
  if (!spec) fail(ErrorCode::NotFound, "{} is not a repository", model);
  const bool all = model.find('@') == std::string::npos;
  return hub::remove_cached(hub::read_settings().cache, spec->id, all ? "" : spec->revision).bytes;
}

std::string to_json(const PullReport& report) {
  JsonWriter writer;
  writer.begin_object()
      .member("repo", report.spec.id)
      .member("revision", report.spec.revision)
      .member("commit", report.pulled.commit)
      .member("path", report.pulled.folder.string())
      .member("bytes", report.pulled.bytes)
      .member("received", report.pulled.received)
      .member("seconds", report.seconds)
      .member("packages", report.pulled.packages);
  writer.key("files").begin_array();
  for (const hub::RepoFile& file : report.pulled.files) {
    writer.begin_object().member("path", file.path).member("bytes", file.size).end_object();
  }
  writer.end_array();
  if (report.tokenizer) {
    writer.key("tokenizer").begin_object();
    writer.member("repo", report.tokenizer->repo)
        .member("path", report.tokenizer->folder.string())
        .end_object();
  }
  return writer.end_object().text();
}

}  // namespace pippin::app
