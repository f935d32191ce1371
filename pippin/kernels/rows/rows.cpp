#include "pippin/kernels/rows/rows.h"

#include "pippin/base/log.h"

namespace pippin::kernels {
namespace {

struct Entry {
  const RowsKernels* table;
  Needs needs;
};

constexpr Entry kEntries[] = {
#define PIPPIN_ROWS(flag, name) {&(name), &CpuFeatures::flag},
#define PIPPIN_ROWS_SCALAR(name) {&(name), nullptr},
#include "pippin/kernels/rows/kernels.inc"
#undef PIPPIN_ROWS
#undef PIPPIN_ROWS_SCALAR
};

constexpr const RowsKernels* kTables[] = {
#define PIPPIN_ROWS(flag, name) &(name),
#define PIPPIN_ROWS_SCALAR(name) &(name),
#include "pippin/kernels/rows/kernels.inc"
#undef PIPPIN_ROWS
#undef PIPPIN_ROWS_SCALAR
};

}  // namespace

std::span<const RowsKernels* const> rows_kernels() {
  return kTables;
}

bool can_run(const RowsKernels& kernels, const CpuFeatures& cpu) {
  for (const Entry& entry : kEntries) {
    if (entry.table == &kernels) return can_run(entry.needs, cpu);
  }
  return false;
}

const RowsKernels& choose_rows(const CpuFeatures& cpu) {
  for (const Entry& entry : kEntries) {
    if (can_run(entry.needs, cpu)) {
      log_choice("rows", entry.table->name);
      return *entry.table;
    }
  }
  return rows_scalar;
}

}  // namespace pippin::kernels
