// Lower case of ASCII letters; other bytes stay as they are.
#pragma once

#include <algorithm>
#include <string>

namespace pippin {

inline std::string to_lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return text;
}

}  // namespace pippin
