// A model in the form of Core ML's compiler.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "pippin/app/package_output.h"

namespace pippin::app {

// The same program, interface and metadata; weights are linked to those of the source where the
// disk allows. `output` has to end in .mlmodelc and may be `source`; only a compiled model or an
// empty folder gives way to it. Throws as mil::read_package and mil::write_compiled.
PackageOutput compile_model(const std::filesystem::path& source,
                            const std::filesystem::path& output,
                            const std::function<void(uint64_t, uint64_t)>& progress = {});

}  // namespace pippin::app
