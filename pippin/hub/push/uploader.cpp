#include "pippin/hub/push/uploader.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/hub/answers.h"
#include "pippin/hub/push/object_upload.h"
#include "pippin/hub/retry.h"
#include "pippin/hub/transfer_threads.h"
#include "pippin/io/json.h"

namespace pippin::hub {
namespace {

constexpr std::chrono::seconds kPartTimeout{60};  // S3 answers a part after storing it
constexpr std::chrono::milliseconds kReportInterval(40);

// Uploads one batch of objects, whose addresses the server has told.
class Uploader {
 public:
  Uploader(std::vector<std::unique_ptr<ObjectUpload>>& uploads, const Settings& settings,
           const UploadOptions& options, std::atomic<bool>& reached, uint64_t done, uint64_t total)
      : uploads_(uploads),
        settings_(settings),
        options_(options),
        threads_(settings, reached),
        done_before_(done),
        total_(total) {}

  uint64_t run() {
    const int count = std::max(1, options_.connections);
    in_flight_ = std::vector<std::atomic<uint64_t>>(static_cast<size_t>(count));
    threads_.run(
        count, [this](bool& is_done) { return find_job(is_done); },
        [this](Connection& connection, const Job& job, size_t thread) {
          send(connection, *job.upload, job.part, in_flight_[thread]);
          in_flight_[thread] = 0;
        });
    report(true);
    return sent_;
  }

 private:
  struct Job {
    ObjectUpload* upload = nullptr;
    UploadPart part;
  };

  // A part in flight may have to be sent again, to another address.
  std::optional<Job> find_job(bool& is_done) {
    is_done = true;
    for (const auto& upload : uploads_) {
      if (auto part = upload->next_part()) return Job{upload.get(), std::move(*part)};
      is_done = is_done && upload->is_done();
    }
    return std::nullopt;
  }

  void report(bool now) {
    if (!options_.progress) return;
    const std::lock_guard lock(report_mutex_);
    const auto time = std::chrono::steady_clock::now();
    if (!now && time - reported_ < kReportInterval) return;
    reported_ = time;
    uint64_t done = done_before_;
    for (const auto& upload : uploads_) done += upload->arrived();
    for (const auto& bytes : in_flight_) done += bytes;
    options_.progress(std::min(done, total_), total_);
  }

  void send(Connection& connection, ObjectUpload& upload, const UploadPart& part,
            std::atomic<uint64_t>& in_flight) {
    const LfsObject& object = upload.object();
    const LocalReader reader(object.file);
    HttpUpload body;
    body.size = part.end - part.begin;
    body.read = [&](uint64_t position, MutableByteSpan buffer) {
      reader.read(part.begin + position, buffer);
    };
    body.progress = [&](uint64_t sent) {
      in_flight = sent;
      report(false);
    };
    Connection::Options options;
    options.timeout = std::max(connection.settings().download_timeout, kPartTimeout);
    options.put = &body;
    options.headers = part.headers;
    Backoff backoff(settings_.retries);
    while (!threads_.stop() && upload.is_current(part)) {
      const Connection::Answer answer = connection.request(part.url, options);
      if (threads_.stop()) return;
      if (is_success(answer.response)) {
        sent_ += body.size;
        const std::string etag = answer.response.header("etag").value_or("");
        if (etag.empty() && !upload.action().parts.empty()) {
          fail(ErrorCode::Network, "{}: {} takes part {} without an ETag", object.file.path,
               answer.url.host(), part.index + 1);
        }
        if (upload.arrive(part, etag)) complete(connection, upload);
        return;
      }
      in_flight = 0;
      if (!pause(answer, object, backoff)) {
        restart(connection, upload, part.round, answer);
        return;
      }
    }
  }

  // Waits before the same request; false if that does not help.
  bool pause(const Connection::Answer& answer, const LfsObject& object, Backoff& backoff) {
    const auto wait = is_transient(answer.response) ? backoff.next(answer.response) : std::nullopt;
    if (!wait) return false;
    if (options_.notice) {
      options_.notice(
          fmt::format("{}: {}", object.file.path, describe_wait(answer.response, *wait)));
    }
    wait_or_stop(*wait, &threads_.stop());
    return true;
  }

  // Another address after a refusal, because a signature or an upload may have expired; the
  // server's own refusals are final.
  void restart(Connection& connection, ObjectUpload& upload, int round,
               const Connection::Answer& answer) {
    const bool is_refusal = answer.response.status >= 400 && answer.response.status < 500;
    if (!is_refusal || !upload.may_restart()) {
      const std::string& path = upload.object().file.path;
      if (is_refusal) upload.forget_parts();
      if (!is_refusal || connection.is_endpoint(answer.url)) {
        fail_for_push(answer.response, settings_, options_.repo, path);
      }
      fail(ErrorCode::Network, "{}: {}: the storage at {} answers with status {}", options_.repo,
           path, answer.url.host(), answer.response.status);
    }
    if (options_.notice) {
      options_.notice(fmt::format("{}: {} answers {}, starting over at another address",
                                  upload.object().file.path, answer.url.host(),
                                  answer.response.status));
    }
    const auto told = request_uploads(connection, options_.repo, options_.revision,
                                      {upload.object()}, options_.notice);
    if (told.front().action) {
      upload.restart(round, *told.front().action);
    } else {
      upload.finish();
    }
  }

  void complete(Connection& connection, ObjectUpload& upload) {
    const UploadAction action = upload.action();
    const int round = upload.round();
    const LfsObject& object = upload.object();
    if (!action.parts.empty()) {
      JsonWriter writer;
      writer.begin_object().member("oid", object.sha256).key("parts").begin_array();
      const std::vector<std::string> etags = upload.etags();
      for (size_t i = 0; i < etags.size(); ++i) {
        writer.begin_object().member("partNumber", i + 1).member("etag", etags[i]).end_object();
      }
      writer.end_array().end_object();
      const auto answer = connection.request_patiently(
          action.href, lfs_options(connection, writer.text()), options_.notice);
      if (!is_success(answer.response)) return restart(connection, upload, round, answer);
    }
    if (!action.verify_href.empty()) {
      JsonWriter writer;
      writer.begin_object()
          .member("oid", object.sha256)
          .member("size", object.file.size)
          .end_object();
      Connection::Options options = lfs_options(connection, writer.text());
      options.headers.insert(options.headers.end(), action.verify_headers.begin(),
                             action.verify_headers.end());
      const auto answer =
          connection.request_patiently(action.verify_href, options, options_.notice);
      if (!is_success(answer.response)) return restart(connection, upload, round, answer);
    }
    check_unchanged(object.file);
    upload.finish();
  }

  std::vector<std::unique_ptr<ObjectUpload>>& uploads_;
  const Settings& settings_;
  const UploadOptions& options_;
  TransferThreads threads_;
  const uint64_t done_before_, total_;
  std::atomic<uint64_t> sent_ = 0;
  std::vector<std::atomic<uint64_t>> in_flight_;  // by thread
  std::mutex report_mutex_;
  std::chrono::steady_clock::time_point reported_{};
};

}  // namespace

uint64_t upload_objects(const std::vector<LfsObject>& objects, const Settings& settings,
                        const UploadOptions& options, const PushNotes& notes,
                        std::atomic<bool>& reached) {
  uint64_t total = 0, done = 0, sent = 0;
  for (const LfsObject& object : objects) total += object.file.size;
  Connection connection(settings, reached, nullptr);
  const std::string where = fmt::format("{}/{}", settings.endpoint, options.repo);
  for (size_t begin = 0; begin < objects.size(); begin += kMostLfsObjects) {
    const size_t end = std::min(begin + kMostLfsObjects, objects.size());
    const std::vector<LfsObject> batch(objects.begin() + static_cast<ptrdiff_t>(begin),
                                       objects.begin() + static_cast<ptrdiff_t>(end));
    const auto told =
        request_uploads(connection, options.repo, options.revision, batch, options.notice);
    std::vector<std::unique_ptr<ObjectUpload>> uploads;
    uploads.reserve(batch.size());
    uint64_t bytes = 0, known = 0;
    for (size_t i = 0; i < batch.size(); ++i) {
      bytes += batch[i].file.size;
      if (told[i].action) {
        uploads.push_back(std::make_unique<ObjectUpload>(batch[i], *told[i].action, notes, where));
      } else {
        known += batch[i].file.size;
      }
    }
    sent += Uploader(uploads, settings, options, reached, done + known, total).run();
    done += bytes;
  }
  return sent;
}

}  // namespace pippin::hub
