// Writes a model in the form of Core ML's compiler.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "pippin/app/convert/package_output.h"

namespace pippin::app {

// Keeps program, interface and metadata; weights are linked to those of the source if the file
// system allows it. `output` must end in .mlmodelc and may be `source`; it may replace only a
// compiled model or an empty folder. Throws as mil::read_package and mil::write_compiled.
PackageOutput compile_model(const std::filesystem::path& source,
                            const std::filesystem::path& output,
                            const std::function<void(uint64_t, uint64_t)>& progress = {});

}  // namespace pippin::app
