#include <algorithm>

#include <fmt/format.h>

#include "pippin/base/files/mapped_guard.h"
#include "pippin/base/log.h"
#include "pippin/server/api_error.h"
#include "pippin/server/model_slot.h"

namespace pippin::server {
namespace {

namespace fs = std::filesystem;

// Whether a file is the model, is inside its folder, or is another part of it
// (x-00001-of-00002.gguf).
bool belongs_to(const fs::path& file, const fs::path& model) {
  const std::string name = file.lexically_normal().string();
  std::string stem = model.lexically_normal().string();
  if (name == stem) return true;
  constexpr std::string_view kPiece = "-00001-of-";
  const size_t piece = stem.rfind(kPiece);
  if (piece != std::string::npos) return name.starts_with(stem.substr(0, piece + 1));
  if (!stem.ends_with('/')) stem += '/';
  return !model.empty() && name.starts_with(stem);
}

}  // namespace

// Files outside all models' folders, such as those of the load cache, may belong to any model.
bool ModelList::is_of(const FileOrigin& file, const Slot& slot, uint64_t first_mapping) const {
  if (file.mapping < first_mapping) return false;
  if (belongs_to(file.path, slot.path)) return true;
  return std::none_of(slots_.begin(), slots_.end(),
                      [&](const auto& other) { return belongs_to(file.path, other->path); });
}

std::optional<std::string> ModelList::find_change(const Slot& slot) const {
  for (const FileOrigin& file : mapped_files()) {
    if (file.mapping >= slot.first_mapping && belongs_to(file.path, slot.path) &&
        was_written_to(file)) {
      return file.path.filename().string();
    }
  }
  return find_damage(slot, slot.first_mapping);
}

std::optional<std::string> ModelList::find_damage(const Slot& slot, uint64_t first_mapping) const {
  if (num_damaged_files() == 0) return std::nullopt;
  for (const FileOrigin& file : mapped_files()) {
    if (file.damaged && is_of(file, slot, first_mapping)) return file.path.filename().string();
  }
  return std::nullopt;
}

void ModelList::check_files(const OpenedModel& opened) {
  std::unique_lock lock(mutex_);
  Slot& slot = find(opened.name);
  lock.unlock();
  check_files(slot, opened.first_mapping);
}

// Called by any thread, including the model's scheduler.
void ModelList::check_files(Slot& slot, uint64_t first_mapping) {
  const std::lock_guard lock(mutex_);
  const auto damaged = find_damage(slot, first_mapping);
  if (!damaged) return;
  const std::string what = fmt::format(
      "model {}: {} can no longer be read: it was cut off while it was used, or its disk failed",
      slot.entry.name, *damaged);
  if (slot.is_loaded() && slot.first_mapping == first_mapping) {
    log_warn("{}", what);
    unload_slot(slot);
  }
  throw ApiError(500, what, "model");
}

}  // namespace pippin::server
