// `pippin inspect --compute-plan --backend coreml`: Core ML's own plan, printed.
#pragma once

#include <string>

#include "pippin/cli/backend.h"
#include "pippin/mil/model.h"

namespace pippin::cli {

// Operation by operation, with the doctor's rule against the Neural Engine where there is one.
// Throws as coreml::ask_plans().
std::string core_ml_plan(const mil::Model& model, const BackendChoice& choice, bool json);

}  // namespace pippin::cli
