#include "pippin/io/zip_directory.h"

#include <algorithm>
#include <optional>

#include "pippin/base/error.h"

namespace pippin {
namespace {

// APPNOTE.TXT, PKWARE's specification: 4.3.7, 4.3.12, 4.3.14 to 4.3.16, 4.5.3.
constexpr uint32_t kLocalHeader = 0x04034b50, kCentralHeader = 0x02014b50, kEnd = 0x06054b50,
                   kZip64End = 0x06064b50, kZip64Locator = 0x07064b50;
constexpr size_t kEndBytes = 22, kLocatorBytes = 20, kCentralBytes = 46;
constexpr uint64_t kMaxEntries = uint64_t{1} << 20;

struct Directory {
  uint64_t entries, offset;
};

Directory find_directory(ByteSpan file, const std::string& name) {
  // The end record is last, except for a comment of up to 65535 bytes.
  constexpr size_t kMaxComment = 65535;
  if (file.size() < kEndBytes) {
    fail(ErrorCode::InvalidFile, "{}: not a zip archive: {} bytes", name, file.size());
  }
  ByteReader reader(file, name);
  const size_t last = file.size() - kEndBytes;
  for (size_t back = 0; back <= std::min(last, kMaxComment); ++back) {
    reader.seek(last - back);
    if (reader.read<uint32_t>() != kEnd) continue;
    reader.take(6);  // disks, entries on this one
    uint64_t entries = reader.read<uint16_t>();
    reader.take(4);  // the directory's size
    uint64_t offset = reader.read<uint32_t>();
    const size_t end = last - back;
    if ((entries == 0xffff || offset == 0xffffffff) && end >= kLocatorBytes) {
      reader.seek(end - kLocatorBytes);
      if (reader.read<uint32_t>() == kZip64Locator) {
        reader.take(4);
        reader.seek(reader.read<uint64_t>());
        if (reader.read<uint32_t>() != kZip64End) {
          fail(ErrorCode::InvalidFile, "{}: the zip64 end record is not where it should be", name);
        }
        reader.take(28);
        entries = reader.read<uint64_t>();
        reader.take(8);
        offset = reader.read<uint64_t>();
      }
    }
    return {entries, offset};
  }
  fail(ErrorCode::InvalidFile, "{}: not a zip archive, or not all of one", name);
}

struct Sizes {
  uint64_t content, compressed, offset;
};

// Sizes that do not fit 32 bits are in the extra field with id 1, in fixed order.
void read_zip64(ByteSpan extra, const std::string& where, Sizes& sizes) {
  ByteReader fields(extra, where);
  while (fields.remaining() >= 4) {
    const auto id = fields.read<uint16_t>();
    const ByteSpan content = fields.take(fields.read<uint16_t>());
    if (id != 1) continue;
    ByteReader reader(content, where);
    for (uint64_t* size : {&sizes.content, &sizes.compressed, &sizes.offset}) {
      if (*size == 0xffffffff) *size = reader.read<uint64_t>();
    }
  }
}

}  // namespace

std::vector<ZipEntry> read_zip_directory(ByteSpan file, const std::string& name) {
  const Directory directory = find_directory(file, name);
  if (directory.entries > kMaxEntries) {
    fail(ErrorCode::LimitExceeded, "{}: {} entries, at most {}", name, directory.entries,
         kMaxEntries);
  }
  ByteReader reader(file, name);
  reader.seek(directory.offset);
  std::vector<ZipEntry> entries;
  entries.reserve(std::min<uint64_t>(directory.entries, reader.remaining() / kCentralBytes));
  for (uint64_t i = 0; i < directory.entries; ++i) {
    if (reader.read<uint32_t>() != kCentralHeader) {
      fail(ErrorCode::InvalidFile, "{}: entry {} of {} is not in the directory", name, i,
           directory.entries);
    }
    reader.take(4);  // versions
    const auto flags = reader.read<uint16_t>();
    const auto method = reader.read<uint16_t>();
    reader.take(8);  // time, date, CRC
    Sizes sizes{};
    sizes.compressed = reader.read<uint32_t>();
    sizes.content = reader.read<uint32_t>();
    const auto name_bytes = reader.read<uint16_t>();
    const auto extra_bytes = reader.read<uint16_t>();
    const auto comment_bytes = reader.read<uint16_t>();
    reader.take(8);  // disk, attributes
    sizes.offset = reader.read<uint32_t>();
    ZipEntry entry;
    entry.name = as_text(reader.take(name_bytes));
    read_zip64(reader.take(extra_bytes), name, sizes);
    reader.take(comment_bytes);
    if ((flags & 1) != 0) {
      fail(ErrorCode::Unsupported, "{}: entry {} is encrypted", name, entry.name.substr(0, 100));
    }
    entry.stored = method == 0;

    ByteReader local(file, name);
    local.seek(sizes.offset);
    if (local.read<uint32_t>() != kLocalHeader) {
      fail(ErrorCode::InvalidFile, "{}: entry {} does not lie at {}", name,
           entry.name.substr(0, 100), sizes.offset);
    }
    local.take(22);
    const auto local_name = local.read<uint16_t>();
    const auto local_extra = local.read<uint16_t>();
    local.take(size_t{local_name} + local_extra);
    entry.data = local.take(sizes.compressed);
    if (entry.stored && sizes.content != sizes.compressed) {
      fail(ErrorCode::InvalidFile, "{}: entry {} is stored in {} bytes and has {}", name,
           entry.name.substr(0, 100), sizes.compressed, sizes.content);
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace pippin
