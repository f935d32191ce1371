#include "pippin/kernels/recurrence/recurrence.h"

namespace pippin::kernels {
namespace {

constexpr Listed<RecurrenceKernels> kKernels[] = {
#define PIPPIN_RECURRENCE(flag, name) {&(name), &CpuFeatures::flag},
#include "pippin/kernels/recurrence/kernels.inc"
#undef PIPPIN_RECURRENCE
};

}  // namespace

std::span<const Listed<RecurrenceKernels>> recurrence_kernels() {
  return kKernels;
}

const RecurrenceKernels& choose_recurrence(const CpuFeatures& cpu) {
  return choose("recurrence", recurrence_kernels(), cpu);
}

}  // namespace pippin::kernels
