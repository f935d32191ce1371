#include "pippin/io/blob_file.h"

#include <cstring>

#include <gtest/gtest.h>

#include "pippin/base/files/file.h"
#include "pippin/base/numbers/checked.h"
#include "pippin/base/testing.h"
#include "pippin/io/fault_test.h"

namespace pippin {
namespace {

TEST(BlobFile, RoundTrip) {
  const TempDir dir;
  BlobWriter writer(dir / "weight.bin");
  const uint64_t first = writer.begin(BlobType::Float16, 130);
  writer.append(as_byte_span(std::string(100, 'a')));
  writer.append(as_byte_span(std::string(30, 'b')));
  const uint64_t second = writer.add(BlobType::Int4, as_byte_span("xyz"), 4);
  const uint64_t empty = writer.add(BlobType::Float32, {});
  writer.finish();
  EXPECT_EQ(first, 64u);
  EXPECT_EQ(second, 64u + 64 + 192);

  const auto file = BlobFile::open(dir / "weight.bin");
  EXPECT_EQ(file->count(), 3u);
  EXPECT_EQ(file->bytes().size() % 64, 0u);
  EXPECT_EQ(file->offsets(), (std::vector<uint64_t>{first, second, empty}));
  const Blob blob = file->read(first);
  EXPECT_EQ(blob.type, BlobType::Float16);
  EXPECT_EQ(as_text(blob.data), std::string(100, 'a') + std::string(30, 'b'));
  EXPECT_EQ(file->read(second).padding_bits, 4u);
  EXPECT_EQ(as_text(file->read(second).data), "xyz");
  EXPECT_TRUE(file->read(empty).data.empty());
}

TEST(BlobFile, TheWriterChecksItsCaller) {
  const TempDir dir;
  BlobWriter writer(dir / "weight.bin");
  writer.begin(BlobType::UInt8, 4);
  EXPECT_FAULT(writer.append(as_byte_span("12345")), "5 bytes for blob 0, which misses 4");
  writer.append(as_byte_span("12"));
  EXPECT_FAULT(writer.begin(BlobType::UInt8, 1), "blob 0 misses 2 bytes");
  EXPECT_FAULT(writer.finish(), "blob 0 misses 2 bytes");
}

TEST(BlobFile, IsWholeAfterEachFlushAndGoesOn) {
  const TempDir dir;
  const auto path = dir / "weight.bin";
  BlobWriter writer(path);
  const uint64_t first = writer.add(BlobType::UInt8, as_byte_span("abc"));
  writer.flush();
  EXPECT_EQ(as_text(BlobFile::open(path)->read(first).data), "abc");
  const uint64_t second = writer.add(BlobType::UInt8, as_byte_span("defg"));
  EXPECT_EQ(BlobFile::open(path)->count(), 1u);
  writer.flush();
  constexpr auto kAppend = FileWriter::Mode::Append;
  BlobWriter more(path, kAppend);
  const uint64_t third = more.add(BlobType::UInt8, as_byte_span("h"));
  EXPECT_FAULT((more.begin(BlobType::UInt8, 1), more.flush()), "blob 3 misses 1 bytes");
  more.append(as_byte_span("i"));
  more.finish();
  const auto file = BlobFile::open(path);
  EXPECT_EQ(file->offsets(), (std::vector<uint64_t>{first, second, third, third + 128}));
  EXPECT_EQ(as_text(file->read(third).data), "h");
  // A missing file is started; a file of another format is rejected.
  EXPECT_EQ(BlobWriter(dir / "new.bin", kAppend).add(BlobType::UInt8, as_byte_span("j")), 64u);
  write_file(dir / "other.bin", "text");
  EXPECT_FAULT(BlobWriter(dir / "other.bin", kAppend), "4 bytes, a weight file has at least 64");
}

class BlobFaults : public testing::Test {
 protected:
  BlobFaults() {
    const TempDir dir;
    BlobWriter writer(dir / "weight.bin");
    writer.add(BlobType::Float16, as_byte_span(std::string(64, 'a')));
    writer.finish();
    bytes_ = read_file(dir / "weight.bin");  // header, record, 64 bytes of data
  }
  template <typename T>
  void set(size_t at, T value) {
    std::memcpy(bytes_.data() + at, &value, sizeof(T));
  }
  Blob read(uint64_t offset = 64) const {
    return BlobFile::parse(as_byte_span(bytes_), "weight.bin").read(offset);
  }
  std::string bytes_;
};

TEST_F(BlobFaults, Header) {
  EXPECT_EQ(read().data.size(), 64u);
  set<uint32_t>(4, 1);
  EXPECT_FAULT(read(), "weight.bin: blob storage version 1, 2 is read");
  bytes_.resize(63);
  EXPECT_FAULT(read(), "63 bytes, a weight file has at least 64");
}

TEST_F(BlobFaults, Offsets) {
  EXPECT_FAULT(read(0), "blob offset 0 is not a positive multiple of 64");
  EXPECT_FAULT(read(65), "blob offset 65 is not");
  EXPECT_FAULT(read(192), "blob at offset 192: no room for its record in 192 bytes");
  EXPECT_FAULT(read(~uint64_t{63}), "no room for its record");
  EXPECT_FAULT(read(128), "the record starts with 0x61616161, not 0xDEADBEEF");
}

TEST_F(BlobFaults, Types) {
  set<uint32_t>(68, 0);
  EXPECT_FAULT(read(), "blob at offset 64: unknown type 0");
  set<uint32_t>(68, 18);
  EXPECT_FAULT(read(), "unknown type 18");
  set<uint32_t>(68, 0xffffffff);
  EXPECT_FAULT(read(), "unknown type 4294967295");
}

TEST_F(BlobFaults, Sizes) {
  set<uint64_t>(72, 65);
  EXPECT_FAULT(read(), "65 bytes of data at 128, the file has 192 bytes");
  set<uint64_t>(72, ~uint64_t{0});
  EXPECT_FAULT(read(), "18446744073709551615 bytes of data");
  set<uint64_t>(72, 63);
  EXPECT_FAULT(read(), "63 bytes are not a whole number of float16");
  set<uint64_t>(72, 64);
  set<uint64_t>(80, 129);
  EXPECT_FAULT(read(), "data offset 129 is not a positive multiple of 64");
  set<uint64_t>(80, 0);
  EXPECT_FAULT(read(), "data offset 0 is not");
  set<uint64_t>(80, ~uint64_t{63});
  EXPECT_FAULT(read(), "bytes of data at 18446744073709551552");
}

TEST_F(BlobFaults, Counts) {
  set<uint32_t>(0, 0xffffffff);
  EXPECT_FAULT(BlobFile::parse(as_byte_span(bytes_), "weight.bin").offsets(), "no room for its");
  set<uint64_t>(80, 64);  // data that points back at its own record would cause an endless walk
  set<uint64_t>(72, 0);
  EXPECT_FAULT(BlobFile::parse(as_byte_span(bytes_), "weight.bin").offsets(), "before it");
}

TEST(BlobFile, ReadsWhatCoremltoolsWrote) {
  PIPPIN_SHARED_OR_SKIP(root, "coremltools");
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.path().filename() != "weight.bin") continue;
    const auto file = BlobFile::open(entry.path());
    EXPECT_EQ(file->offsets().size(), file->count()) << entry.path();
    ++files;

    // Rewriting it gives the same file.
    const TempDir dir;
    BlobWriter writer(dir / "weight.bin");
    for (const uint64_t offset : file->offsets()) {
      const Blob blob = file->read(offset);
      EXPECT_EQ(writer.add(blob.type, blob.data, blob.padding_bits), offset);
    }
    writer.finish();
    // Some writers omit the zeros after the last blob.
    EXPECT_EQ(read_file(dir / "weight.bin").size(), align_up(file->bytes().size(), size_t{64}));
  }
  EXPECT_GT(files, 50);
}

}  // namespace
}  // namespace pippin
