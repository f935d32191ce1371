// Networks with an input and an output of the same name, which a layer `copy` can produce. In an ML
// Program no two values have one name; in a pipeline, a stage may replace a value.
#pragma once

#include <vector>

#include "pippin/mil/model.h"

namespace pippin::mil {

// Returns the network if its outputs have the names of the declared ones; else a pipeline with
// these outputs: the network, then an ML Program that names the outputs.
Model with_output_names(Model network, const std::vector<Feature>& declared);

}  // namespace pippin::mil
