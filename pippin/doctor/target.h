// The systems that a package is meant for, named after the first version with their Core ML
// formats.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pippin/mil/program.h"

namespace pippin::doctor {

struct Target {
  std::string_view name;  // "ios18"
  bool is_phone;          // iOS and iPadOS
  mil::Opset opset;       // the newest that it supports
  int specification() const { return mil::specification_version(opset); }
};

// ios15 to ios18 and ios26, macos12 to macos15 and macos26.
const std::vector<Target>& targets();
// "ios18", "macos15"; throws InvalidArgument, listing the targets.
const Target& parse_target(std::string_view name);
// "iOS 18 and macOS 15": the first systems that support an opset.
std::string systems_of(mil::Opset opset);

}  // namespace pippin::doctor
