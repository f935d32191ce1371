#include "pippin/mil/ops/einsum.h"

#include <algorithm>

#include "pippin/base/error.h"

namespace pippin::mil {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

}  // namespace

Einsum::Role Einsum::role(size_t operand, size_t axis) const {
  const char letter = operands[operand].at(axis);
  const bool in_other = operands[1 - operand].find(letter) != std::string::npos;
  const bool in_result = result.find(letter) != std::string::npos;
  if (in_result) return in_other ? Role::Batch : Role::Own;
  return in_other ? Role::Summed : Role::Alone;
}

std::string Einsum::renamed() const {
  std::string seen, text;
  for (const char c : operands[0] + "," + operands[1] + "->" + result) {
    if (is_letter(c) && seen.find(c) == std::string::npos) seen += c;
    text += is_letter(c) ? static_cast<char>('a' + seen.find(c)) : c;
  }
  return text;
}

Einsum parse_einsum(std::string_view equation) {
  std::string text(equation);
  std::erase(text, ' ');
  const size_t comma = text.find(','), arrow = text.find("->");
  if (comma == std::string::npos || arrow == std::string::npos || comma > arrow) {
    fail(ErrorCode::InvalidFile, "equation \"{}\" is not of the form ab,bc->ac", text);
  }
  Einsum einsum{{text.substr(0, comma), text.substr(comma + 1, arrow - comma - 1)},
                text.substr(arrow + 2)};
  const std::string given = einsum.operands[0] + einsum.operands[1];
  for (const char letter : given + einsum.result) {
    if (!is_letter(letter)) {
      fail(ErrorCode::InvalidFile, "equation \"{}\": '{}' is not a letter", text, letter);
    }
  }
  for (const char letter : einsum.result) {
    if (given.find(letter) == std::string::npos) {
      fail(ErrorCode::InvalidFile, "equation \"{}\": no operand has the '{}' of the result", text,
           letter);
    }
    if (std::count(einsum.result.begin(), einsum.result.end(), letter) != 1) {
      fail(ErrorCode::InvalidFile, "equation \"{}\": '{}' is twice in the result", text, letter);
    }
  }
  return einsum;
}

}  // namespace pippin::mil
