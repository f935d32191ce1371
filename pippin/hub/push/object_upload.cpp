#include "pippin/hub/push/object_upload.h"

#include <algorithm>

namespace pippin::hub {

using Lock = std::lock_guard<std::mutex>;

ObjectUpload::ObjectUpload(LfsObject object, UploadAction action, const PushNotes& notes,
                           std::string where)
    : object_(std::move(object)),
      notes_(notes),
      where_(std::move(where)),
      action_(std::move(action)) {
  begin_round();
  if (action_.part_bytes == 0) return;
  // Parts of an earlier push arrived at its addresses: go on there.
  auto noted = notes_.find_parts(where_, object_.sha256);
  if (!noted || noted->part_bytes != action_.part_bytes ||
      noted->urls.size() != action_.parts.size()) {
    return;
  }
  action_.href = std::move(noted->href);
  action_.parts = std::move(noted->urls);
  etags_ = std::move(noted->etags);
  std::erase_if(waiting_, [&](size_t index) { return !etags_[index].empty(); });
  missing_ = waiting_.size();
  // Sends the last part again: the thread that does so completes the object.
  if (missing_ == 0) {
    etags_.back().clear();
    waiting_.push_back(etags_.size() - 1);
    missing_ = 1;
  }
}

void ObjectUpload::begin_round() {
  const size_t count = std::max<size_t>(action_.parts.size(), 1);
  etags_.assign(count, "");
  waiting_.resize(count);
  for (size_t i = 0; i < count; ++i) waiting_[i] = count - 1 - i;
  missing_ = count;
}

uint64_t ObjectUpload::arrived() const {
  const Lock lock(mutex_);
  if (done_) return object_.file.size;
  uint64_t bytes = 0;
  for (size_t i = 0; i < etags_.size(); ++i) {
    if (etags_[i].empty()) continue;
    bytes += std::min(action_.part_bytes, object_.file.size - i * action_.part_bytes);
  }
  return bytes;
}

std::optional<UploadPart> ObjectUpload::next_part() {
  const Lock lock(mutex_);
  if (waiting_.empty()) return std::nullopt;
  UploadPart part;
  part.index = waiting_.back();
  part.round = round_;
  waiting_.pop_back();
  if (action_.part_bytes == 0) {
    part.end = object_.file.size;
    part.url = action_.href;
    part.headers = action_.headers;
    return part;
  }
  part.begin = part.index * action_.part_bytes;
  part.end = std::min(part.begin + action_.part_bytes, object_.file.size);
  part.url = action_.parts[part.index];
  return part;
}

bool ObjectUpload::arrive(const UploadPart& part, const std::string& etag) {
  const Lock lock(mutex_);
  if (part.round != round_) return false;
  --missing_;
  if (action_.part_bytes > 0) {
    etags_[part.index] = etag;
    notes_.note_parts(where_, object_.sha256,
                      {action_.href, action_.part_bytes, action_.parts, etags_});
  }
  return missing_ == 0;
}

bool ObjectUpload::is_current(const UploadPart& part) const {
  const Lock lock(mutex_);
  return part.round == round_;
}

void ObjectUpload::restart(int round, UploadAction action) {
  const Lock lock(mutex_);
  if (round != round_) return;
  notes_.forget_parts(where_, object_.sha256);
  action_ = std::move(action);
  ++round_;
  begin_round();
}

bool ObjectUpload::may_restart() const {
  const Lock lock(mutex_);
  return round_ + 1 < kMostRounds;
}

UploadAction ObjectUpload::action() const {
  const Lock lock(mutex_);
  return action_;
}

std::vector<std::string> ObjectUpload::etags() const {
  const Lock lock(mutex_);
  return etags_;
}

int ObjectUpload::round() const {
  const Lock lock(mutex_);
  return round_;
}

void ObjectUpload::forget_parts() const {
  notes_.forget_parts(where_, object_.sha256);
}

void ObjectUpload::finish() {
  forget_parts();
  const Lock lock(mutex_);
  done_ = true;
  waiting_.clear();
}

bool ObjectUpload::is_done() const {
  const Lock lock(mutex_);
  return done_;
}

}  // namespace pippin::hub
