#include "pippin/mx/io/io.h"

#include <cstring>
#include <fstream>

#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/mx/mx_testing.h"

namespace pippin::mx {
namespace {

bool same(const array& a, const array& b) {
  if (a.dtype() != b.dtype() || !(a.shape() == b.shape())) return false;
  std::vector<std::byte> x(a.nbytes()), y(b.nbytes());
  a.read(x.data(), a.dtype());
  b.read(y.data(), b.dtype());
  return x == y;
}

ArrayMap every_type() {
  ArrayMap arrays;
  for (const Dtype dtype : kComputed) {
    arrays.emplace_back(std::string(to_string(dtype)), ugly({2, 3}, dtype, 1));
  }
  arrays.emplace_back("turned", transpose(normal_array({3, 4}, float32, 2)));
  arrays.emplace_back("number", array(7));
  arrays.emplace_back("empty", zeros({0, 2}));
  return arrays;
}

void expect_all(const ArrayMap& found, const ArrayMap& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (const auto& [name, value] : expected) {
    bool is_there = false;
    for (const auto& [other, its] : found) {
      if (other != name) continue;
      is_there = true;
      EXPECT_TRUE(same(its, value)) << name;
    }
    EXPECT_TRUE(is_there) << name;
  }
}

TEST(Files, GiveBackWhatWasSaved) {
  const TempDir folder;
  const ArrayMap arrays = every_type();
  for (const auto& [name, value] : arrays) {
    save_npy(folder.path() / "x.npy", value);
    EXPECT_TRUE(same(load_npy(folder.path() / "x.npy"), value)) << name;
    EXPECT_TRUE(same(parse_npy(format_npy(value), "x"), value)) << name;
  }
  for (const bool compressed : {false, true}) {
    save_npz(folder.path() / "x.npz", arrays, compressed);
    expect_all(load_npz(folder.path() / "x.npz"), arrays);
  }
  save_safetensors(folder.path() / "x.safetensors", arrays, {{"who", "me"}});
  const auto [tensors, metadata] = load_safetensors(folder.path() / "x.safetensors");
  expect_all(tensors, arrays);
  EXPECT_EQ(metadata.at("who"), "me");
  const array complex(std::vector<complex64_t>{{1, 2}, {3, -4}}, {2});
  save_npy(folder.path() / "c.npy", complex);
  EXPECT_TRUE(same(load_npy(folder.path() / "c.npy"), complex));
}

TEST(Files, OfAFolderAreOneCheckpoint) {
  const TempDir folder;
  const ArrayMap first = {{"a", normal_array({2, 3}, float16, 1)}},
                 second = {{"b", normal_array({4}, bfloat16, 2)}};
  save_safetensors(folder.path() / "model-1.safetensors", first);
  save_safetensors(folder.path() / "model-2.safetensors", second);
  write_file(folder.path() / "model.safetensors.index.json",
             R"({"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}})");
  const ArrayMap both = {first[0], second[0]};
  expect_all(load_checkpoint(folder.path()), both);
  expect_all(load_checkpoint(folder.path() / "model-2.safetensors"), second);
  save_npz(folder.path() / "w.npz", both);
  expect_all(load_checkpoint(folder.path() / "w.npz"), both);
  EXPECT_ERROR(load_checkpoint(folder.path() / "none"), ErrorCode::NotFound, "none");
  const TempDir empty;
  EXPECT_ERROR(load_checkpoint(empty.path()), ErrorCode::NotFound, "no weights");
}

TEST(Files, StayMappedUntilTheyAreChanged) {
  const TempDir folder;
  save_safetensors(folder.path() / "x.safetensors", {{"w", ones({4})}});
  array w = load_safetensors(folder.path() / "x.safetensors").first[0].second;
  w = add(w, array(1.0f));
  EXPECT_EQ(w.to_vector<float>(), std::vector<float>(4, 2));
  EXPECT_EQ(load_safetensors(folder.path() / "x.safetensors").first[0].second.to_vector<float>(),
            std::vector<float>(4, 1));
}

TEST(Files, SayWhatIsWrong) {
  const TempDir folder;
  EXPECT_ERROR(load_npy(folder.path() / "none.npy"), ErrorCode::NotFound, "none.npy");
  write_file(folder.path() / "bad.npz", "not an archive, whatever its name");
  EXPECT_ERROR(load_npz(folder.path() / "bad.npz"), ErrorCode::InvalidFile, "bad.npz");
  write_file(folder.path() / "bad.gguf", "GGUF");
  EXPECT_ERROR(load_gguf(folder.path() / "bad.gguf"), ErrorCode::InvalidFile, "bad.gguf");
}

// A GGUF file with one metadata pair and these tensors.
struct Gguf {
  std::string head = "GGUF", data;
  template <typename T>
  void put(T value) {
    head.append(reinterpret_cast<const char*>(&value), sizeof(T));
  }
  void text(const std::string& value) {
    put(uint64_t{value.size()});
    head += value;
  }
  void tensor(const std::string& name, const std::vector<uint64_t>& sizes, uint32_t type,
              const std::string& bytes) {
    text(name);
    put(static_cast<uint32_t>(sizes.size()));
    for (const uint64_t size : sizes) put(size);
    put(type);
    put(uint64_t{data.size()});
    data += bytes;
    data.resize((data.size() + 31) / 32 * 32);
  }
};

TEST(Files, ReadGguf) {
  Gguf file;
  file.put(uint32_t{3});
  file.put(uint64_t{3});
  file.put(uint64_t{1});
  file.text("name");
  file.put(uint32_t{8});
  file.text("tiny");
  const float plain[] = {1, 2, 3, 4, 5, 6};
  file.tensor("plain", {3, 2}, 0, std::string(reinterpret_cast<const char*>(plain), 24));
  std::string q4(18, '\0'), q8(34, '\0');
  const uint16_t half = to_float16(0.5f).bits;
  std::memcpy(q4.data(), &half, 2);
  std::memcpy(q8.data(), &half, 2);
  for (int i = 0; i < 16; ++i)
    q4[static_cast<size_t>(2 + i)] = static_cast<char>(i | (15 - i) << 4);
  for (int i = 0; i < 32; ++i) q8[static_cast<size_t>(2 + i)] = static_cast<char>(i - 16);
  file.tensor("a.weight", {32, 1}, 2, q4);
  file.tensor("b.weight", {32, 1}, 8, q8);
  file.head.resize((file.head.size() + 31) / 32 * 32);
  const TempDir folder;
  write_file(folder.path() / "x.gguf", file.head + file.data);
  const auto [arrays, metadata] = load_gguf(folder.path() / "x.gguf");
  EXPECT_EQ(std::get<std::string>(metadata[0].second), "tiny");
  std::map<std::string, array> by_name(arrays.begin(), arrays.end());
  EXPECT_EQ(by_name.at("plain").shape(), Shape({2, 3}));
  EXPECT_EQ(by_name.at("plain").to_vector<float>()[5], 6);
  const auto values = [&](const std::string& stem, int bits) {
    return dequantize(by_name.at(stem + ".weight"), by_name.at(stem + ".scales"),
                      by_name.at(stem + ".biases"), 32, bits)
        .to_vector<float>();
  };
  const std::vector<float> a = values("a", 4), b = values("b", 8);
  for (size_t i = 0; i < 32; ++i) {
    const int code = i < 16 ? static_cast<int>(i) : 15 - (static_cast<int>(i) - 16);
    EXPECT_EQ(a[i], 0.5f * static_cast<float>(code - 8));
    EXPECT_EQ(b[i], 0.5f * (static_cast<float>(i) - 16));
  }
}

}  // namespace
}  // namespace pippin::mx
