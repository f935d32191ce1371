// What the processor can do, as data: kernel choosers take it as an argument, so that a test or
// PIPPIN_CPU=avx2 can force any path that the machine has.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pippin/base/export.h"

namespace pippin {

struct CpuFeatures {
  bool scalar = true;       // what every processor can do
  bool avx2 = false;        // AVX2, FMA and F16C
  bool avxvnni = false;     // and AVX-VNNI: VNNI on 256 bits without AVX-512
  bool vnni256 = false;     // avx512 and VNNI, used on 256 bits; needs no VBMI
  bool avx512 = false;      // F, BW, DQ, VL
  bool avx512vnni = false;  // and VNNI, VBMI
  bool neon = false;        // with fp16 conversion: every AArch64
  bool neondot = false;     // and sdot (FEAT_DotProd)
  bool neoni8mm = false;    // and smmla (FEAT_I8MM)
};

// What this machine has (and its system saves across task switches).
PIPPIN_API CpuFeatures detect_cpu();

// The features of `available` that a level allows: the one of that name and those that it builds
// on; all of them for "native". Throws InvalidArgument for an unknown level, Unsupported for one
// that the machine lacks.
PIPPIN_API CpuFeatures limit_cpu(const CpuFeatures& available, std::string_view level);

struct CpuLevel {
  std::string name;
  CpuFeatures cpu;
};
// The levels that `available` has, "scalar" first; tests run on each.
PIPPIN_API std::vector<CpuLevel> cpu_levels(const CpuFeatures& available);

// detect_cpu(), limited by the environment variable PIPPIN_CPU if it is set; computed once.
PIPPIN_API const CpuFeatures& cpu_features();

// "avx2 avx512 vnni256 avx512vnni" for logs and benchmarks.
PIPPIN_API std::string to_string(const CpuFeatures& features);

}  // namespace pippin
