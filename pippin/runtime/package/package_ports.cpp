#include "pippin/runtime/package/package_ports.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/base/error.h"

namespace pippin::runtime {
namespace {

std::string shape_text(const std::vector<int64_t>& shape) {
  std::vector<std::string> sizes;
  sizes.reserve(shape.size());
  for (const int64_t size : shape) {
    sizes.push_back(size == kAnySize ? std::string("n") : fmt::to_string(size));
  }
  return fmt::format("[{}]", fmt::join(sizes, ", "));
}

void check_shape(const FixedPart& part, const char* name, const std::vector<int64_t>& found,
                 const std::vector<int64_t>& expected) {
  const bool fits = std::equal(found.begin(), found.end(), expected.begin(), expected.end(),
                               [](int64_t size, int64_t wanted) {
                                 return size > 0 && (wanted == kAnySize || size == wanted);
                               });
  if (fits) return;
  fail(ErrorCode::InvalidFile, "{}: '{}' has the shape {}; {} is expected", part.name(), name,
       shape_text(found), shape_text(expected));
}

void check_type(const FixedPart& part, const char* name, mil::DataType type, bool is_float) {
  if (mil::is_float(type) == is_float) return;
  fail(ErrorCode::InvalidFile, "{}: '{}' has elements of type {}; {} are expected", part.name(),
       name, mil::to_string(type), is_float ? "floats" : "integers");
}

}  // namespace

std::vector<int64_t> input_shape(const FixedPart& part, const char* name, bool is_float,
                                 const std::vector<int64_t>& expected) {
  const mil::Feature& feature = part.description().inputs[part.input_port(name)];
  check_type(part, name, feature.data_type, is_float);
  check_shape(part, name, feature.shape, expected);
  return feature.shape;
}

std::vector<int64_t> output_shape(const FixedPart& part, const char* name,
                                  const std::vector<int64_t>& expected) {
  const size_t port = part.output_port(name);
  check_type(part, name, part.execution().plan().outputs()[port].declared, /*is_float=*/true);
  std::vector<int64_t> shape = part.execution().output_shape(port);
  check_shape(part, name, shape, expected);
  return shape;
}

bool has_output(const FixedPart& part, const char* name) {
  const auto& outputs = part.description().outputs;
  return std::any_of(outputs.begin(), outputs.end(),
                     [&](const mil::Feature& output) { return output.name == name; });
}

void check_known_inputs(const FixedPart& part, std::span<const char* const> known) {
  for (const mil::Feature& input : part.description().inputs) {
    const bool is_known = std::any_of(known.begin(), known.end(),
                                      [&](std::string_view name) { return name == input.name; });
    if (is_known) continue;
    fail(ErrorCode::Unsupported, "{}: takes '{}'; the known inputs of such a package: {}",
         part.name(), input.name, fmt::join(known, ", "));
  }
  if (!part.description().states.empty()) {
    fail(ErrorCode::Unsupported, "{}: has the state '{}'; such packages have none", part.name(),
         part.description().states.front().name);
  }
}

void give_input(FixedPart& part, size_t port, std::span<const float> values) {
  if (part.execution().lend_input(port, std::as_bytes(values))) return;
  std::copy(values.begin(), values.end(), part.input(port).begin());
}

}  // namespace pippin::runtime
