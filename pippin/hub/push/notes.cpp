#include "pippin/hub/push/notes.h"

#include <chrono>
#include <cstdlib>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/base/files/output.h"
#include "pippin/base/log.h"
#include "pippin/io/digest.h"
#include "pippin/io/json.h"
#include "pippin/io/load_cache.h"

namespace pippin::hub {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kLeastNotedBytes = uint64_t{4} << 20;
constexpr std::chrono::hours kLongestLife{24 * 30};
constexpr int64_t kNotesVersion = 1;

std::string key_of(const std::string& kind, const std::string& where, const std::string& what) {
  Digest digest = Digest::sha256();
  for (const std::string& text : {kind, where, what}) {
    digest.update(as_byte_span(fmt::format("{}:{}", text.size(), text)));
  }
  return digest.finish();
}

void remove_old(const fs::path& folder) {
  const auto now = fs::file_time_type::clock::now();
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;
    const bool is_note = entry->path().extension() == ".json";
    if (is_note && now - entry->last_write_time(ignored) > kLongestLife) {
      fs::remove(entry->path(), ignored);
    }
  }
}

// Returns nothing for a missing note, and for one that is damaged or of another version.
std::optional<Json> read_note(const fs::path& folder, const std::string& key) {
  const fs::path path = folder / (key + ".json");
  std::error_code ignored;
  if (folder.empty() || !fs::is_regular_file(path, ignored)) return std::nullopt;
  try {
    Json note = Json::load(path);
    if (note.get_int("version") == kNotesVersion) return note;
  } catch (const Error& error) {
    log_debug("{}", error.what());
  }
  return std::nullopt;
}

void write_note(const fs::path& folder, const std::string& key, const JsonWriter& note) {
  if (folder.empty()) return;
  try {
    fs::create_directories(folder);
    // Upload URLs are signed: only the user may read them.
    fs::permissions(folder, fs::perms::owner_all);
    write_file(folder / (key + ".json"), note.text());
  } catch (const std::exception& error) {
    log_debug("a note of a push cannot be written: {}", error.what());
  }
}

}  // namespace

PushNotes::PushNotes(fs::path folder) : folder_(std::move(folder)) {
  if (!folder_.empty()) remove_old(folder_);
}

PushNotes PushNotes::of_user() {
  const fs::path load = load_cache_folder([](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    if (value == nullptr) return std::nullopt;
    return value;
  });
  return PushNotes(load.empty() ? fs::path() : load.parent_path() / "push");
}

std::optional<std::string> PushNotes::find_hash(const LocalFile& file) const {
  if (file.size < kLeastNotedBytes) return std::nullopt;
  const auto note = read_note(folder_, key_of("hash", file.file.string(), ""));
  if (!note) return std::nullopt;
  try {
    const bool same = note->get_int("size") == static_cast<int64_t>(file.size) &&
                      note->get_int("modified") == file.modified;
    if (same) return note->get_string("sha256");
  } catch (const Error& error) {
    log_debug("{}", error.what());
  }
  return std::nullopt;
}

void PushNotes::note_hash(const LocalFile& file, const std::string& sha256) const {
  if (file.size < kLeastNotedBytes) return;
  JsonWriter writer(1);
  writer.begin_object()
      .member("version", kNotesVersion)
      .member("file", file.file.string())
      .member("size", file.size)
      .member("modified", file.modified)
      .member("sha256", sha256)
      .end_object();
  write_note(folder_, key_of("hash", file.file.string(), ""), writer);
}

std::optional<PushNotes::Parts> PushNotes::find_parts(const std::string& where,
                                                      const std::string& sha256) const {
  const auto note = read_note(folder_, key_of("parts", where, sha256));
  if (!note) return std::nullopt;
  try {
    Parts parts;
    parts.href = note->get_string("href");
    parts.part_bytes = note->at("part_bytes").as_uint64();
    parts.urls = note->get_strings("urls");
    parts.etags = note->get_strings("etags");
    if (parts.etags.size() == parts.urls.size()) return parts;
  } catch (const Error& error) {
    log_debug("{}", error.what());
  }
  return std::nullopt;
}

void PushNotes::note_parts(const std::string& where, const std::string& sha256,
                           const Parts& parts) const {
  JsonWriter writer(1);
  writer.begin_object()
      .member("version", kNotesVersion)
      .member("where", where)
      .member("sha256", sha256)
      .member("href", parts.href)
      .member("part_bytes", parts.part_bytes)
      .member("urls", parts.urls)
      .member("etags", parts.etags)
      .end_object();
  write_note(folder_, key_of("parts", where, sha256), writer);
}

void PushNotes::forget_parts(const std::string& where, const std::string& sha256) const {
  if (folder_.empty()) return;
  std::error_code ignored;
  fs::remove(folder_ / (key_of("parts", where, sha256) + ".json"), ignored);
}

}  // namespace pippin::hub
