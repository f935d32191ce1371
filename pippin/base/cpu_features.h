// The features of the processor as data. Kernel selection takes them as an argument, so that a test
// or PIPPIN_CPU=avx2 can force any path that the machine supports.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pippin/base/export.h"

namespace pippin {

// Instruction sets, as levels of which each includes those that it builds on.
struct CpuFeatures {
  bool scalar = true;       // every processor
  bool avx2 = false;        // AVX2, FMA and F16C
  bool avxvnni = false;     // also AVX-VNNI: VNNI on 256 bits without AVX-512
  bool vnni256 = false;     // avx512 and VNNI, on 256-bit vectors; does not need VBMI
  bool avx512 = false;      // F, BW, DQ, VL
  bool avx512vnni = false;  // also VNNI, VBMI
  bool avx512bf16 = false;  // also BF16: products of pairs of bf16
  bool neon = false;        // with fp16 conversion; every AArch64
  bool neondot = false;     // also sdot (FEAT_DotProd)
  bool neoni8mm = false;    // also smmla (FEAT_I8MM)
};

// Returns the features of this machine (that its system saves across task switches).
PIPPIN_API CpuFeatures detect_cpu();

// Returns the features of `available` that a level allows: its own feature and those that it builds
// on; all of them for "native". Throws InvalidArgument for an unknown level, Unsupported if the
// machine lacks it.
PIPPIN_API CpuFeatures limit_cpu(const CpuFeatures& available, std::string_view level);

// A named level of features, as in PIPPIN_CPU.
struct CpuLevel {
  std::string name;  // "avx2", for example
  CpuFeatures cpu;   // its features and those that it builds on
};
// Returns the levels in `available`, starting with "scalar"; tests run on each.
PIPPIN_API std::vector<CpuLevel> cpu_levels(const CpuFeatures& available);

// Returns detect_cpu(), limited by the environment variable PIPPIN_CPU if it is set; computed once.
// Throws as limit_cpu().
PIPPIN_API const CpuFeatures& cpu_features();

// Returns "avx2 avx512 vnni256 avx512vnni", for logs and benchmarks.
PIPPIN_API std::string to_string(const CpuFeatures& features);

}  // namespace pippin
