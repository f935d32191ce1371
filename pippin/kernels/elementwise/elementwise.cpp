#include "pippin/kernels/elementwise/elementwise.h"

#include "pippin/base/log.h"

namespace pippin::kernels {
namespace {

struct Entry {
  const ElementwiseKernels* table;
  Needs needs;
};

constexpr Entry kEntries[] = {
#define PIPPIN_ELEMENTWISE(flag, name) {&(name), &CpuFeatures::flag},
#define PIPPIN_ELEMENTWISE_SCALAR(name) {&(name), nullptr},
#include "pippin/kernels/elementwise/kernels.inc"
#undef PIPPIN_ELEMENTWISE
#undef PIPPIN_ELEMENTWISE_SCALAR
};

constexpr const ElementwiseKernels* kTables[] = {
#define PIPPIN_ELEMENTWISE(flag, name) &(name),
#define PIPPIN_ELEMENTWISE_SCALAR(name) &(name),
#include "pippin/kernels/elementwise/kernels.inc"
#undef PIPPIN_ELEMENTWISE
#undef PIPPIN_ELEMENTWISE_SCALAR
};

}  // namespace

std::span<const ElementwiseKernels* const> elementwise_kernels() {
  return kTables;
}

bool can_run(const ElementwiseKernels& kernels, const CpuFeatures& cpu) {
  for (const Entry& entry : kEntries) {
    if (entry.table == &kernels) return can_run(entry.needs, cpu);
  }
  return false;
}

const ElementwiseKernels& choose_elementwise(const CpuFeatures& cpu) {
  for (const Entry& entry : kEntries) {
    if (can_run(entry.needs, cpu)) {
      log_choice("elementwise", entry.table->name);
      return *entry.table;
    }
  }
  return elementwise_scalar;
}

}  // namespace pippin::kernels
