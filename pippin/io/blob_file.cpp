#include "pippin/io/blob_file.h"

#include <array>

#include "pippin/base/error.h"
#include "pippin/base/numbers/checked.h"

namespace pippin {
namespace {

constexpr uint64_t kAlignment = 64;
constexpr uint32_t kVersion = 2;
constexpr uint32_t kSentinel = 0xDEADBEEF;

struct FileHeader {
  uint32_t count;
  uint32_t version;
  std::array<uint64_t, 7> reserved;
};
static_assert(sizeof(FileHeader) == kAlignment);

struct Record {
  uint32_t sentinel;
  uint32_t type;
  uint64_t size;
  uint64_t offset;
  uint64_t padding_bits;
  std::array<uint64_t, 4> reserved;
};
static_assert(sizeof(Record) == kAlignment);

struct Row {
  std::string_view name;
  int64_t bits;
};
// Indexed by the value in the file; 0 is not a type.
constexpr Row kRows[] = {
    {"", 0},          {"float16", 16},     {"float32", 32},   {"uint8", 8}, {"int8", 8},
    {"bfloat16", 16}, {"int16", 16},       {"uint16", 16},    {"int4", 4},  {"uint1", 1},
    {"uint2", 2},     {"uint4", 4},        {"uint3", 3},      {"uint6", 6}, {"int32", 32},
    {"uint32", 32},   {"float8e4m3fn", 8}, {"float8e5m2", 8},
};

}  // namespace

int64_t bits(BlobType type) {
  return kRows[static_cast<uint32_t>(type)].bits;
}
std::string_view to_string(BlobType type) {
  return kRows[static_cast<uint32_t>(type)].name;
}

BlobFile::BlobFile(ByteSpan bytes, std::string name) : bytes_(bytes), name_(std::move(name)) {
  if (bytes_.size() < sizeof(FileHeader)) {
    fail(ErrorCode::InvalidFile, "{}: {} bytes, a weight file has at least {}", name_,
         bytes_.size(), sizeof(FileHeader));
  }
  const auto header = ByteReader(bytes_, name_).read<FileHeader>();
  if (header.version != kVersion) {
    fail(ErrorCode::Unsupported, "{}: blob storage version {}, {} is read", name_, header.version,
         kVersion);
  }
  count_ = header.count;
}

std::shared_ptr<const BlobFile> BlobFile::open(const std::filesystem::path& path) {
  auto file = MappedFile::open(path);
  std::shared_ptr<BlobFile> result(new BlobFile(file->bytes(), path.filename().string()));
  result->file_ = std::move(file);
  return result;
}

BlobFile BlobFile::parse(ByteSpan bytes, std::string name) {
  return BlobFile(bytes, std::move(name));
}

Blob BlobFile::read(uint64_t offset) const {
  if (offset < kAlignment || offset % kAlignment != 0) {
    fail(ErrorCode::InvalidFile, "{}: blob offset {} is not a positive multiple of {}", name_,
         offset, kAlignment);
  }
  if (offset > bytes_.size() || bytes_.size() - offset < sizeof(Record)) {
    fail(ErrorCode::InvalidFile, "{}: blob at offset {}: no room for its record in {} bytes", name_,
         offset, bytes_.size());
  }
  ByteReader reader(bytes_, name_);
  reader.seek(offset);
  const auto record = reader.read<Record>();
  const std::string where = fmt::format("{}: blob at offset {}", name_, offset);
  if (record.sentinel != kSentinel) {
    fail(ErrorCode::InvalidFile, "{}: the record starts with 0x{:08X}, not 0x{:08X}", where,
         record.sentinel, kSentinel);
  }
  if (record.type == 0 || record.type >= std::size(kRows)) {
    fail(ErrorCode::InvalidFile, "{}: unknown type {}", where, record.type);
  }
  if (record.offset < kAlignment || record.offset % kAlignment != 0) {
    fail(ErrorCode::InvalidFile, "{}: data offset {} is not a positive multiple of {}", where,
         record.offset, kAlignment);
  }
  if (record.offset > bytes_.size() || record.size > bytes_.size() - record.offset) {
    fail(ErrorCode::InvalidFile, "{}: {} bytes of data at {}, the file has {} bytes", where,
         record.size, record.offset, bytes_.size());
  }
  const auto type = static_cast<BlobType>(record.type);
  if (record.size * 8 % static_cast<uint64_t>(bits(type)) != 0 && bits(type) >= 8) {
    fail(ErrorCode::InvalidFile, "{}: {} bytes are not a whole number of {}", where, record.size,
         to_string(type));
  }
  return {type, bytes_.subspan(record.offset, record.size), record.padding_bits};
}

std::vector<uint64_t> BlobFile::offsets() const {
  std::vector<uint64_t> result;
  uint64_t next = kAlignment;
  for (uint32_t i = 0; i < count_; ++i) {
    const Blob blob = read(next);
    result.push_back(next);
    const auto end = static_cast<uint64_t>(blob.data.data() - bytes_.data()) + blob.data.size();
    if (end <= next) {
      fail(ErrorCode::InvalidFile, "{}: blob {} at offset {} has its data before it", name_, i,
           next);
    }
    next = align_up(end, kAlignment);
  }
  return result;
}

uint64_t BlobLayout::add(uint64_t size) {
  const uint64_t offset = size_;
  size_ += sizeof(Record) + (size + kAlignment - 1) / kAlignment * kAlignment;
  return offset;
}

BlobWriter::BlobWriter(const std::filesystem::path& path, FileWriter::Mode mode)
    : name_(path.filename().string()), writer_(path, mode) {
  if (writer_.position() > 0) {
    count_ = BlobFile::open(path)->count();
    return;
  }
  const FileHeader header{0, kVersion, {}};
  writer_.write(std::as_bytes(std::span(&header, 1)));
}

void BlobWriter::check_complete() const {
  if (missing_ != 0) {
    fail(ErrorCode::InvalidArgument, "{}: blob {} misses {} bytes", name_, count_ - 1, missing_);
  }
}

uint64_t BlobWriter::begin(BlobType type, uint64_t size, uint64_t padding_bits) {
  check_complete();
  writer_.pad_to(kAlignment);
  const uint64_t offset = writer_.position();
  const Record record{
      kSentinel, static_cast<uint32_t>(type), size, offset + sizeof(Record), padding_bits, {}};
  writer_.write(std::as_bytes(std::span(&record, 1)));
  missing_ = size;
  ++count_;
  return offset;
}

void BlobWriter::append(ByteSpan bytes) {
  if (bytes.size() > missing_) {
    fail(ErrorCode::InvalidArgument, "{}: {} bytes for blob {}, which misses {}", name_,
         bytes.size(), count_ - 1, missing_);
  }
  writer_.write(bytes);
  missing_ -= bytes.size();
}

uint64_t BlobWriter::add(BlobType type, ByteSpan data, uint64_t padding_bits) {
  const uint64_t offset = begin(type, data.size(), padding_bits);
  append(data);
  return offset;
}

void BlobWriter::flush() {
  check_complete();
  writer_.pad_to(kAlignment);
  writer_.write_at(0, std::as_bytes(std::span(&count_, 1)));
}

void BlobWriter::finish() {
  flush();
  writer_.close();
}

}  // namespace pippin
