// Typed access to the metadata of a GGUF by key.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/io/gguf.h"

namespace pippin {

class GgufMetadata {
 public:
  // `content` and `name` must outlive this object. The first of equal keys counts.
  GgufMetadata(const GgufContent& content, const std::string& name)
      : content_(content), name_(name) {}

  const GgufValue* find(std::string_view key) const;  // nullptr if missing
  // Return nothing if the key is missing. Each throws InvalidFile, naming the key, for a value of
  // another kind. Integers may have any width, and must not be negative.
  std::optional<int64_t> size(std::string_view key) const;
  std::optional<double> number(std::string_view key) const;
  std::optional<bool> flag(std::string_view key) const;
  std::optional<std::string> text(std::string_view key) const;
  std::vector<std::string_view> texts(std::string_view key) const;
  std::vector<double> numbers(std::string_view key) const;
  std::string bytes(std::string_view key) const;  // an array of bytes; empty if missing
  bool is_array(std::string_view key) const;
  // The value as JSON: a text, a number, true or false, or an array of those.
  std::optional<std::string> json(std::string_view key) const;

  const std::vector<GgufTensor>& tensors() const { return content_.tensors; }
  const GgufTensor* tensor(std::string_view name) const;  // nullptr if missing
  // Returns the elements of a small F32 tensor.
  std::vector<double> tensor_numbers(std::string_view name) const;

  // Converts a number of that key to a size, with the checks of size().
  int64_t checked_size(std::string_view key, double number) const;

  const std::string& name() const { return name_; }
  [[noreturn]] void invalid(std::string_view key, std::string_view what) const;
  [[noreturn]] void unsupported(std::string_view key, std::string_view what) const;

 private:
  double element(std::string_view key, const GgufValue& value, size_t index) const;

  const GgufContent& content_;
  const std::string& name_;
};

}  // namespace pippin
