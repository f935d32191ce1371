#include "pippin/io/weight_file.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/files/file.h"
#include "pippin/base/files/output.h"
#include "pippin/base/numbers/ranges.h"
#include "pippin/base/testing.h"
#include "pippin/io/checkpoint.h"
#include "pippin/io/fault_test.h"
#include "pippin/io/npz.h"
#include "pippin/io/torch_file.h"
#include "pippin/io/zip_directory.h"
#include "pippin/io/zip_testing.h"

namespace pippin {
namespace {

std::vector<TensorInfo> parse(const std::string& file) {
  static std::vector<std::unique_ptr<OwnedTensors>> copies;
  copies.push_back(std::make_unique<OwnedTensors>(file.size()));
  return parse_torch_file(as_byte_span(file), "pytorch_model.bin", *copies.back());
}

// {'w': tensor of `shape` and `strides`} over storage "0" of float32.
std::string pickle(const std::string& shape, const std::string& strides, char offset = 0) {
  return std::string(
             "\x80\x02}\x8c\x01wctorch._utils\n_rebuild_tensor_v2\n((\x8c\x07storagectorch\n"
             "FloatStorage\n\x8c\x01") +
         "0\x8c\x03" + "cpuK\x06tQK" + std::string(1, offset) + "(" + shape + "t(" + strides +
         "t\x89NtRs.";
}
std::string archive(const std::string& data_pkl, size_t storage_bytes = 24) {
  return stored_zip({{"m/data.pkl", data_pkl}, {"m/data/0", std::string(storage_bytes, 'x')}});
}

TEST(TorchFile, TensorsAreViewsOfTheirStorages) {
  const std::string file = archive(pickle("K\x02K\x02", "K\x02K\x01", 1));
  const auto tensors = parse(file);
  ASSERT_EQ(tensors.size(), 1u);
  EXPECT_EQ(tensors[0].name, "w");
  EXPECT_EQ(tensors[0].shape, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(as_text(tensors[0].bytes), std::string(16, 'x'));
}

TEST(TorchFile, TransposedTensorsAreCopies) {
  const std::string letters = "aaaabbbbccccddddeeeeffff";
  const std::string file =
      stored_zip({{"m/data.pkl", pickle("K\x02K\x03", "K\x01K\x02")}, {"m/data/0", letters}});
  EXPECT_EQ(as_text(parse(file).at(0).bytes), "aaaacccceeeebbbbddddffff");
}

// A torch.save file from before 1.6: the tensors' pickle names the storages, which follow it.
std::string legacy(const std::string& pickle, const std::string& storages, char order = '\x88') {
  const std::string magic("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", 15);
  const std::string facts = std::string("\x80\x02}q") + '\0' + "(X\x0d" + std::string(3, '\0') +
                            "little_endianq\x01" + order + "u.";
  const std::string keys =
      std::string("\x80\x02]q") + '\0' + "X\x01" + std::string(3, '\0') + "0q\x01" + "a.";
  return magic + "\x80\x02M\xe9\x03." + facts + pickle + keys + storages;
}

TEST(TorchFile, ReadsTheFormatBefore16) {
  const std::string tensors = pickle("K\x02K\x02", "K\x02K\x01", 1);
  const std::string count("\x06\0\0\0\0\0\0\0", 8);
  const std::string file = legacy(tensors, count + "aaaabbbbccccddddeeeeffff");
  const auto read = parse(file);
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(read[0].name, "w");
  EXPECT_EQ(as_text(read[0].bytes), "bbbbccccddddeeee");
  EXPECT_FAULT(parse(legacy(tensors, count + "aaaabbbb")), "pytorch_model.bin: ");
  EXPECT_FAULT(parse(legacy(tensors, std::string("\xff\xff\xff\xff\xff\xff\xff\x7f", 8))),
               "storage 0 has 9223372036854775807 elements");
  EXPECT_FAULT(parse(legacy(tensors, count, '\x89')), "its numbers are not little-endian");
  EXPECT_FAULT(parse(legacy("\x80\x02}.", count)), "storage 0 belongs to no tensor");
  EXPECT_FAULT(parse(legacy(tensors, "").substr(0, 40)), "pytorch_model.bin: ");
}

TEST(TorchFile, Faults) {
  const std::string good = pickle("K\x02K\x03", "K\x03K\x01");
  EXPECT_EQ(parse(archive(good)).size(), 1u);
  EXPECT_FAULT(parse(archive(good, 23)),
               "shape [2, 3] of F32 from element 0 on, the storage has 23");
  EXPECT_FAULT(parse(archive(pickle("K\x02K\x03", "K\x03K\x01", 1))), "the storage has 24 bytes");
  EXPECT_FAULT(parse(archive(pickle("K\x03K\x03", std::string("K\0K\x01", 4)))),
               "shape [3, 3] with strides [0, 1] of 6 elements, which are not all its own");
  EXPECT_FAULT(parse(archive(pickle("K\x02K\x03", "K\x01K\x03"))),
               "shape [2, 3] with strides [1, 3] of 6 elements");
  EXPECT_FAULT(parse(archive(pickle("K\x02K\x03", "K\x01"))), "2 sizes and 1 strides");
  EXPECT_FAULT(parse(archive(pickle("J\xff\xff\xff\xff", "K\x01"))), "a size of -1");
  EXPECT_FAULT(parse(archive(pickle("J\xff\xff\xff\x7fJ\xff\xff\xff\x7fJ\xff\xff\xff\x7f",
                                    "K\x01K\x01K\x01"))),
               "from element 0 on, the storage has 24 bytes");
  EXPECT_FAULT(parse(stored_zip({{"m/data.pkl", good}})), "its storage '0' is missing");
  EXPECT_FAULT(parse(stored_zip({{"m/data.pkl", good}, {"n/data.pkl", good}})), "two entries");
  EXPECT_FAULT(parse(stored_zip({{"m/other", good}})), "a zip archive without data.pkl");
  EXPECT_FAULT(parse(stored_zip({{"m/data.pkl", good}}, 8)), "is compressed");
  EXPECT_FAULT(parse(stored_zip({{"m/data.pkl", good}, {"m/byteorder", "big"}})),
               "not little-endian");
  EXPECT_FAULT(parse(std::string("\x80\x02}q\0.", 6)), "the format of PyTorch before 0.2");
  EXPECT_FAULT(parse("hello"), "not a file of PyTorch's torch.save");
}

TEST(ZipDirectory, TruncatedAndLyingArchives) {
  const std::string good = archive(pickle("K\x02K\x03", "K\x03K\x01"));
  for (size_t size = 0; size < good.size(); ++size) {
    SCOPED_TRACE(size);
    EXPECT_ERROR(parse(good.substr(0, size)), ErrorCode::InvalidFile, "pytorch_model.bin: not a");
  }
  // Sets each byte of the directory's numbers to 255 and to 0: expects an error or the right
  // result.
  const size_t directory = good.find("PK\x01\x02");
  for (size_t i = directory; i < good.size(); ++i) {
    for (const char value : {'\xff', '\0'}) {
      std::string bad = good;
      bad[i] = value;
      try {
        parse(bad);
      } catch (const Error&) {
      }
    }
  }
}

// One set of weights as safetensors, torch.save and NumPy files gives identical bytes.
TEST(WeightFile, AllFormatsOfOneModelAgree) {
  PIPPIN_SHARED_OR_SKIP(folder, "architectures/llama_bin_npz");
  const Checkpoint expected = Checkpoint::open(folder / "model.safetensors");
  for (const char* name : {"pytorch_model.bin", "weights.npz"}) {
    const TempDir dir;
    std::filesystem::copy_file(folder / name, dir / name);
    const Checkpoint checkpoint = Checkpoint::open(dir.path());
    EXPECT_EQ(checkpoint.names(), expected.names());
    for (const std::string& tensor : expected.names()) {
      const TensorInfo &want = expected.at(tensor), &have = checkpoint.at(tensor);
      EXPECT_EQ(have.dtype, want.dtype) << tensor;
      EXPECT_EQ(have.shape, want.shape) << tensor;
      EXPECT_TRUE(ranges::equal(have.bytes, want.bytes)) << tensor;
      checkpoint.file_of(tensor).release(have);
      EXPECT_TRUE(ranges::equal(have.bytes, want.bytes)) << tensor;
    }
  }
}

TEST(WeightFile, ShardsOfBinFilesWithAnIndex) {
  PIPPIN_SHARED_OR_SKIP(folder, "architectures/llama_bin_npz");
  const TempDir dir;
  std::filesystem::copy_file(folder / "pytorch_model.bin", dir / "pytorch_model-00001.bin");
  write_file(dir / "pytorch_model-00002.bin", archive(pickle("K\x06", "K\x01")));
  write_file(dir / "pytorch_model.bin.index.json",
             R"({"weight_map": {"model.norm.weight": "pytorch_model-00001.bin",
                                "w": "pytorch_model-00002.bin"}})");
  EXPECT_EQ(Checkpoint::open(dir.path()).at("w").shape, (std::vector<int64_t>{6}));
}

TEST(WeightFile, NpzArraysOfOtherForms) {
  const TempDir dir;
  const std::vector<double> values = {1, 2, 3};
  write_npz(dir / "weights.npz", {{"d", NpyArray::from(std::span<const double>(values), {3})}});
  EXPECT_EQ(Checkpoint::open(dir.path()).at("d").dtype, Dtype::F64);
  // MLX's bfloat16, and a transposed matrix, which is converted to row-major order.
  const auto npy = [](const std::string& header, const std::string& data) {
    std::string file = "\x93NUMPY\x01";
    file += '\0';
    append_number<uint16_t>(file, header.size());
    return file + header + data;
  };
  write_file(dir / "weights.npz",
             stored_zip({{"b.npy", npy("{'descr': '|V2', 'fortran_order': False, 'shape': (2,), }",
                                       "abcd")}}));
  EXPECT_EQ(Checkpoint::open(dir.path()).at("b").dtype, Dtype::BF16);
  write_file(dir / "weights.npz",
             stored_zip({{"b.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }",
                                       "abcd")}}));
  EXPECT_FAULT(Checkpoint::open(dir.path()), "shape (2) of F32 does not take the 4 bytes");
  write_file(dir / "weights.npz",
             stored_zip({{"b.npy", npy("{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }",
                                       "abcdefgh")}}));
  EXPECT_FAULT(Checkpoint::open(dir.path()), "NumPy type '<c8' is not read");
}

TEST(WeightFile, UnknownEndings) {
  const TempDir dir;
  write_file(dir / "model.ggml", "GGUF");
  EXPECT_FAULT(Checkpoint::open(dir / "model.ggml"), "weights are read from .safetensors, .bin");
  write_file(dir / "model.gguf", "GGUF");
  EXPECT_FAULT(Checkpoint::open(dir / "model.gguf"), "4 bytes needed at offset 4, 0 left");
}

}  // namespace
}  // namespace pippin
