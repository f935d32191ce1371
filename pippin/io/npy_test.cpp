#include "pippin/io/npy.h"

#include <gtest/gtest.h>

#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/io/fault_test.h"
#include "pippin/io/npz.h"

namespace pippin {
namespace {

std::string npy(const std::string& header, size_t data_bytes, int version = 1) {
  std::string result = "\x93NUMPY";
  result += static_cast<char>(version);
  result += '\0';
  const size_t width = version == 1 ? 2 : 4;
  for (size_t i = 0; i < width; ++i) result += static_cast<char>(header.size() >> (8 * i));
  result += header;
  for (size_t i = 0; i < data_bytes; ++i) result += static_cast<char>(i);
  return result;
}

NpyArray parse(const std::string& bytes) {
  return parse_npy(as_byte_span(bytes), "x.npy");
}

NpyArray sample() {
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  return NpyArray::from(std::span<const float>(values), {2, 3});
}

TEST(Npy, RoundTripsEveryType) {
  const TempDir dir;
  const auto check = [&](auto example) {
    using T = decltype(example);
    const std::vector<T> values(6, example);
    const NpyArray array = NpyArray::from(std::span<const T>(values), {3, 1, 2});
    write_npy(dir / "x.npy", array);
    const NpyArray back = read_npy(dir / "x.npy");
    EXPECT_EQ(back.type, array.type);
    EXPECT_EQ(back.shape, array.shape);
    EXPECT_EQ(back.data, array.data);
    EXPECT_EQ(back.as<T>().size(), 6u);
    EXPECT_EQ(back.to_doubles(), std::vector<double>(6, -1.0 + 2.0 * std::is_unsigned_v<T>));
  };
  check(int8_t{-1});
  check(uint8_t{1});
  check(int16_t{-1});
  check(uint16_t{1});
  check(int32_t{-1});
  check(uint32_t{1});
  check(int64_t{-1});
  check(uint64_t{1});
  check(to_float16(-1));
  check(-1.0f);
  check(-1.0);
}

TEST(Npy, ScalarsVectorsAndEmptyArrays) {
  for (const std::vector<int64_t>& shape :
       {std::vector<int64_t>{}, std::vector<int64_t>{1}, std::vector<int64_t>{1, 1}}) {
    const NpyArray array{NpyType::Bool, shape, {std::byte{1}}};
    EXPECT_EQ(parse(format_npy(array)).shape, shape);
  }
  EXPECT_EQ(parse(format_npy(NpyArray{NpyType::F32, {3, 0}, {}})).num_elements(), 0);
  EXPECT_EQ(format_npy(sample()).size() % 64, 24u);  // the header ends at a multiple of 64
  EXPECT_FAULT(format_npy(NpyArray{NpyType::F32, {3}, {}}), "shape (3) of '<f4' does not take 0");
}

TEST(Npy, FortranOrderBecomesCOrder) {
  const NpyArray array =
      parse(npy("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3, 2), }", 12));
  EXPECT_EQ(array.to_floats(), (std::vector<float>{0, 6, 2, 8, 4, 10, 1, 7, 3, 9, 5, 11}));
}

TEST(Npy, VersionsAndSpellings) {
  EXPECT_EQ(parse(npy("{'shape': (2,), 'fortran_order': False, \"descr\": '<i2'}  \n", 4, 2)).type,
            NpyType::I16);
  EXPECT_EQ(parse(npy("{'shape': (), 'fortran_order': False, 'descr': '<u1'}", 1, 3)).type,
            NpyType::U8);
}

TEST(Npy, Faults) {
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
  EXPECT_EQ(parse(npy(good, 8)).shape.size(), 1u);
  EXPECT_FAULT(parse(""), "x.npy: not a .npy file");
  EXPECT_FAULT(parse("\x93NUMPZ\1\0aaaaaaaa"), "not a .npy file");
  EXPECT_FAULT(parse(npy(good, 8, 4)), "version 4.0, 1 to 3 are read");
  EXPECT_FAULT(parse(npy(good, 7)), "shape (2) of '<f4' needs 8 bytes, the file has 7");
  EXPECT_FAULT(parse(npy(good, 9)), "needs 8 bytes, the file has 9");
  const auto header = [](const std::string& descr, const std::string& shape) {
    return npy("{'descr': " + descr + ", 'fortran_order': False, 'shape': " + shape + "}", 8);
  };
  EXPECT_FAULT(parse(header("'>f4'", "(2,)")), "NumPy type '>f4' is not read");
  EXPECT_FAULT(parse(header("'<U2'", "(1,)")), "is not read");
  EXPECT_FAULT(parse(header("'|O'", "(1,)")), "is not read");
  EXPECT_FAULT(parse(header("[('a', '<f4')]", "(2,)")), "structured NumPy types");
  EXPECT_FAULT(parse(header("'<f4'", "(-2,)")), "expected a size");
  EXPECT_FAULT(parse(header("'<f4'", "(2")), "expected ')'");
  EXPECT_FAULT(parse(header("'<f4'", "(99999999999999999999,)")), "a size above 2^63");
  EXPECT_FAULT(parse(header("'<f4'", "(4611686018427387904, 4611686018427387904)")),
               "needs more than 2^64 bytes");
  EXPECT_FAULT(parse(header("'<f4'", "(4611686018427387904,)")), "more than 2^64 bytes");
  EXPECT_FAULT(parse(npy("{'descr': '<f4', 'shape': (2,)}", 8)), "is missing");
  EXPECT_FAULT(parse(npy("{'descr': '<f4', 'descr': '<f4'}", 8)), "occurs twice");
  EXPECT_FAULT(parse(npy("{'descr': __import__('os')}", 8)), "expected a string");
  EXPECT_FAULT(parse(npy(good + "x", 8)), "text after the closing brace");
  std::string long_header = npy(good, 8, 2);
  long_header[11] = '\x7f';
  EXPECT_FAULT(parse(long_header), "npy header of");
  const std::string bytes = npy(good, 8);
  for (size_t length = 0; length < bytes.size(); ++length) {
    fault_of([&] { parse(bytes.substr(0, length)); });
  }
  NpyLimits limits;
  limits.max_bytes = 7;
  EXPECT_FAULT(parse_npy(as_byte_span(bytes), "x.npy", limits), "8 bytes of data, at most 7");
}

TEST(Npy, TheTypeIsChecked) {
  EXPECT_FAULT(sample().as<double>(), "of '<f4' is read as '<f8'");
  EXPECT_EQ((NpyArray{NpyType::Bool, {1}, {std::byte{1}}}.as<uint8_t>()[0]), 1);
}

TEST(Npy, TextsAreWrittenAsUnicode) {
  const std::vector<std::string> texts = {"ab", "", "\xc3\xa9"};
  const std::string file = format_npy(texts, {3, 1});
  EXPECT_NE(file.find("{'descr': '<U2', 'fortran_order': False, 'shape': (3, 1), }"), file.npos);
  const std::string data = {'a', 0, 0, 0, 'b',    0, 0, 0, 0, 0, 0, 0,
                            0,   0, 0, 0, '\xe9', 0, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(file.size() % 64, data.size());
  EXPECT_TRUE(file.ends_with(data));
  EXPECT_NE(format_npy(std::span<const std::string>(), {0}).find("'<U1'"), file.npos);
  EXPECT_FAULT(format_npy(texts, {2}), "shape (2) does not take 3 texts");
}

TEST(Npz, RoundTrip) {
  const TempDir dir;
  write_npz(dir / "x.npz", {{"a", sample()}, {"b/c", NpyArray{NpyType::Bool, {}, {std::byte{1}}}}});
  const NpzFile file = NpzFile::open(dir / "x.npz");
  EXPECT_EQ(file.names(), (std::vector<std::string>{"a", "b/c"}));
  EXPECT_EQ(file.read("a").to_floats(), sample().to_floats());
  EXPECT_EQ(file.read("b/c").shape.size(), 0u);
  EXPECT_TRUE(file.contains("a"));
  EXPECT_FAULT(file.read("z"), "x.npz: no array z among its 2");
  write_npz(dir / "x.npz", {});
  EXPECT_TRUE(NpzFile::open(dir / "x.npz").names().empty());
}

TEST(Npz, DamageIsFound) {
  const TempDir dir;
  write_npz(dir / "x.npz", {{"a", sample()}});
  const auto mapped = MappedFile::open(dir / "x.npz");
  const std::string good(as_text(mapped->bytes()));
  const auto read = [](const std::string& bytes) {
    return NpzFile::parse(as_byte_span(bytes), "x.npz").read("a");
  };
  EXPECT_FAULT(read("not a zip"), "x.npz: not a .npz file");
  EXPECT_FAULT(read(""), "x.npz: not a .npz file");
  for (size_t length = 0; length < good.size(); ++length) {
    fault_of([&] { read(good.substr(0, length)); });
  }
  std::string flipped = good;
  flipped[good.find("NUMPY") + 130] ^= 1;  // in the data, which the checksum detects
  EXPECT_FAULT(read(flipped), "CRC");
  std::string other = good;
  for (size_t at = other.find("a.npy"); at != other.npos; at = other.find("a.npy", at + 1)) {
    other.replace(at, 5, "a.txt");
  }
  EXPECT_FAULT(read(other), "entry 0 is \"a.txt\", no .npy file");
}

// Returns an archive with an entry "a.npy" of the given sizes, method and content.
std::string zip_entry(uint16_t method, uint32_t stored, uint32_t size, const std::string& content) {
  const auto number = [](uint64_t value, size_t width) {
    std::string text;
    for (size_t i = 0; i < width; ++i) text += static_cast<char>(value >> (8 * i));
    return text;
  };
  const std::string common = number(20, 2) + number(0, 2) + number(method, 2) +
                             number(0x210000, 4) + number(0, 4) + number(stored, 4) +
                             number(size, 4) + number(5, 2) + number(0, 2);
  const std::string local = "PK\3\4" + common + "a.npy" + content;
  const std::string central =
      "PK\1\2" + number(20, 2) + common + std::string(10, '\0') + number(0, 4) + "a.npy";
  return local + central + "PK\5\6" + number(0, 4) + number(1, 2) + number(1, 2) +
         number(central.size(), 4) + number(local.size(), 4) + number(0, 2);
}

TEST(Npz, BombsAreRefusedBeforeMemoryIsTaken) {
  const auto read = [](const std::string& bytes, size_t max_bytes) {
    NpyLimits limits;
    limits.max_bytes = max_bytes;
    return NpzFile::parse(as_byte_span(bytes), "x.npz", limits).read("a");
  };
  const std::string data(1000, 'x');
  EXPECT_FAULT(read(zip_entry(8, 1000, 0xf0000000, data), size_t{1} << 20), "at most");
  EXPECT_FAULT(read(zip_entry(8, 1000, 0xf0000000, data), size_t{1} << 40),
               "4026531840 bytes from 1000 compressed ones");
  EXPECT_FAULT(read(zip_entry(12, 1000, 1000, data), size_t{1} << 20), "zip method 12");
  EXPECT_FAULT(read(zip_entry(0, 1000, 900, data), size_t{1} << 20), "x.npz: ");
}

TEST(Npz, ReadsNumpysOwnFiles) {
  PIPPIN_SHARED_ENTRIES_OR_SKIP(folders, "");
  int arrays = 0;
  for (const auto& folder : folders) {
    if (!std::filesystem::is_directory(folder)) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (entry.path().extension() != ".npz") continue;
      const NpzFile file = NpzFile::open(entry.path());
      for (const std::string& name : file.names()) {
        EXPECT_EQ(file.read(name).to_floats().size(),
                  static_cast<size_t>(file.read(name).num_elements()));
        ++arrays;
      }
    }
  }
  EXPECT_GT(arrays, 1000);
}

}  // namespace
}  // namespace pippin
