// Definitions shared by the kernel families.
//
// A kernel is a pure noexcept function on raw memory: it allocates nothing, checks nothing and is
// independent of models. Each family is a folder: kernels.inc lists its kernels, best first;
// <family>.h declares them and a chooser; one file per instruction set holds the code; the scalar
// version always exists and is the reference for tests of the others.
// To add a kernel: write it in the file of its instruction set and add its line to kernels.inc; the
// chooser, the test and the benchmark find it there.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pippin/base/cpu_features.h"
#include "pippin/base/log.h"

namespace pippin::kernels {

// The CpuFeatures flag that a kernel requires.
using Needs = bool CpuFeatures::*;

// A line of kernels.inc: a table of the family's functions for one instruction set.
template <class Kernels>
struct Listed {
  const Kernels* kernels;
  Needs needs;
};

// The tables of a family's list that `cpu` can run, best first.
template <class Kernels>
std::vector<const Kernels*> runnable(std::span<const Listed<Kernels>> list,
                                     const CpuFeatures& cpu) {
  std::vector<const Kernels*> result;
  for (const auto& [kernels, needs] : list) {
    if (cpu.*needs) result.push_back(kernels);
  }
  return result;
}

// Returns the first of them; the last line of a list is scalar code, which runs on every processor.
// Does not allocate: steps choose kernels while running.
template <class Kernels>
const Kernels& choose(const char* family, std::span<const Listed<Kernels>> list,
                      const CpuFeatures& cpu) {
  const Kernels* best = list.back().kernels;
  for (size_t i = list.size(); i-- > 0;) {
    if (cpu.*list[i].needs) best = list[i].kernels;
  }
  log_choice(family, best->name);
  return *best;
}

}  // namespace pippin::kernels
