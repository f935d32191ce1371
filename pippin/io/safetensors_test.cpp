#include "pippin/io/safetensors.h"

#include <gtest/gtest.h>

#include "pippin/base/files/file.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/io/fault_test.h"
#include "pippin/io/safetensors_writer.h"

namespace pippin {
namespace {

std::string file_bytes(uint64_t header_bytes, const std::string& header, size_t data_bytes) {
  return std::string(reinterpret_cast<const char*>(&header_bytes), sizeof(header_bytes)) + header +
         std::string(data_bytes, 'd');
}
std::string file_bytes(const std::string& header, size_t data_bytes) {
  return file_bytes(header.size(), header, data_bytes);
}

// Parses a file with this header and `data_bytes` bytes of data.
SafetensorsContent parse(const std::string& header, size_t data_bytes) {
  static std::string bytes;  // outlives the views
  bytes = file_bytes(header, data_bytes);
  return parse_safetensors(as_byte_span(bytes), "m.safetensors");
}

std::string tensor(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"w": {"dtype": ")" + dtype + R"(", "shape": )" + shape + R"(, "data_offsets": )" +
         offsets + "}}";
}

TEST(Safetensors, ReadsWhatTheWriterWrote) {
  const TempDir dir;
  const std::string values = "0123456789abcdefghijklmn";
  SafetensorsWriter writer(dir / "m.safetensors",
                           {{"b", Dtype::F16, {2, 3}},
                            {"empty", Dtype::F32, {0, 4}},
                            {"a", Dtype::BF16, {3}},
                            {"scalar", Dtype::I32, {}},
                            {"flags", Dtype::Bool, {2}}},
                           {{"format", "pt"}});
  EXPECT_EQ(writer.total_bytes(), 24u);
  writer.append(as_byte_span(values.substr(0, 5)));
  writer.append(as_byte_span(values.substr(5)));
  writer.finish();

  const auto file = SafetensorsFile::open(dir / "m.safetensors");
  ASSERT_EQ(file->tensors().size(), 5u);
  EXPECT_EQ(file->metadata().at("format"), "pt");
  const TensorInfo* a = file->find("a");
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(a->dtype, Dtype::BF16);
  EXPECT_EQ(a->shape, (std::vector<int64_t>{3}));
  EXPECT_EQ(as_text(a->bytes), "cdefgh");
  EXPECT_EQ(file->find("b")->num_elements(), 6);
  EXPECT_EQ(file->find("empty")->bytes.size(), 0u);
  EXPECT_EQ(file->find("empty")->num_elements(), 0);
  EXPECT_EQ(as_text(file->find("scalar")->bytes), "ijkl");
  EXPECT_EQ(as_text(file->find("flags")->bytes), "mn");
  EXPECT_EQ(file->find("missing"), nullptr);
  // Padding of the header aligns the data in memory.
  EXPECT_EQ(reinterpret_cast<uintptr_t>(file->find("b")->bytes.data()) % 8, 0u);
}

TEST(Safetensors, TheWriterChecksItsCaller) {
  const TempDir dir;
  using Declarations = std::vector<SafetensorsWriter::Declaration>;
  const auto path = dir / "m.safetensors";
  const auto declare = [&](const Declarations& tensors) {
    SafetensorsWriter writer(path, tensors);
  };
  EXPECT_FAULT(declare({{"a", Dtype::F16, {1}}, {"a", Dtype::F16, {1}}}), "used twice");
  EXPECT_FAULT(declare({{"a", Dtype::F16, {-1}}}), "tensor a: size -1");
  EXPECT_FAULT(declare({{"a", Dtype::F64, {1LL << 62, 8}}}), "2^64");
  {
    SafetensorsWriter writer(path, Declarations{{"a", Dtype::F16, {2}}});
    EXPECT_FAULT(writer.append(as_byte_span("12345")), "5 bytes of data, 4 were declared");
    writer.append(as_byte_span("12"));
    EXPECT_FAULT(writer.finish(), "2 bytes of data, 4 were declared");
  }
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

TEST(Safetensors, ReadsWhatIsValid) {
  EXPECT_EQ(parse("{}", 0).tensors.size(), 0u);
  EXPECT_EQ(parse("{}    ", 0).tensors.size(), 0u);
  EXPECT_EQ(parse(tensor("F4", "[2, 3]", "[0, 3]"), 3).tensors.size(), 1u);
  EXPECT_EQ(
      parse(tensor("F32", "[4611686018427387904, 2, 0]", "[0, 0]"), 0).tensors[0].num_elements(),
      0);
  const auto content = parse(R"({"b": {"dtype": "U8", "shape": [2], "data_offsets": [1, 3]},
      "z": {"dtype": "U8", "shape": [0], "data_offsets": [1, 1]},
      "a": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}})",
                             3);
  EXPECT_EQ(content.tensors[0].name, "a");
  EXPECT_EQ(content.tensors[1].name, "z");
  EXPECT_EQ(content.tensors[2].name, "b");
}

TEST(Safetensors, LyingHeaderLengths) {
  const auto parse_bytes = [](const std::string& bytes) {
    return parse_safetensors(as_byte_span(bytes), "m.safetensors");
  };
  EXPECT_FAULT(parse_bytes(""), "m.safetensors: 0 bytes, no room for a safetensors header");
  EXPECT_FAULT(parse_bytes("1234567"), "7 bytes, no room");
  EXPECT_FAULT(parse_bytes(file_bytes(0, "", 0)), "does not start with '{'");
  EXPECT_FAULT(parse_bytes(file_bytes(3, "{}", 0)), "a header of 3 bytes, the file has 2 left");
  EXPECT_FAULT(parse_bytes(file_bytes(100'000'001, "{}", 0)), "at most 100000000 are allowed");
  EXPECT_FAULT(parse_bytes(file_bytes(~uint64_t{0}, "{}", 0)), "18446744073709551615 bytes");
  EXPECT_FAULT(parse_bytes(file_bytes(1, "{}", 0)), "header: not valid JSON");
}

TEST(Safetensors, HeadersThatAreNoHeaders) {
  EXPECT_FAULT(parse(" {}", 0), "does not start with '{'");
  EXPECT_FAULT(parse("[]", 0), "does not start with '{'");
  EXPECT_FAULT(parse("{\"w\": 1}", 0), "m.safetensors: header: w: expected an object, found 1");
  EXPECT_FAULT(parse("{\"w\": {}}", 0), "header: w: the key \"dtype\" is missing");
  EXPECT_FAULT(parse(R"({"__metadata__": {"a": 1}})", 0), "__metadata__.a: expected a string");
  EXPECT_FAULT(parse(R"({"__metadata__": []})", 0), "__metadata__: expected an object");
  EXPECT_FAULT(parse(R"({"w": {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]},
                         "w": {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]}})",
                     0),
               "the key \"w\" occurs twice");
  EXPECT_FAULT(parse("{\"w\":" + std::string(200, '['), 0), "nested deeper");
  EXPECT_FAULT(parse("{\"\xff\": 1}", 0), "not valid JSON");
}

TEST(Safetensors, TypesAndShapes) {
  EXPECT_FAULT(parse(tensor("F17", "[1]", "[0, 1]"), 1), "tensor w: unknown dtype \"F17\"");
  EXPECT_FAULT(parse(tensor("f16", "[1]", "[0, 2]"), 2), "unknown dtype");
  EXPECT_FAULT(parse(tensor("F16", "[-1]", "[0, 2]"), 2), "w.shape[0]: expected an integer from 0");
  EXPECT_FAULT(parse(tensor("F16", "[1.0]", "[0, 2]"), 2), "w.shape[0]: expected an integer");
  EXPECT_FAULT(parse(tensor("F16", "7", "[0, 2]"), 2), "w.shape: expected an array");
  EXPECT_FAULT(parse(tensor("F16", "{\"a\": 1}", "[0, 2]"), 2), "w.shape: expected an array");
  EXPECT_FAULT(parse(tensor("F16", "[9223372036854775808]", "[0, 2]"), 2), "expected an integer");
  EXPECT_FAULT(parse(tensor("U8", "[4294967296, 4294967297]", "[0, 2]"), 2), "overflows 64 bits");
  EXPECT_FAULT(parse(tensor("F64", "[2305843009213693953]", "[0, 8]"), 8), "overflows 64 bits");
  EXPECT_FAULT(parse(tensor("F4", "[3]", "[0, 2]"), 2), "ends inside a byte");
  EXPECT_FAULT(parse(tensor("F16", "[2, 3]", "[0, 11]"), 11),
               "tensor w: F16 of shape [2, 3] needs 12 bytes, data_offsets give 11");
  std::string many = "[1";
  for (int i = 0; i < 100; ++i) many += ", 1";
  EXPECT_FAULT(parse(tensor("U8", many + "]", "[0, 1]"), 1), "rank 101, at most 64");
}

TEST(Safetensors, OffsetsCoverTheBuffer) {
  EXPECT_FAULT(parse(tensor("U8", "[2]", "[2, 0]"), 2), "begins at 2 and ends before it, at 0");
  EXPECT_FAULT(parse(tensor("U8", "[2]", "[0, 2]"), 1), "data ends at 2, the file holds 1 bytes");
  EXPECT_FAULT(parse(tensor("U8", "[2]", "[-2, 0]"), 2), "expected an integer from 0");
  EXPECT_FAULT(parse(tensor("U8", "[2]", "[0]"), 2), "expected two numbers, found 1");
  EXPECT_FAULT(parse(tensor("U8", "[2]", "\"0, 2\""), 2), "expected two numbers");
  EXPECT_FAULT(parse(tensor("U8", "[2]", "[18446744073709551614, 18446744073709551615]"), 2),
               "data ends at 18446744073709551615");
  EXPECT_FAULT(parse(tensor("U8", "[2]", "[1, 3]"), 3), "begins at 1, the one before ends at 0");
  EXPECT_FAULT(parse(tensor("U8", "[2]", "[0, 2]"), 3), "cover 2 bytes of data, the file holds 3");
  EXPECT_FAULT(parse("{}", 1), "cover 0 bytes of data, the file holds 1");
  const auto two = [](const std::string& first, const std::string& second) {
    return R"({"a": {"dtype": "U8", "shape": [2], "data_offsets": )" + first +
           R"(}, "b": {"dtype": "U8", "shape": [2], "data_offsets": )" + second + "}}";
  };
  EXPECT_FAULT(parse(two("[0, 2]", "[1, 3]"), 3),
               "tensor b: data at 1 overlaps data that ends at 2");
  EXPECT_FAULT(parse(two("[0, 2]", "[0, 2]"), 2), "overlaps");
  EXPECT_FAULT(parse(two("[0, 2]", "[3, 5]"), 5), "tensor b: data begins at 3, the one before");
}

TEST(Safetensors, EveryPrefixOfAFileFailsCleanly) {
  const std::string bytes = file_bytes(tensor("F16", "[2]", "[0, 4]"), 4);
  for (size_t length = 0; length < bytes.size(); ++length) {
    fault_of([&] { parse_safetensors(as_byte_span(bytes).first(length), "m.safetensors"); });
  }
}

TEST(Safetensors, EmptyOrMissingFiles) {
  const TempDir dir;
  write_file(dir / "empty.safetensors", "");
  EXPECT_FAULT(SafetensorsFile::open(dir / "empty.safetensors"), "empty.safetensors: 0 bytes");
  EXPECT_FAULT(SafetensorsFile::open(dir / "none.safetensors"), "none.safetensors");
  EXPECT_FAULT(SafetensorsFile::open(dir.path()), "not a regular file");
}

}  // namespace
}  // namespace pippin
