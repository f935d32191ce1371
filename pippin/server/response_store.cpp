#include "pippin/server/response_store.h"

#include <algorithm>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/base/log.h"

namespace pippin::server {
namespace {

constexpr size_t kMaxId = 128;

// Ids become file names.
bool is_id(const std::string& id) {
  return !id.empty() && id.size() <= kMaxId &&
         std::all_of(id.begin(), id.end(), [](unsigned char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  c == '_' || c == '-';
         });
}

}  // namespace

ResponseStore::ResponseStore(const ResponseStoreOptions& options) : limit_(options.limit) {
  if (keeps() && !options.folder.empty()) folder_.emplace(options.folder, limit_);
}

template <typename Write>
void ResponseStore::write(Write&& write) {
  writer_.add([this, write = std::forward<Write>(write)] {
    try {
      write(*folder_);
    } catch (const std::exception& fault) {
      const std::lock_guard lock(mutex_);
      if (!std::exchange(has_warned_, true)) {
        log_warn("responses are kept in memory alone until there is room: {}", fault.what());
      }
    }
  });
}

void ResponseStore::add(const std::string& id, std::string text) {
  forget(id);
  bytes_ += text.size();
  entries_.push_front({id, std::move(text)});
  places_[id] = entries_.begin();
  while (bytes_ > limit_) forget(std::string(entries_.back().id));
}

bool ResponseStore::forget(const std::string& id) {
  const auto place = places_.find(id);
  if (place == places_.end()) return false;
  bytes_ -= place->second->text.size();
  entries_.erase(place->second);
  places_.erase(place);
  return true;
}

void ResponseStore::put(const std::string& id, std::string text) {
  if (!keeps()) return;
  const std::lock_guard lock(mutex_);
  if (folder_) write([id, text](ResponseFolder& folder) { folder.write(id, text); });
  add(id, std::move(text));
}

std::optional<std::string> ResponseStore::get(const std::string& id) {
  if (!is_id(id)) return std::nullopt;
  uint64_t removals = 0;
  {
    const std::lock_guard lock(mutex_);
    if (const auto place = places_.find(id); place != places_.end()) {
      entries_.splice(entries_.begin(), entries_, place->second);
      return place->second->text;
    }
    if (!folder_ || removing_.contains(id)) return std::nullopt;
    removals = removals_;
  }
  std::optional<std::string> text = folder_->read(id);
  const std::lock_guard lock(mutex_);
  // A response that was removed meanwhile is not added again.
  if (text && removals == removals_ && !places_.contains(id)) add(id, *text);
  return text;
}

bool ResponseStore::remove(const std::string& id) {
  if (!is_id(id)) return false;
  const std::lock_guard lock(mutex_);
  ++removals_;
  bool was_there = forget(id);
  if (!folder_ || removing_.contains(id)) return was_there;
  was_there = was_there || folder_->has(id);
  removing_.insert(id);
  write([this, id](ResponseFolder& folder) {
    folder.remove(id);
    const std::lock_guard gone(mutex_);
    removing_.erase(id);
  });
  return was_there;
}

}  // namespace pippin::server
