// Core ML's weight.bin, blob storage version 2 (little-endian):
//
//   0    u32 number of blobs, u32 version = 2, zeros to 64
//   64i  record: u32 0xDEADBEEF, u32 type, u64 size, u64 offset of the data, u64 padding bits,
//        zeros to 64
//   64j  data, zeros to the next multiple of 64
//
// A program refers to a blob by the offset of its record. BlobFile checks a record when it is read;
// BlobWriter streams, and keeps only the count.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/base/bytes.h"
#include "pippin/base/files/mapped_file.h"
#include "pippin/base/files/output.h"

namespace pippin {

// The values are those in the file.
enum class BlobType : uint32_t {
  Float16 = 1,
  Float32 = 2,
  UInt8 = 3,
  Int8 = 4,
  BFloat16 = 5,
  Int16 = 6,
  UInt16 = 7,
  Int4 = 8,
  UInt1 = 9,
  UInt2 = 10,
  UInt4 = 11,
  UInt3 = 12,
  UInt6 = 13,
  Int32 = 14,
  UInt32 = 15,
  Float8E4M3FN = 16,
  Float8E5M2 = 17,
};

int64_t bits(BlobType type);
std::string_view to_string(BlobType type);

struct Blob {
  BlobType type;
  ByteSpan data;
  // Unused bits at the end of a sub-byte blob. In files older than iOS 18, this value is arbitrary;
  // the constant's shape determines the number of elements.
  uint64_t padding_bits;
};

class BlobFile {
 public:
  static std::shared_ptr<const BlobFile> open(const std::filesystem::path& path);
  // `bytes` must outlive the result. `name` starts error messages.
  static BlobFile parse(ByteSpan bytes, std::string name);

  // Returns the blob whose record is at `offset`. Throws InvalidFile if it is invalid.
  Blob read(uint64_t offset) const;
  uint32_t count() const { return count_; }
  // Returns the offsets of the records, by walking the file in its writer's layout: each record
  // directly follows the data of the previous blob.
  std::vector<uint64_t> offsets() const;
  ByteSpan bytes() const { return bytes_; }
  // The file opened by open(), for release(); null after parse().
  const std::shared_ptr<const MappedFile>& file() const { return file_; }

 private:
  BlobFile(ByteSpan bytes, std::string name);

  ByteSpan bytes_;
  std::string name_;
  uint32_t count_ = 0;
  std::shared_ptr<const MappedFile> file_;
};

// The places of blobs in a file of BlobWriter.
class BlobLayout {
 public:
  // Adds a blob of `size` bytes, and returns the offset of its record.
  uint64_t add(uint64_t size);
  // The size of the file.
  uint64_t size() const { return size_; }

 private:
  uint64_t size_ = 64;
};

class BlobWriter {
 public:
  // Writes in place, because a package's folder becomes visible as a whole. Mode::Append adds to
  // the blobs of an existing file, and throws InvalidFile if it has another format; a missing or
  // empty file is started.
  explicit BlobWriter(const std::filesystem::path& path,
                      FileWriter::Mode mode = FileWriter::Mode::New);

  // Starts a blob of `size` bytes, and returns the offset of its record.
  uint64_t begin(BlobType type, uint64_t size, uint64_t padding_bits = 0);
  // Appends the next bytes of the blob, in pieces of any size.
  void append(ByteSpan bytes);
  // Adds a whole blob.
  uint64_t add(BlobType type, ByteSpan data, uint64_t padding_bits = 0);
  uint32_t count() const { return count_; }
  // Completes the file in its current state, and allows further blobs. Throws InvalidArgument if
  // the last blob lacks bytes.
  void flush();
  // Throws InvalidArgument if the last blob lacks bytes.
  void finish();

 private:
  void check_complete() const;

  std::string name_;
  FileWriter writer_;
  uint32_t count_ = 0;
  uint64_t missing_ = 0;  // of the current blob
};

}  // namespace pippin
