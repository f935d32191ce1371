#include "pippin/hub/push/push.h"

#include <atomic>
#include <set>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/hub/api.h"
#include "pippin/hub/push/commit.h"
#include "pippin/hub/push/plan.h"
#include "pippin/hub/push/uploader.h"
#include "pippin/hub/repo_spec.h"

namespace pippin::hub {
namespace {

class Pusher {
 public:
  Pusher(const PushOptions& options, const Settings& settings, const PushNotes& notes)
      : options_(options),
        settings_(settings),
        notes_(notes),
        connection_(settings, reached_, nullptr) {}

  PushResult run() {
    // Errors of the arguments come before those of the settings.
    const std::string repo = given_repo();
    if (!is_safe_revision(options_.revision)) {
      fail(ErrorCode::InvalidArgument, "--revision: \"{}\" is not a branch", options_.revision);
    }
    const std::vector<LocalFile> files = list_local_files(
        options_.source, {options_.path_in_repo, options_.include, options_.exclude});
    check_settings();
    result_.repo = with_user(repo);
    result_.revision = options_.revision;
    const Head head = find_target();
    if (options_.dry_run && result_.creates_repo) return describe_new(files);
    std::vector<RepoFile> there;
    if (head.has_revision) {
      there = fetch_tree(connection_, result_.repo, head.commit, options_.notice);
    }
    // A dry run must not ask about a branch that it would create.
    const std::string known =
        options_.dry_run && result_.creates_branch ? "main" : options_.revision;
    PushPlan plan = plan_push(connection_, options_, result_.repo, known, files, there, notes_);
    result_.files = plan.files;
    result_.bytes = plan.bytes;
    result_.commit = head.commit;
    if (options_.dry_run || plan.is_empty()) return std::move(result_);
    send(std::move(plan), head);
    return std::move(result_);
  }

 private:
  void check_settings() const {
    if (settings_.offline) {
      fail(ErrorCode::InvalidArgument, "HF_HUB_OFFLINE is set: nothing can be pushed");
    }
    if (settings_.token.empty()) {
      fail(ErrorCode::InvalidArgument,
           "a push needs a token that may write: one of {}/settings/tokens in HF_TOKEN, with "
           "--token, or by `hf auth login`",
           settings_.endpoint);
    }
  }

  std::string given_repo() const {
    std::string repo = options_.repo;
    const std::string site = settings_.endpoint + "/";
    if (repo.starts_with(site)) repo.erase(0, site.size());  // copied from a browser
    if (!is_repo_id(repo)) {
      fail(ErrorCode::InvalidArgument, "\"{}\" is not a repository: org/name", options_.repo);
    }
    return repo;
  }

  std::string with_user(const std::string& repo) {
    if (repo.find('/') != std::string::npos) return repo;
    return fmt::format("{}/{}", fetch_user(connection_, options_.notice), repo);
  }

  Head find_target() {
    Head head = fetch_head(connection_, result_.repo, options_.revision, options_.notice);
    result_.is_private = head.is_private;
    if (!head.has_repo) return create(head);
    if (!head.has_revision) head = branch_off();
    if (options_.is_private && *options_.is_private != head.is_private) {
      fail(ErrorCode::InvalidArgument, "{} is {}; change that at {}/{}/settings, or omit --{}",
           result_.repo, head.is_private ? "private" : "public", settings_.endpoint, result_.repo,
           head.is_private ? "public" : "private");
    }
    return head;
  }

  Head create(Head head) {
    const bool is_private = options_.is_private.value_or(true);
    result_.creates_repo = true;
    result_.is_private = is_private;
    if (options_.dry_run) return head;
    // False also if an answer was lost, and the second request found the new repository.
    const bool created = create_repo(connection_, result_.repo, is_private, options_.notice);
    head = fetch_head(connection_, result_.repo, options_.revision, options_.notice);
    if (!created && !head.has_repo) {
      fail(ErrorCode::Network, "{}: it exists, and the token of {} may not read it", result_.repo,
           settings_.token_source);
    }
    if (head.has_repo && !head.has_revision && options_.revision != kDefaultRevision) {
      head = branch_off();
    }
    return head;
  }

  // Creates the branch; of a dry run, returns the head of the main branch.
  Head branch_off() {
    const std::string& branch = options_.revision;
    if (branch == kDefaultRevision) {  // a repository without a commit
      Head head;
      head.has_repo = true;
      return head;
    }
    if (options_.creates_pr || branch.starts_with("refs/")) {
      fail(ErrorCode::NotFound, "{} has no branch or pull request \"{}\"", result_.repo, branch);
    }
    result_.creates_branch = true;
    if (options_.dry_run) {
      return fetch_head(connection_, result_.repo, kDefaultRevision, options_.notice);
    }
    create_branch(connection_, result_.repo, branch, options_.notice);
    return fetch_head(connection_, result_.repo, branch, options_.notice);
  }

  PushResult describe_new(const std::vector<LocalFile>& files) {
    result_.files.reserve(files.size());
    for (const LocalFile& file : files) {
      result_.files.push_back({file.path, file.size, PushedFile::Change::New});
      result_.bytes += file.size;
    }
    return std::move(result_);
  }

  void send(PushPlan plan, const Head& head) {
    UploadOptions upload;
    upload.repo = result_.repo;
    upload.revision = options_.revision;
    upload.connections = options_.connections;
    upload.notice = options_.notice;
    if (options_.progress) {
      upload.progress = [&](uint64_t done, uint64_t total) {
        options_.progress("Uploading", done, total);
      };
    }
    // Files of the same content are one object.
    std::vector<LfsObject> objects;
    std::set<std::string> seen;
    for (const LfsObject& object : plan.lfs) {
      if (seen.insert(object.sha256).second) objects.push_back(object);
    }
    result_.sent = upload_objects(objects, settings_, upload, notes_, reached_);

    CommitRequest request;
    request.summary = options_.summary.empty() ? default_summary() : options_.summary;
    request.description = options_.description;
    request.parent = head.commit;
    request.regular = std::move(plan.regular);
    request.lfs = std::move(plan.lfs);
    request.deleted = std::move(plan.deleted);
    request.creates_pr = options_.creates_pr;
    const CommitResult committed =
        commit(connection_, result_.repo, options_.revision, request, options_.notice);
    result_.has_committed = true;
    result_.commit = committed.commit;
    result_.url = committed.url;
    result_.pull_request = committed.pull_request;
  }

  std::string default_summary() const {
    std::filesystem::path place = std::filesystem::absolute(options_.source).lexically_normal();
    if (place.filename().empty()) place = place.parent_path();
    return fmt::format("Push {} with pippin", place.filename().string());
  }

  const PushOptions& options_;
  const Settings& settings_;
  const PushNotes& notes_;
  std::atomic<bool> reached_ = false;
  Connection connection_;
  PushResult result_;
};

}  // namespace

const char* to_string(PushedFile::Change change) {
  switch (change) {
    case PushedFile::Change::Same:
      return "same";
    case PushedFile::Change::Regular:
      return "regular";
    case PushedFile::Change::Lfs:
      return "lfs";
    case PushedFile::Change::New:
      return "new";
    case PushedFile::Change::Ignored:
      return "ignored";
    case PushedFile::Change::Deleted:
      return "deleted";
  }
  return "";
}

PushResult push(const PushOptions& options, const Settings& settings, const PushNotes& notes) {
  return Pusher(options, settings, notes).run();
}

}  // namespace pippin::hub
