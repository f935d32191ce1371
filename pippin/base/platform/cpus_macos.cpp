#include <algorithm>
#include <thread>

#include <pthread.h>
#include <sys/sysctl.h>

#include "pippin/base/platform/cpus.h"

namespace pippin {
namespace {

// Returns 0 if the system does not know the name: on older systems and other processors.
int number_of(const char* name) noexcept {
  int value = 0;
  size_t size = sizeof(value);
  return ::sysctlbyname(name, &value, &size, nullptr, 0) == 0 && size == sizeof(value) ? value : 0;
}

}  // namespace

int usable_cpus() {
  // Level 0 has the performance cores; Intel Macs have no levels.
  if (const int fast = number_of("hw.perflevel0.logicalcpu"); fast > 0) return fast;
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

std::vector<int> allowed_cpus() {
  return {};
}

int current_cpu() noexcept {
  return -1;
}

void keep_to_cpu(int /*cpu*/) noexcept {}

void work_at_once() noexcept {
  ::pthread_set_qos_class_self_np(QOS_CLASS_USER_INITIATED, 0);
}

ArmFeatures arm_features() noexcept {
  ArmFeatures features;
#if defined(__aarch64__)
  features.dotprod = true;  // all Apple silicon has it, but macOS 11 has no name for it
#endif
  features.i8mm = number_of("hw.optional.arm.FEAT_I8MM") != 0;
  return features;
}

}  // namespace pippin
