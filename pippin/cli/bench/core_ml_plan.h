// `pippin inspect --compute-plan --backend coreml`: Core ML's own plan, printed.
#pragma once

#include <string>

#include "pippin/cli/options/backend.h"
#include "pippin/mil/model.h"

namespace pippin::cli {

// Lists the operations, with the doctor's rule against the Neural Engine if there is one. Throws
// the errors of coreml::ask_plans().
std::string core_ml_plan(const mil::Model& model, const BackendChoice& choice, bool json);

}  // namespace pippin::cli
