#include <algorithm>
#include <cctype>

#include "pippin/base/error.h"
#include "pippin/mx/loops/einsum_path.h"

namespace pippin::mx {
namespace {

constexpr std::string_view kEllipsis = "...";

std::vector<std::string> split_inputs(const std::string& text) {
  std::vector<std::string> inputs(1);
  for (const char c : text) {
    if (c == ',') {
      inputs.emplace_back();
    } else {
      inputs.back() += c;
    }
  }
  return inputs;
}

// Without an arrow: the ellipsis, then every label that occurs once, in alphabetical order.
std::string implied_output(const std::string& inputs) {
  std::map<char, int> counts;
  for (const char c : inputs) {
    if (c != ',' && c != '.') ++counts[c];
  }
  std::string output = inputs.find('.') != std::string::npos ? std::string(kEllipsis) : "";
  for (const auto& [label, count] : counts) {
    if (count == 1) output += label;
  }
  return output;
}

void check_letters(const char* op, const std::string& term) {
  const size_t dots = term.find(kEllipsis);
  std::string letters = term;
  if (dots != std::string::npos) letters.erase(dots, kEllipsis.size());
  for (const char c : letters) {
    if (std::isalpha(static_cast<unsigned char>(c)) == 0) {
      fail(ErrorCode::InvalidArgument,
           "[{}] Subscripts are letters and at most one ellipsis, not '{}'.", op, term);
    }
  }
}

}  // namespace

Subscripts parse_subscripts(const char* op, const std::string& text,
                            const std::vector<array>& operands) {
  if (operands.empty()) fail(ErrorCode::InvalidArgument, "[{}] No operands are given.", op);
  std::string plain;
  std::copy_if(text.begin(), text.end(), std::back_inserter(plain),
               [](char c) { return c != ' '; });
  const size_t arrow = plain.find("->");
  const std::string left = plain.substr(0, arrow);
  Subscripts result;
  result.inputs = split_inputs(left);
  result.output = arrow == std::string::npos ? implied_output(left) : plain.substr(arrow + 2);
  if (result.inputs.size() != operands.size()) {
    fail(ErrorCode::InvalidArgument, "[{}] {} operands for {} subscripts.", op, operands.size(),
         result.inputs.size());
  }
  // Labels for the axes of ellipses: characters that are not letters.
  size_t most = 0;
  const auto expand = [](std::string& term, size_t count) {
    const size_t dots = term.find(kEllipsis);
    if (dots == std::string::npos) return;
    std::string labels;
    for (size_t i = count; i-- > 0;) labels += static_cast<char>(1 + i);
    term.replace(dots, kEllipsis.size(), labels);
  };
  for (size_t i = 0; i < operands.size(); ++i) {
    std::string& term = result.inputs[i];
    check_letters(op, term);
    const bool has_ellipsis = term.find(kEllipsis) != std::string::npos;
    const size_t letters = term.size() - (has_ellipsis ? kEllipsis.size() : 0);
    if (letters > operands[i].ndim() || (!has_ellipsis && letters != operands[i].ndim())) {
      fail(ErrorCode::InvalidArgument, "[{}] Subscripts '{}' for operand {} of shape {}.", op, term,
           i, to_string(operands[i].shape()));
    }
    most = std::max(most, operands[i].ndim() - letters);
    expand(term, operands[i].ndim() - letters);
  }
  check_letters(op, result.output);
  expand(result.output, most);
  for (size_t i = 0; i < operands.size(); ++i) {
    const std::string& term = result.inputs[i];
    for (size_t axis = 0; axis < term.size(); ++axis) {
      const int64_t size = operands[i].shape()[axis];
      if (operands[i].shape()[term.find(term[axis])] != size) {
        fail(ErrorCode::InvalidArgument, "[{}] A repeated subscript of sizes {} and {}.", op,
             operands[i].shape()[term.find(term[axis])], size);
      }
      const auto [place, is_new] = result.sizes.emplace(term[axis], size);
      if (is_new || place->second == size || size == 1) continue;
      if (place->second != 1) {
        fail(ErrorCode::InvalidArgument,
             "[{}] Axis {} of operand {} of shape {} does not broadcast to size {}.", op, axis, i,
             to_string(operands[i].shape()), place->second);
      }
      place->second = size;
    }
  }
  for (size_t i = 0; i < result.output.size(); ++i) {
    const char label = result.output[i];
    if (result.output.find(label) != i) {
      fail(ErrorCode::InvalidArgument, "[{}] A subscript stands twice in the output.", op);
    }
    if (result.sizes.find(label) == result.sizes.end()) {
      fail(ErrorCode::InvalidArgument, "[{}] The output's '{}' stands in no operand.", op, label);
    }
  }
  return result;
}

}  // namespace pippin::mx
