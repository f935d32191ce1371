// The processor's cores: which of them this process may use, where a thread is, and what kernels of
// Arm's processors may ask of them.
#pragma once

#include <vector>

namespace pippin {

// How many threads are worth starting: the cores of the process's affinity and no more than its
// container's quota (Linux), the fast cores (macOS, where a part that a slow one does is waited
// for); at least 1.
int usable_cpus();

// The cores that the process may use, the current one first; none where threads cannot be kept to
// one (macOS).
std::vector<int> allowed_cpus();

int current_cpu() noexcept;  // -1 where the system does not tell

// Keeps the calling thread to a core of allowed_cpus(). As a wish: where the system refuses, the
// thread stays free.
void keep_to_cpu(int cpu) noexcept;

// Says that somebody waits for what the calling thread does, so that it is not put on a slow core
// (macOS); elsewhere nothing.
void work_at_once() noexcept;

// All false but on AArch64.
struct ArmFeatures {
  bool dotprod = false;  // products of int8, FEAT_DotProd
  bool i8mm = false;     // small matrices of int8, FEAT_I8MM
};
ArmFeatures arm_features() noexcept;

}  // namespace pippin
