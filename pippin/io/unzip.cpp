#include "pippin/io/unzip.h"

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include <zip.h>

#include "pippin/base/error.h"
#include "pippin/base/files/mapped_file.h"
#include "pippin/base/files/output.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/io/gzip.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;

// Deflate's maximum ratio: 258 bytes from a code of two bits.
constexpr uint64_t kMaxRatio = 1032;
constexpr size_t kChunk = size_t{1} << 20;

struct Closer {
  void operator()(zip_t* archive) const { zip_discard(archive); }
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};

struct Entry {
  zip_uint64_t index = 0;
  fs::path path;  // relative, normalized
  bool is_folder = false;
  uint64_t size = 0;
};

template <typename T>
void put(std::string& out, T number) {
  for (size_t i = 0; i < sizeof(T); ++i) out += static_cast<char>(uint64_t{number} >> (8 * i));
}

// The bytes of a zip archive before and after the deflated bytes of its only entry, "content".
struct Frame {
  explicit Frame(const GzipFile& gzip) {
    constexpr std::string_view kName = "content";
    const auto put_common = [&](std::string& out) {
      put(out, uint16_t{20});  // version
      put(out, uint16_t{0});   // flags
      put(out, uint16_t{ZIP_CM_DEFLATE});
      put(out, uint32_t{0});  // time and date
      put(out, gzip.crc);
      put(out, static_cast<uint32_t>(gzip.deflated.size()));
      put(out, gzip.size);
      put(out, static_cast<uint16_t>(kName.size()));
      put(out, uint16_t{0});  // extra
    };
    put(before, uint32_t{0x04034b50});
    put_common(before);
    before += kName;
    put(after, uint32_t{0x02014b50});
    put(after, uint16_t{20});
    put_common(after);
    after.append(14, '\0');  // comment, disk, attributes, offset
    after += kName;
    const auto directory = static_cast<uint32_t>(after.size());
    put(after, uint32_t{0x06054b50});
    put(after, uint32_t{0});  // disks
    put(after, uint16_t{1});
    put(after, uint16_t{1});
    put(after, directory);
    put(after, static_cast<uint32_t>(before.size() + gzip.deflated.size()));
    put(after, uint16_t{0});  // comment
  }

  std::string before, after;
};

class Archive {
 public:
  // Opens an archive whose bytes are in consecutive pieces, none of them empty.
  Archive(std::span<const ByteSpan> pieces, std::string name) : name_(std::move(name)) {
    std::vector<zip_buffer_fragment_t> fragments;
    size_t size = 0;
    for (const ByteSpan piece : pieces) {
      size += piece.size();
      // libzip does not write to a source opened for reading.
      auto* data = reinterpret_cast<zip_uint8_t*>(const_cast<std::byte*>(piece.data()));
      fragments.push_back({data, piece.size()});
    }
    constexpr size_t kEndRecord = 22;  // libzip accepts zero bytes as an empty archive
    if (size < kEndRecord) {
      fail(ErrorCode::InvalidFile, "{}: no zip archive: {} bytes", name_, size);
    }
    zip_error_t error;
    zip_error_init(&error);
    zip_source_t* source =
        zip_source_buffer_fragment_create(fragments.data(), fragments.size(), 0, &error);
    if (source == nullptr) fail(ErrorCode::Internal, "{}: {}", name_, zip_error_strerror(&error));
    zip_.reset(zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, &error));
    if (!zip_) {
      const std::string message = zip_error_strerror(&error);
      zip_source_free(source);
      zip_error_fini(&error);
      fail(ErrorCode::InvalidFile, "{}: no zip archive: {}", name_, message);
    }
    zip_error_fini(&error);
  }

  std::vector<Entry> entries(const UnzipLimits& limits) const {
    const zip_int64_t count = zip_get_num_entries(zip_.get(), 0);
    if (count < 0 || static_cast<size_t>(count) > limits.max_entries) {
      fail(ErrorCode::LimitExceeded, "{}: {} entries, at most {} are unpacked", name_, count,
           limits.max_entries);
    }
    std::vector<Entry> result;
    std::set<fs::path> seen;
    uint64_t total = 0;
    for (zip_int64_t i = 0; i < count; ++i) {
      Entry entry = check(static_cast<zip_uint64_t>(i));
      if (*entry.path.begin() == "__MACOSX" || entry.path.filename() == ".DS_Store") continue;
      if (!seen.insert(entry.path).second) {
        fail(ErrorCode::InvalidFile, "{}: entry \"{}\" comes twice", name_, entry.path.string());
      }
      if (entry.size > limits.max_bytes - total) {
        fail(ErrorCode::LimitExceeded, "{}: unpacks to more than {} bytes", name_,
             limits.max_bytes);
      }
      total += entry.size;
      result.push_back(std::move(entry));
    }
    return result;
  }

  void extract(const Entry& entry, const fs::path& target) const {
    const std::string where = name_ + ": " + entry.path.string();
    const std::unique_ptr<zip_file_t, Closer> file(zip_fopen_index(zip_.get(), entry.index, 0));
    if (!file) fail(ErrorCode::InvalidFile, "{}: {}", where, zip_strerror(zip_.get()));
    FileWriter writer(target);
    std::vector<std::byte> chunk(kChunk);
    uint64_t done = 0;
    for (;;) {
      check_cancel();
      const zip_int64_t count = zip_fread(file.get(), chunk.data(), chunk.size());
      if (count < 0) {
        fail(ErrorCode::InvalidFile, "{}: damaged: {}", where, zip_file_strerror(file.get()));
      }
      if (count == 0) break;
      done += static_cast<uint64_t>(count);
      if (done > entry.size) break;
      writer.write(ByteSpan(chunk).first(static_cast<size_t>(count)));
    }
    if (done != entry.size) {
      fail(ErrorCode::InvalidFile, "{}: {} bytes, the archive states {}", where, done, entry.size);
    }
    writer.close();
  }

 private:
  Entry check(zip_uint64_t index) const {
    zip_stat_t info;
    zip_stat_init(&info);
    constexpr zip_uint64_t kNeeded = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE |
                                     ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
    if (zip_stat_index(zip_.get(), index, 0, &info) != 0 || (info.valid & kNeeded) != kNeeded) {
      fail(ErrorCode::InvalidFile, "{}: entry {}: {}", name_, index, zip_strerror(zip_.get()));
    }
    Entry entry;
    entry.index = index;
    entry.path = safe_path(info.name);
    entry.is_folder = std::string_view(info.name).ends_with('/');
    entry.size = info.size;
    const std::string where = name_ + ": " + entry.path.string();
    if (info.encryption_method != ZIP_EM_NONE) {
      fail(ErrorCode::Unsupported, "{}: encrypted", where);
    }
    if (info.comp_method != ZIP_CM_STORE && info.comp_method != ZIP_CM_DEFLATE) {
      fail(ErrorCode::Unsupported, "{}: zip method {}, stored and deflate are read", where,
           info.comp_method);
    }
    if (info.size / kMaxRatio > info.comp_size || (entry.is_folder && info.size > 0)) {
      fail(ErrorCode::InvalidFile, "{}: {} bytes from {} compressed ones", where, info.size,
           info.comp_size);
    }
    zip_uint8_t system = 0;
    zip_uint32_t attributes = 0;
    zip_file_get_external_attributes(zip_.get(), index, 0, &system, &attributes);
    // Unix modes are in the upper half; 0 if the archive has none.
    const uint32_t kind = attributes >> 16 & 0170000;
    if (system == ZIP_OPSYS_UNIX && kind != 0 && kind != 0100000 && kind != 0040000) {
      fail(ErrorCode::InvalidFile, "{}: no file or folder but a {}", where,
           kind == 0120000 ? "link" : "device");
    }
    return entry;
  }

  fs::path safe_path(std::string_view text) const {
    const bool odd = text.empty() || text.size() > 1024 ||
                     text.find_first_of(std::string_view("\\:\0", 3)) != text.npos ||
                     std::any_of(text.begin(), text.end(),
                                 [](char c) { return static_cast<unsigned char>(c) < 32; });
    fs::path path(text);
    bool leaves = path.is_absolute();
    fs::path normal;
    for (const fs::path& part : path) {
      leaves = leaves || part == "..";
      if (!part.empty() && part != ".") normal /= part;
    }
    if (odd || leaves || normal.empty()) {
      fail(ErrorCode::InvalidFile, "{}: entry \"{}\" is not a path inside a folder", name_,
           text.substr(0, 200));
    }
    return normal;
  }

  std::string name_;
  std::unique_ptr<zip_t, Closer> zip_;
};

void check_space(const std::vector<Entry>& entries, const std::string& name,
                 const fs::path& folder) {
  uint64_t total = 0;
  for (const Entry& entry : entries) total += entry.size;
  std::error_code unknown;
  const fs::space_info space = fs::space(folder, unknown);
  if (!unknown && space.available < total) {
    fail(ErrorCode::LimitExceeded, "{}: unpacks to {} bytes, {} has {} left; set TMPDIR", name,
         total, folder.string(), space.available);
  }
}

}  // namespace

void unzip(ByteSpan bytes, const std::string& name, const fs::path& folder,
           const UnzipLimits& limits) {
  const Archive archive(std::span(&bytes, 1), name);
  const std::vector<Entry> entries = archive.entries(limits);
  check_space(entries, name, folder);
  for (const Entry& entry : entries) {
    check_cancel();
    const fs::path target = folder / entry.path;
    std::error_code error;
    fs::create_directories(entry.is_folder ? target : target.parent_path(), error);
    if (error) fail(ErrorCode::Io, "{}: {}: {}", name, entry.path.string(), error.message());
    if (!entry.is_folder) archive.extract(entry, target);
  }
}

void unzip(const fs::path& archive, const fs::path& folder, const UnzipLimits& limits) {
  const auto file = MappedFile::open(archive);
  unzip(file->bytes(), archive.filename().string(), folder, limits);
}

bool is_zip(ByteSpan file) {
  const std::string_view text = as_text(file.first(std::min<size_t>(file.size(), 4)));
  return text == "PK\3\4" || text == "PK\5\6";  // the second: an archive without entries
}

void gunzip(ByteSpan file, const std::string& name, const fs::path& target,
            const UnzipLimits& limits) {
  const GzipFile gzip = parse_gzip(file, name);
  if (gzip.deflated.size() > UINT32_MAX) {
    fail(ErrorCode::LimitExceeded, "{}: {} bytes, a gzip file of up to 4 GiB is read", name,
         file.size());
  }
  const Frame frame(gzip);
  const std::array pieces = {as_byte_span(frame.before), gzip.deflated, as_byte_span(frame.after)};
  const Archive archive(std::span<const ByteSpan>(pieces), name);
  const std::vector<Entry> entries = archive.entries(limits);
  check_space(entries, name, target.parent_path());
  archive.extract(entries.front(), target);
}

}  // namespace pippin
