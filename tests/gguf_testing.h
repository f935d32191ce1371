// Builds a GGUF file piece by piece.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/base/files/output.h"

namespace pippin::testing_gguf {

class GgufFile {
 public:
  GgufFile& text(const std::string& key, const std::string& value) {
    name(key, 8);
    put_text(pairs_, value);
    return *this;
  }
  GgufFile& number(const std::string& key, uint32_t value) {
    name(key, 4);
    put(pairs_, value);
    return *this;
  }
  GgufFile& real(const std::string& key, float value) {
    name(key, 6);
    put(pairs_, value);
    return *this;
  }
  GgufFile& flag(const std::string& key, bool value) {
    name(key, 7);
    put(pairs_, uint8_t{value});
    return *this;
  }
  GgufFile& texts(const std::string& key, const std::vector<std::string>& values) {
    array(key, 8, values.size());
    for (const std::string& value : values) put_text(pairs_, value);
    return *this;
  }
  GgufFile& reals(const std::string& key, const std::vector<float>& values) {
    array(key, 6, values.size());
    for (const float value : values) put(pairs_, value);
    return *this;
  }
  GgufFile& numbers(const std::string& key, const std::vector<uint32_t>& values) {
    array(key, 4, values.size());
    for (const uint32_t value : values) put(pairs_, value);
    return *this;
  }
  GgufFile& flags(const std::string& key, const std::vector<bool>& values) {
    array(key, 7, values.size());
    for (const bool value : values) put(pairs_, uint8_t{value});
    return *this;
  }
  GgufFile& bytes(const std::string& key, std::string_view values) {
    array(key, 0, values.size());
    pairs_ += values;
    return *this;
  }
  // `shape` has the slowest axis first; `type` is ggml's number, by default F32.
  GgufFile& tensor(const std::string& tensor_name, const std::vector<int64_t>& shape,
                   std::string_view data, uint32_t type = 0) {
    put_text(tensors_, tensor_name);
    put(tensors_, static_cast<uint32_t>(shape.size()));
    for (size_t i = shape.size(); i-- > 0;) put(tensors_, static_cast<uint64_t>(shape[i]));
    put(tensors_, type);
    put(tensors_, uint64_t{data_.size()});
    data_ += data;
    fill(data_);
    ++tensor_count_;
    return *this;
  }
  GgufFile& matrix(const std::string& tensor_name) {
    return tensor(tensor_name, {2, 4}, std::string(32, '\0'));
  }
  std::string all() const {
    std::string file = "GGUF";
    put(file, uint32_t{3});
    put(file, tensor_count_);
    put(file, pair_count_);
    file += pairs_ + tensors_;
    fill(file);
    return file + data_;
  }
  void write(const std::filesystem::path& path) const { write_file(path, all()); }

 private:
  template <typename T>
  static void put(std::string& out, T value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  static void put_text(std::string& out, const std::string& value) {
    put(out, uint64_t{value.size()});
    out += value;
  }
  static void fill(std::string& out) { out.resize((out.size() + 31) / 32 * 32); }
  void name(const std::string& key, uint32_t type) {
    put_text(pairs_, key);
    put(pairs_, type);
    ++pair_count_;
  }
  void array(const std::string& key, uint32_t type, size_t count) {
    name(key, 9);
    put(pairs_, type);
    put(pairs_, uint64_t{count});
  }

  std::string pairs_, tensors_, data_;
  uint64_t pair_count_ = 0, tensor_count_ = 0;
};

}  // namespace pippin::testing_gguf
