#include "pippin/base/cpu_features.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/base/platform/cpus.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace pippin {
namespace {

// The features with their names; each follows the one that it builds on.
struct Level {
  std::string_view name;
  bool CpuFeatures::*feature;
  bool CpuFeatures::*below;
};
constexpr Level kLevels[] = {
    {"scalar", &CpuFeatures::scalar, nullptr},
    {"avx2", &CpuFeatures::avx2, &CpuFeatures::scalar},
    {"avxvnni", &CpuFeatures::avxvnni, &CpuFeatures::avx2},
    {"avx512", &CpuFeatures::avx512, &CpuFeatures::avx2},
    {"vnni256", &CpuFeatures::vnni256, &CpuFeatures::avx512},
    {"avx512vnni", &CpuFeatures::avx512vnni, &CpuFeatures::vnni256},
    {"avx512bf16", &CpuFeatures::avx512bf16, &CpuFeatures::avx512vnni},
    {"neon", &CpuFeatures::neon, &CpuFeatures::scalar},
    {"neondot", &CpuFeatures::neondot, &CpuFeatures::neon},
    {"neoni8mm", &CpuFeatures::neoni8mm, &CpuFeatures::neondot},
};

}  // namespace

#if defined(__x86_64__)
namespace {

// Manual, because clang 14's __builtin_cpu_supports does not know these names.
bool has_f16c() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & (1u << 29)) != 0;
}
// CPUID leaf 7, subleaf 1, EAX.
bool has_extended(unsigned bit) {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0 && (eax & (1u << bit)) != 0;
}

}  // namespace
#endif

CpuFeatures detect_cpu() {
  CpuFeatures cpu;
#if defined(__x86_64__)
  __builtin_cpu_init();
  cpu.avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
  cpu.avx512 = cpu.avx2 && __builtin_cpu_supports("avx512f") &&
               __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512vl");
  cpu.avxvnni = cpu.avx2 && has_extended(4);
  cpu.vnni256 = cpu.avx512 && __builtin_cpu_supports("avx512vnni");
  cpu.avx512vnni = cpu.vnni256 && __builtin_cpu_supports("avx512vbmi");
  cpu.avx512bf16 = cpu.avx512vnni && has_extended(5);
#elif defined(__aarch64__)
  const ArmFeatures arm = arm_features();
  cpu.neon = true;
  cpu.neondot = arm.dotprod;
  cpu.neoni8mm = arm.dotprod && arm.i8mm;
#endif
  return cpu;
}

CpuFeatures limit_cpu(const CpuFeatures& available, std::string_view level) {
  if (level == "native") return available;
  const auto* const last = std::find_if(std::begin(kLevels), std::end(kLevels),
                                        [&](const Level& one) { return one.name == level; });
  if (last == std::end(kLevels)) {
    std::string names = "native";
    for (const Level& one : kLevels) names += fmt::format(", {}", one.name);
    fail(ErrorCode::InvalidArgument, "unknown CPU level '{}': it is one of {}", level, names);
  }
  if (!(available.*last->feature)) {
    fail(ErrorCode::Unsupported, "this processor has no {}", level);
  }
  CpuFeatures cpu;
  bool CpuFeatures::*wanted = last->feature;
  for (const auto* one = last; wanted != nullptr; --one) {
    if (one->feature != wanted) continue;
    cpu.*wanted = available.*wanted;
    wanted = one->below;
  }
  return cpu;
}

std::vector<CpuLevel> cpu_levels(const CpuFeatures& available) {
  std::vector<CpuLevel> levels;
  for (const Level& one : kLevels) {
    if (!(available.*one.feature)) continue;
    levels.push_back({std::string(one.name), limit_cpu(available, one.name)});
  }
  return levels;
}

const CpuFeatures& cpu_features() {
  static const CpuFeatures features = [] {
    const char* level = std::getenv("PIPPIN_CPU");
    return limit_cpu(detect_cpu(), level != nullptr && *level != '\0' ? level : "native");
  }();
  return features;
}

std::string to_string(const CpuFeatures& cpu) {
  std::string text;
  for (const Level& one : kLevels) {
    if (one.below == nullptr || !(cpu.*one.feature)) continue;
    text += fmt::format("{}{}", text.empty() ? "" : " ", one.name);
  }
  return text.empty() ? "scalar" : text;
}

}  // namespace pippin
