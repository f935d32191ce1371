#include "pippin/doctor/target.h"

#include <fmt/format.h>

#include "pippin/base/error.h"

namespace pippin::doctor {

const std::vector<Target>& targets() {
  using mil::Opset;
  static const std::vector<Target> all = {
      {"ios15", true, Opset::CoreML5},    {"ios16", true, Opset::CoreML6},
      {"ios17", true, Opset::CoreML7},    {"ios18", true, Opset::CoreML8},
      {"ios26", true, Opset::CoreML9},    {"macos12", false, Opset::CoreML5},
      {"macos13", false, Opset::CoreML6}, {"macos14", false, Opset::CoreML7},
      {"macos15", false, Opset::CoreML8}, {"macos26", false, Opset::CoreML9},
  };
  return all;
}

const Target& parse_target(std::string_view name) {
  std::string known;
  for (const Target& target : targets()) {
    if (target.name == name) return target;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", target.name);
  }
  fail(ErrorCode::InvalidArgument, "target \"{}\": there are {}", name, known);
}

std::string systems_of(mil::Opset opset) {
  std::string ios, macos;
  for (const Target& target : targets()) {
    if (target.opset != opset) continue;
    if (target.is_phone) ios = target.name.substr(3);
    if (!target.is_phone) macos = target.name.substr(5);
  }
  return fmt::format("iOS {} and macOS {}", ios, macos);
}

}  // namespace pippin::doctor
