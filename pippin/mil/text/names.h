// The spelling of opsets, func main<ios18>, and dimensions in MIL's text form.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "pippin/mil/text/lexer.h"
#include "pippin/mil/type.h"

namespace pippin::mil {

inline constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kOpsetSpellings{{
    {"CoreML5", "ios15"},
    {"CoreML6", "ios16"},
    {"CoreML7", "ios17"},
    {"CoreML8", "ios18"},
    {"CoreML9", "ios26"},
}};

inline std::string spell_opset(const std::string& opset) {
  for (const auto& [name, spelling] : kOpsetSpellings) {
    if (name == opset) return std::string(spelling);
    if (spelling == opset) return quote(opset);  // in quotes, it is the name itself
  }
  return spell_name(opset);
}

inline std::string opset_of_spelling(std::string spelling) {
  for (const auto& [name, known] : kOpsetSpellings) {
    if (known == spelling) return std::string(name);
  }
  return spelling;
}

}  // namespace pippin::mil
