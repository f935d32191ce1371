// The values of a GGUF's metadata by key, as what they have to be.
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
  // Both live as long as this. Of equal keys the first counts.
  GgufMetadata(const GgufContent& content, const std::string& name)
      : content_(content), name_(name) {}

  const GgufValue* find(std::string_view key) const;  // nullptr where there is none
  // Nothing where the key is absent; each throws InvalidFile, naming the key, for a value of
  // another kind: integers of any width (not negative), numbers, bools, texts, arrays of them.
  std::optional<int64_t> size(std::string_view key) const;
  std::optional<double> number(std::string_view key) const;
  std::optional<bool> flag(std::string_view key) const;
  std::optional<std::string> text(std::string_view key) const;
  std::vector<std::string_view> texts(std::string_view key) const;
  std::vector<double> numbers(std::string_view key) const;
  std::string bytes(std::string_view key) const;  // an array of them; empty where there is none
  bool is_array(std::string_view key) const;

  const GgufTensor* tensor(std::string_view name) const;  // nullptr where there is none
  // The elements of a small tensor of F32.
  std::vector<double> tensor_numbers(std::string_view name) const;

  // A number of that key as what size() gives.
  int64_t checked_size(std::string_view key, double number) const;

  [[noreturn]] void invalid(std::string_view key, std::string_view what) const;
  [[noreturn]] void unsupported(std::string_view key, std::string_view what) const;

 private:
  double element(std::string_view key, const GgufValue& value, size_t index) const;

  const GgufContent& content_;
  const std::string& name_;
};

}  // namespace pippin
