#include "pippin/scheduling/cache_folder.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include <sys/stat.h>

#include "pippin/base/call_context.h"
#include "pippin/base/error.h"
#include "pippin/base/log.h"
#include "pippin/base/text.h"
#include "pippin/io/digest.h"
#include "pippin/io/load_cache_files.h"

namespace pippin::scheduling {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".rows";
constexpr size_t kKeyDigits = 64, kFolderDigits = 16;

bool is_hexadecimal(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == text.npos;
}

bool is_ours(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.size() == kKeyDigits + kSuffix.size() && name.ends_with(kSuffix) &&
         is_hexadecimal(std::string_view(name).substr(0, kKeyDigits));
}

std::string name_of(const CacheFileHeader& header) {
  Digest digest = Digest::sha256();
  digest.update(as_byte_span(header.identity));
  const int64_t what[] = {header.first, std::ssize(header.tokens), header.is_rest};
  digest.update(std::as_bytes(std::span(what)));
  digest.update(std::as_bytes(std::span(header.tokens)));
  return digest.finish() + std::string(kSuffix);
}

struct Listed {
  fs::path path;
  uint64_t bytes = 0;
  fs::file_time_type used;
};

// Lists the files of all identities that have names of ours.
std::vector<Listed> list(const fs::path& folder) {
  std::vector<Listed> result;
  std::error_code error;
  for (fs::directory_iterator model(folder, error), end; !error && model != end;
       model.increment(error)) {
    const std::string name = model->path().filename().string();
    if (name.size() != kFolderDigits || !is_hexadecimal(name)) continue;
    std::error_code inner;
    for (fs::directory_iterator it(model->path(), inner), last; !inner && it != last;
         it.increment(inner)) {
      std::error_code gone;
      if (!is_ours(it->path()) || !it->is_regular_file(gone)) continue;
      const Listed listed{it->path(), it->file_size(gone), it->last_write_time(gone)};
      if (!gone) result.push_back(listed);
    }
  }
  return result;
}

void remove_abandoned(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (load_cache::is_abandoned(it->path())) fs::remove(it->path(), ignored);
  }
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail(ErrorCode::Io, "{}: cannot be made: {}", folder.string(), error.message());
  fs::permissions(folder, fs::perms::owner_all, error);
  if (error) fail(ErrorCode::Io, "{}: {}", folder.string(), error.message());
}

}  // namespace

CacheFolder::CacheFolder(Options options)
    : options_(std::move(options)),
      folder_(options_.folder / options_.identity.substr(0, kFolderDigits)) {
  make_folder(folder_);
  remove_abandoned(folder_);
  for (const Listed& file : list(options_.folder)) counts_.bytes += file.bytes;
  thread_ = Thread([this, logger = CallContext::current().logger] {
    CallContext context;
    context.logger = logger;
    const ContextScope scope(context);
    run();
  });
}

CacheFolder::~CacheFolder() {
  const std::lock_guard lock(mutex_);
  is_stopped_ = true;
  wake_.notify_all();
}

std::vector<CacheFolder::Found> CacheFolder::find() {
  std::vector<Found> result;
  std::error_code error;
  for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
    if (!is_ours(it->path())) continue;
    const std::string name = it->path().filename().string();
    try {
      CacheFileHeader header = read_header(it->path());
      if (header.identity != options_.identity || name != name_of(header)) {
        log_warn("{}: not a file of this prompt cache; left alone", it->path().string());
        continue;
      }
      const auto rows = static_cast<uint64_t>(std::ssize(header.tokens) - header.first);
      if (!header.is_rest && header.content_bytes != rows * options_.row_bytes) {
        fail(ErrorCode::InvalidFile, "{}: has {} bytes for the rows of {} tokens",
             it->path().string(), header.content_bytes, rows);
      }
      auto file = std::make_shared<CacheFile>(name, header.first, std::ssize(header.tokens),
                                              CacheFile::State::Written);
      {
        const std::lock_guard lock(mutex_);
        files_[name] = file;
      }
      result.push_back({std::move(file), std::move(header)});
    } catch (const Error& fault) {
      // Another process may have removed it, or it has another version: no warning.
      if (fault.code() == ErrorCode::NotFound || fault.code() == ErrorCode::Unsupported) continue;
      log_warn("{}; the prompt cache goes without it", fault.what());
      CacheFile damaged(name, 0, 0, CacheFile::State::Written);
      discard(damaged, fault.code() == ErrorCode::InvalidFile);
    }
  }
  std::sort(result.begin(), result.end(), [](const Found& a, const Found& b) {
    return std::tie(a.file->first, a.file->end, a.file->name) <
           std::tie(b.file->first, b.file->end, b.file->name);
  });
  return result;
}

std::shared_ptr<CacheFile> CacheFolder::write(Content what, bool anyway) {
  Job job;
  job.content = what.content.bytes;
  job.header.identity = options_.identity;
  job.header.tokens = std::move(what.tokens);
  job.header.first = what.first;
  job.header.is_rest = what.is_rest;
  job.header.marks = what.content.marks;
  job.header.parts = what.content.parts;
  job.header.content_bytes = job.content->size();
  const uint64_t size = job.content->size();
  if (size > options_.limit) return nullptr;
  job.file = std::make_shared<CacheFile>(name_of(job.header), what.first,
                                         std::ssize(job.header.tokens), CacheFile::State::Pending);
  std::shared_ptr<CacheFile> file = job.file;
  const std::lock_guard lock(mutex_);
  if (!anyway && waiting_bytes_ > 0 && waiting_bytes_ + size > options_.queue_bytes) return nullptr;
  waiting_bytes_ += size;
  files_[file->name] = file;
  jobs_.push_back(std::move(job));
  wake_.notify_one();
  return file;
}

void CacheFolder::run() noexcept {
  for (;;) {
    Job job;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return is_stopped_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    write(job);
    const std::lock_guard lock(mutex_);
    waiting_bytes_ -= job.header.content_bytes;
  }
}

void CacheFolder::write(Job& job) noexcept try {
  const fs::path path = folder_ / job.file->name;
  job.header.checksum = checksum_of(job.content->bytes());
  write_cache_file(path, job.header, job.content->bytes());
  job.file->state = CacheFile::State::Written;
  bool is_too_much = false;
  {
    const std::lock_guard lock(mutex_);
    ++counts_.written;
    counts_.bytes += fs::file_size(path);
    has_warned_ = false;
    is_too_much = counts_.bytes > options_.limit;
  }
  if (is_too_much) trim();
} catch (const std::exception& fault) {
  auto state = CacheFile::State::Pending;
  job.file->state.compare_exchange_strong(state, CacheFile::State::Gone);
  const std::lock_guard lock(mutex_);
  // Logs one warning for a full disk, not one per file.
  if (!std::exchange(has_warned_, true)) {
    log_warn("the prompt cache goes on without its disk until there is room: {}", fault.what());
  }
}

// Frees a sixteenth more than needed, so that not every file causes a search for old ones. Other
// processes may have written, too.
void CacheFolder::trim() {
  std::vector<Listed> files = list(options_.folder);
  std::sort(files.begin(), files.end(),
            [](const Listed& a, const Listed& b) { return a.used < b.used; });
  uint64_t total = 0;
  for (const Listed& file : files) total += file.bytes;
  const uint64_t enough = options_.limit - options_.limit / 16;
  uint64_t removed = 0;
  for (const Listed& file : files) {
    if (total <= enough) break;
    std::error_code error;
    if (!fs::remove(file.path, error) && error) continue;
    total -= file.bytes;
    ++removed;
    if (file.path.parent_path() != folder_) continue;
    const std::lock_guard lock(mutex_);
    const auto known = files_.find(file.path.filename().string());
    if (known == files_.end()) continue;
    if (const auto gone = known->second.lock()) gone->state = CacheFile::State::Gone;
    files_.erase(known);
  }
  log_debug("{}: {} files of the prompt cache removed, {} left", options_.folder.string(), removed,
            format_bytes(total));
  const std::lock_guard lock(mutex_);
  counts_.bytes = total;
  if (removed > 0) ++counts_.trimmed;
}

void CacheFolder::discard(CacheFile& file, bool remove) {
  std::error_code error;
  const fs::path path = folder_ / file.name;
  const uint64_t size = fs::file_size(path, error);
  const bool is_removed = remove && fs::remove(path, error) && !error;
  file.state = CacheFile::State::Gone;
  const std::lock_guard lock(mutex_);
  files_.erase(file.name);
  ++counts_.discarded;
  if (is_removed) counts_.bytes -= std::min(counts_.bytes, size);
}

void CacheFolder::read_ahead(const std::shared_ptr<CacheFile>& file, std::vector<int32_t> tokens) {
  constexpr size_t kMost = 2;  // read-ahead that is not used wastes memory
  for (const auto& reading : readings_) {
    if (reading->file == file) return;
  }
  if (readings_.size() == kMost) readings_.pop_front();
  const auto reading = std::make_shared<Reading>();
  reading->file = file;
  reading->number = reader_.add([this, reading, tokens = std::move(tokens)] {
    reading->content = read_now(*reading->file, tokens);
  });
  readings_.push_back(reading);
}

void CacheFolder::ask_for(CacheFile& file) const {
  if (!std::exchange(file.is_asked_for, true)) scheduling::ask_for(folder_ / file.name);
}

std::shared_ptr<const runtime::RowMemory> CacheFolder::read(CacheFile& file,
                                                            std::span<const int32_t> tokens) {
  file.is_asked_for = false;  // until the next request
  const auto begun = std::find_if(readings_.begin(), readings_.end(), [&](const auto& reading) {
    return reading->file.get() == &file;
  });
  if (begun == readings_.end()) return read_now(file, tokens);
  const auto reading = *begun;
  readings_.erase(begun);
  reader_.wait(reading->number);
  return reading->content;
}

std::shared_ptr<const runtime::RowMemory> CacheFolder::read_now(CacheFile& file,
                                                                std::span<const int32_t> tokens) {
  try {
    const OpenCacheFile opened(folder_ / file.name);
    const CacheFileHeader& header = opened.header();
    const auto same = header.tokens.size() >= tokens.size() &&
                      std::equal(tokens.begin(), tokens.end(), header.tokens.begin());
    if (header.identity != options_.identity || !same || header.first != file.first ||
        std::ssize(header.tokens) != file.end ||
        (!header.is_rest && header.content_bytes != static_cast<uint64_t>(file.end - file.first) *
                                                        options_.row_bytes)) {
      fail(ErrorCode::InvalidFile, "{}/{}: has been replaced by another file", folder_.string(),
           file.name);
    }
    auto content = opened.read();
    const std::lock_guard lock(mutex_);
    ++counts_.read;
    return content;
  } catch (const Error& fault) {
    const bool is_gone = fault.code() == ErrorCode::NotFound;
    log(is_gone ? LogLevel::Debug : LogLevel::Warn, "{}; the prompt cache goes without it",
        fault.what());
    discard(file, fault.code() == ErrorCode::InvalidFile);
    return nullptr;
  }
}

void CacheFolder::touch(const CacheFile& file) const {
  std::error_code ignored;  // a read-only folder can still be used
  fs::last_write_time(folder_ / file.name, fs::file_time_type::clock::now(), ignored);
}

CacheFolder::Counts CacheFolder::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace pippin::scheduling
