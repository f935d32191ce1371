// The size of a package that has not been written.
#pragma once

#include <cstdint>
#include <vector>

#include "pippin/mil/package/package.h"

namespace pippin::mil {

// The size of all files that write_package would write. Constants in weight files are not read.
uint64_t package_bytes(const Model& model, const std::vector<ExtraFile>& extra_files);

}  // namespace pippin::mil
