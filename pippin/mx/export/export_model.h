// The model behind export_package(), for callers that run it without writing it.
#pragma once

#include <vector>

#include "pippin/mil/model.h"
#include "pippin/mx/export/export.h"

namespace pippin::mx {

mil::Model export_model(const std::vector<ExportedFunction>& functions);
mil::Model export_model(const std::vector<NamedArray>& inputs,
                        const std::vector<NamedArray>& outputs,
                        const std::vector<NamedState>& states = {});

}  // namespace pippin::mx
