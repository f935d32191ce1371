#include "pippin/server/batch_store.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/base/files/durable.h"
#include "pippin/base/files/output.h"
#include "pippin/base/log.h"
#include "pippin/server/random_id.h"
#include "pippin/server/stored_file.h"

namespace pippin::server {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBatchPrefix = "batch_";

void save(const fs::path& path, const BatchRecord& batch) {
  write_file(path, batch_text(batch));
  sync_to_disk(path);
  sync_to_disk(path.parent_path());
}

}  // namespace

BatchStore::BatchStore(fs::path folder) : folder_(std::move(folder)) {
  load();
}

void BatchStore::load() {
  std::error_code error;
  for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!is_random_id(name, kBatchPrefix)) continue;
    std::error_code ignored;
    if (!fs::exists(it->path() / "batch.json", ignored)) {
      fs::remove_all(it->path(), ignored);
      continue;
    }
    try {
      BatchRecord batch = parse_batch(Json::load(it->path() / "batch.json"));
      if (batch.id != name) fail(ErrorCode::InvalidFile, "batch.json: is that of {}", batch.id);
      const bool has_ended = is_final(batch.status);
      batches_.emplace(name, std::move(batch));
      if (has_ended) remove_work(name);
    } catch (const Error& fault) {
      log_warn("{}: is left out: {}", name, fault.what());
    }
  }
  if (error) fail(ErrorCode::Io, "{}: cannot be read: {}", folder_.string(), error.message());
}

fs::path BatchStore::record_of(const std::string& id) const {
  return folder_ / id / "batch.json";
}

fs::path BatchStore::input_of(const std::string& id) const {
  return folder_ / id / "input.jsonl";
}

fs::path BatchStore::job_of(const std::string& id) const {
  return folder_ / id / "job";
}

BatchRecord BatchStore::add(BatchRecord batch,
                            const std::function<void(const fs::path& path)>& link_input) {
  batch.id = std::string(kBatchPrefix) + random_digits();
  const fs::path folder = folder_ / batch.id;
  std::error_code error;
  fs::create_directory(folder, error);
  if (error) fail(ErrorCode::Io, "{}: cannot be made: {}", folder.string(), error.message());
  try {
    link_input(input_of(batch.id));
    save(record_of(batch.id), batch);
    sync_to_disk(folder_);
  } catch (...) {
    fs::remove_all(folder, error);
    throw;
  }
  const std::lock_guard lock(mutex_);
  batches_.emplace(batch.id, batch);
  ++changes_;
  changed_.notify_all();
  return batch;
}

std::optional<BatchRecord> BatchStore::find(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  const auto found = batches_.find(id);
  return found == batches_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<BatchRecord> BatchStore::list() const {
  return sorted(/*only_unfinished=*/false);
}

std::vector<BatchRecord> BatchStore::unfinished() const {
  return sorted(/*only_unfinished=*/true);
}

std::vector<BatchRecord> BatchStore::sorted(bool only_unfinished) const {
  std::vector<BatchRecord> batches;
  {
    const std::lock_guard lock(mutex_);
    batches.reserve(only_unfinished ? 0 : batches_.size());
    for (const auto& [id, batch] : batches_) {
      if (!only_unfinished || !is_final(batch.status)) batches.push_back(batch);
    }
  }
  std::sort(batches.begin(), batches.end(), [](const BatchRecord& a, const BatchRecord& b) {
    return std::pair(a.created_ns, a.id) < std::pair(b.created_ns, b.id);
  });
  return batches;
}

BatchRecord BatchStore::update(const std::string& id,
                               const std::function<bool(BatchRecord& batch)>& change) {
  const std::lock_guard lock(mutex_);
  BatchRecord& batch = batches_.at(id);
  BatchRecord changed = batch;
  if (!change(changed)) return batch;
  save(record_of(id), changed);
  batch = changed;
  ++changes_;
  changed_.notify_all();
  return changed;
}

void BatchStore::count(const std::string& id, const BatchCounts& counts) {
  const std::lock_guard lock(mutex_);
  batches_.at(id).counts = counts;
}

void BatchStore::remove_work(const std::string& id) {
  std::error_code error;
  fs::remove_all(job_of(id), error);
  if (!error) fs::remove(input_of(id), error);
  if (error) log_warn("{}: files of it stay: {}", id, error.message());
}

bool BatchStore::wait(uint64_t& seen, std::chrono::milliseconds longest) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, longest, [&] { return is_stopped_ || changes_ != seen; });
  seen = changes_;
  return !is_stopped_;
}

void BatchStore::notify() {
  const std::lock_guard lock(mutex_);
  ++changes_;
  changed_.notify_all();
}

void BatchStore::stop() {
  const std::lock_guard lock(mutex_);
  is_stopped_ = true;
  changed_.notify_all();
}

}  // namespace pippin::server
