#include <algorithm>
#include <cmath>
#include <thread>

#include <sched.h>

#include "pippin/base/platform/cpus.h"
#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#include "pippin/base/platform/cpu_limit_linux.h"

namespace pippin {

int usable_cpus() {
  int count = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof(set), &set) == 0) count = std::min(count, CPU_COUNT(&set));
  if (const auto limit = cgroup_cpu_limit()) {
    count = static_cast<int>(std::min<double>(count, std::ceil(*limit)));
  }
  return std::max(1, count);
}

std::vector<int> allowed_cpus() {
  std::vector<int> cpus;
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof(set), &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  const auto first = std::find(cpus.begin(), cpus.end(), current_cpu());
  if (first != cpus.end()) std::rotate(cpus.begin(), first, cpus.end());
  return cpus;
}

int current_cpu() noexcept {
  return ::sched_getcpu();
}

void keep_to_cpu(int cpu) noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  ::sched_setaffinity(0, sizeof(set), &set);
}

void work_at_once() noexcept {}

ArmFeatures arm_features() noexcept {
  ArmFeatures features;
#if defined(__aarch64__)
  features.dotprod = (::getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
#if defined(HWCAP2_I8MM)
  features.i8mm = (::getauxval(AT_HWCAP2) & HWCAP2_I8MM) != 0;
#endif
#endif
  return features;
}

}  // namespace pippin
