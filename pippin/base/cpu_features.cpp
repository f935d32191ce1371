#include "pippin/base/cpu_features.h"

#include <cstdlib>

#include "pippin/base/error.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__aarch64__) && defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif
#if defined(__aarch64__) && defined(__APPLE__)
#include <sys/sysctl.h>
#endif

namespace pippin {
#if defined(__x86_64__)
namespace {

// By hand, since clang 14's __builtin_cpu_supports does not know these names.
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
#if defined(__aarch64__) && defined(__APPLE__)
namespace {

// Systems older than a feature do not know its name.
bool has_feature(const char* name) {
  int value = 0;
  size_t size = sizeof(value);
  return ::sysctlbyname(name, &value, &size, nullptr, 0) == 0 && value != 0;
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
  cpu.avx512bf16 = cpu.avx512 && has_extended(5);
#elif defined(__aarch64__)
  cpu.neon = true;
#if defined(__linux__)
  cpu.neondot = (::getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
#if defined(HWCAP2_I8MM)
  cpu.neoni8mm = cpu.neondot && (::getauxval(AT_HWCAP2) & HWCAP2_I8MM) != 0;
#endif
#elif defined(__APPLE__)
  cpu.neondot = true;  // every Apple silicon has it
  cpu.neoni8mm = has_feature("hw.optional.arm.FEAT_I8MM");
#endif
#endif
  return cpu;
}

CpuFeatures limit_cpu(const CpuFeatures& available, std::string_view level) {
  CpuFeatures cpu;
  bool present = true;
  if (level == "native") {
    cpu = available;
  } else if (level == "avx2") {
    present = cpu.avx2 = available.avx2;
  } else if (level == "avx512") {
    cpu.avx2 = available.avx2;
    present = cpu.avx512 = available.avx512;
  } else if (level == "avxvnni") {
    cpu.avx2 = available.avx2;
    present = cpu.avxvnni = available.avxvnni;
  } else if (level == "vnni256") {
    cpu.avx2 = available.avx2;
    cpu.avx512 = available.avx512;
    present = cpu.vnni256 = available.vnni256;
  } else if (level == "avx512vnni") {
    cpu.avx2 = available.avx2;
    cpu.avx512 = available.avx512;
    cpu.vnni256 = available.vnni256;
    present = cpu.avx512vnni = available.avx512vnni;
  } else if (level == "neon") {
    present = cpu.neon = available.neon;
  } else if (level == "neondot") {
    cpu.neon = available.neon;
    present = cpu.neondot = available.neondot;
  } else if (level == "neoni8mm") {
    cpu.neon = available.neon;
    cpu.neondot = available.neondot;
    present = cpu.neoni8mm = available.neoni8mm;
  } else if (level != "scalar") {
    fail(ErrorCode::InvalidArgument,
         "unknown CPU level '{}': native, scalar, avx2, avxvnni, avx512, vnni256, avx512vnni, "
         "neon, neondot or neoni8mm",
         level);
  }
  if (!present) fail(ErrorCode::Unsupported, "this processor has no {}", level);
  return cpu;
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
  const auto add = [&](bool present, const char* name) {
    if (present) text += (text.empty() ? "" : " ") + std::string(name);
  };
  add(cpu.avx512bf16, "avx512bf16");
  add(cpu.avx512vnni, "avx512vnni");
  add(cpu.vnni256, "vnni256");
  add(cpu.avx512, "avx512");
  add(cpu.avxvnni, "avxvnni");
  add(cpu.avx2, "avx2");
  add(cpu.neoni8mm, "neoni8mm");
  add(cpu.neondot, "neondot");
  add(cpu.neon, "neon");
  return text.empty() ? "scalar" : text;
}

}  // namespace pippin
