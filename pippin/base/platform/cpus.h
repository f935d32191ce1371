// The processor's cores: which of them this process may use, and where a thread runs; features of
// Arm processors for kernels.
#pragma once

#include <vector>

namespace pippin {

// Returns the number of threads worth starting, at least 1: the cores in the process's affinity
// mask, limited by its container's quota (Linux), or the fast cores (macOS, where a part on a slow
// core would delay the others).
int usable_cpus();

// Returns the cores that the process may use, the current one first; empty if threads cannot be
// pinned (macOS).
std::vector<int> allowed_cpus();

int current_cpu() noexcept;  // -1 if unknown

// Pins the calling thread to a core of allowed_cpus(). Best effort: if the system refuses, the
// thread stays unpinned.
void keep_to_cpu(int cpu) noexcept;

// Marks the calling thread's work as urgent, so that the thread is not put on a slow core (macOS);
// does nothing elsewhere.
void work_at_once() noexcept;

// All false except on AArch64.
struct ArmFeatures {
  bool dotprod = false;  // int8 dot products, FEAT_DotProd
  bool i8mm = false;     // int8 matrix products, FEAT_I8MM
};
ArmFeatures arm_features() noexcept;

}  // namespace pippin
