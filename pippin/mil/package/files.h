// What the readers of packages, compiled packages and bare models share.
#pragma once

#include <filesystem>
#include <vector>

#include "pippin/mil/package/package.h"

namespace pippin::mil {

// Where links of the package's files may lead: the package itself and, in the Hugging Face cache
// (models--x/snapshots/revision/X.mlpackage), the folder models--x/blobs that holds the contents.
std::vector<std::filesystem::path> allowed_roots(const std::filesystem::path& package);

// Throws InvalidFile where the description of the model speaks of other inputs, states or outputs
// than the program, of functions that are not there, or of a pipeline whose stages do not fit
// together.
void check_description(const Model& model);

// A compiled model or a stage of one: a folder with coremldata.bin and model.mil or, for a
// pipeline, model0, model1, ... The programs are verified, weights are attached. `root` is the
// folder of the whole package. Throws as read_package.
Model read_compiled(const std::filesystem::path& folder, const std::filesystem::path& root,
                    const std::vector<std::filesystem::path>& roots);

}  // namespace pippin::mil
