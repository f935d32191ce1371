#include "pippin/hub/download.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>

#include <fmt/format.h>
#include <sys/statvfs.h>

#include "pippin/base/error.h"
#include "pippin/base/text.h"
#include "pippin/hub/api.h"
#include "pippin/hub/piece_request.h"
#include "pippin/hub/retry.h"
#include "pippin/hub/transfer.h"
#include "pippin/hub/transfer_threads.h"

namespace pippin::hub {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int kMostBuffers = 5;  // 30 MiB
constexpr milliseconds kProgressInterval(40);
constexpr std::chrono::seconds kQuietWait(2);

uint64_t bytes_on_disk(const fs::path& path, uint64_t most) {
  std::error_code error;
  const uint64_t size = fs::is_regular_file(path, error) ? fs::file_size(path, error) : 0;
  return error ? 0 : std::min<uint64_t>(size, most);
}

struct Entry {
  Entry(RepoFile file, const Destination& destination, BufferPool& buffers)
      : transfer(std::move(file), destination, buffers) {}
  Transfer transfer;
  uint64_t counted = 0;  // bytes on disk before, as counted in the progress
  Clock::time_point try_again{};
  std::optional<Clock::time_point> busy_since;
  bool told = false;
};

class Downloader {
 public:
  Downloader(const std::vector<RepoFile>& files, const Destination& destination,
             const Settings& settings, const DownloadOptions& options, std::atomic<bool>& reached)
      : settings_(settings),
        options_(options),
        connections_(std::max(1, options.connections)),
        buffers_(std::min(connections_ - 1, kMostBuffers)),
        threads_(settings, reached) {
    uint64_t pieces = 0;
    for (const RepoFile& file : files) {
      auto& entry = entries_.emplace_back(std::make_unique<Entry>(file, destination, buffers_));
      entry->counted = bytes_on_disk(destination.paths(file).incomplete, file.size);
      done_ += entry->counted;
      total_ += file.size;
      pieces += file.size / kPieceBytes + 1;
    }
    connections_ = static_cast<int>(std::min<uint64_t>(pieces, connections_));
  }

  DownloadResult run() {
    report(true);
    threads_.run(
        connections_, [this](bool& is_done) { return find_job(is_done); },
        [this](Connection& connection, const Job& job, size_t) {
          if (job.piece) {
            fetch(connection, job.entry->transfer, job.piece);
          } else {
            open(*job.entry);
          }
        });
    report(true);
    return {received_};
  }

 private:
  struct Job {
    Entry* entry = nullptr;
    std::shared_ptr<Piece> piece;  // null: open the file
  };

  std::optional<Job> find_job(bool& is_done) {
    while (first_ < entries_.size() &&
           entries_[first_]->transfer.state() == Transfer::State::Done) {
      ++first_;
    }
    is_done = first_ == entries_.size();
    const auto now = Clock::now();
    for (size_t i = first_; i < entries_.size(); ++i) {
      Entry& entry = *entries_[i];
      if (auto piece = entry.transfer.next_piece()) return Job{&entry, std::move(piece)};
      if (now >= entry.try_again && entry.transfer.begin_opening()) return Job{&entry, nullptr};
    }
    return std::nullopt;
  }

  void open(Entry& entry) {
    Transfer& transfer = entry.transfer;
    uint64_t present = 0;
    if (!transfer.open(present)) {
      wait_for_lock(entry);
      return;
    }
    done_ += present - entry.counted;
    report(false);
    if (transfer.state() == Transfer::State::Done || present < transfer.file().size) return;
    // The content is complete. If it is wrong, an empty file cannot be requested again.
    if (!finish(transfer) && transfer.file().size == 0) finish(transfer);
  }

  void wait_for_lock(Entry& entry) {
    bool tell = false;
    {
      const std::lock_guard lock(threads_.mutex());
      const auto now = Clock::now();
      entry.try_again = now + TransferThreads::kPollInterval;
      if (!entry.busy_since) entry.busy_since = now;
      tell = !entry.told && now - *entry.busy_since > kQuietWait;
      entry.told = entry.told || tell;
    }
    if (tell && options_.notice) {
      options_.notice(
          fmt::format("{}: another process downloads it, waiting", entry.transfer.file().path));
    }
  }

  bool finish(Transfer& transfer) {
    if (transfer.finish()) return true;
    done_ -= transfer.file().size;
    if (options_.notice) {
      options_.notice(
          fmt::format("{}: its checksum is wrong, starting over", transfer.file().path));
    }
    return false;
  }

  void fetch(Connection& connection, Transfer& transfer, const std::shared_ptr<Piece>& piece) {
    const std::string url =
        file_url(settings_, options_.repo, options_.commit, transfer.file().path);
    Backoff backoff(settings_.retries);
    while (piece->received < piece->end - piece->begin) {
      const PieceAnswer answer =
          request_piece(connection, transfer, *piece, url, options_.commit, [&](uint64_t bytes) {
            done_ += bytes;
            received_ += bytes;
            report(false);
          });
      if (threads_.stop()) return;
      if (answer.progress) backoff.progress();
      const bool content = answer.response.status == 200 || answer.response.status == 206;
      if (content && answer.response.failure.empty()) continue;
      pause(connection, transfer, answer, backoff);
      if (threads_.stop()) return;
    }
    if (transfer.complete(piece)) finish(transfer);
  }

  // Waits before the next attempt, or throws after the last one.
  void pause(Connection& connection, Transfer& transfer, const PieceAnswer& answer,
             Backoff& backoff) {
    const std::string& path = transfer.file().path;
    const HttpResponse& response = answer.response;
    const bool endpoint = connection.is_endpoint(answer.url);
    // Another host may refuse because a signature has expired: get a new one from the Hub.
    const bool again = is_transient(response) || (!endpoint && response.status >= 400);
    const auto wait = again ? backoff.next(response) : std::nullopt;
    if (wait) {
      if (options_.notice) {
        options_.notice(fmt::format("{}: {}", path, describe_wait(response, *wait)));
      }
      wait_or_stop(*wait, &threads_.stop());
      return;
    }
    if (endpoint && response.failure.empty()) {
      fail_for_answer(response, settings_, options_.repo, options_.commit, path);
    }
    throw Unreachable(fmt::format("{}/{}: {}: {}", options_.repo, path, answer.url.host(),
                                  describe_failure(response)));
  }

  void report(bool now) {
    if (!options_.progress) return;
    std::unique_lock lock(progress_mutex_, std::defer_lock);
    if (now) {
      lock.lock();
    } else if (!lock.try_lock()) {
      return;
    }
    const auto time = Clock::now();
    if (!now && time - reported_ < kProgressInterval) return;
    reported_ = time;
    options_.progress(done_, total_);
  }

  const Settings& settings_;
  const DownloadOptions& options_;
  int connections_;
  BufferPool buffers_;
  std::vector<std::unique_ptr<Entry>> entries_;

  TransferThreads threads_;
  size_t first_ = 0;  // all entries before are done
  std::atomic<uint64_t> done_ = 0, received_ = 0;
  uint64_t total_ = 0;
  std::mutex progress_mutex_;
  Clock::time_point reported_{};
};

}  // namespace

DownloadResult download(const std::vector<RepoFile>& files, const Destination& destination,
                        const Settings& settings, const DownloadOptions& options,
                        std::atomic<bool>& reached) {
  std::vector<RepoFile> missing;
  uint64_t needed = 0;
  for (const RepoFile& file : files) {
    if (destination.has(file)) continue;
    missing.push_back(file);
    if (!destination.is_complete(file)) {
      needed += file.size - bytes_on_disk(destination.paths(file).incomplete, file.size);
    }
  }
  if (missing.empty()) return {};
  check_disk_space(destination.folder(), needed);
  return Downloader(missing, destination, settings, options, reached).run();
}

void check_disk_space(const fs::path& folder, uint64_t bytes) {
  struct statvfs status {};
  for (fs::path path = fs::absolute(folder);; path = path.parent_path()) {
    if (::statvfs(path.c_str(), &status) == 0) break;
    if (path == path.parent_path()) return;
  }
  const uint64_t free = uint64_t{status.f_bavail} * status.f_frsize;
  if (free < bytes) {
    fail(ErrorCode::Io, "{}: {} are to be downloaded, {} are free", folder.string(),
         format_bytes(bytes), format_bytes(free));
  }
}

}  // namespace pippin::hub
