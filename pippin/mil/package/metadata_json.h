// metadata.json of a compiled model: its interface in words.
#pragma once

#include <string>

#include "pippin/mil/model.h"

namespace pippin {
class Json;
}

namespace pippin::mil {

// A model with the descriptions, metadata and specification version that the file gives, without
// program or stages. Throws InvalidFile where the words say nothing that is known.
Model parse_metadata(const Json& json);

// "MLModelType_neuralNetwork" of its modelType without the prefix; empty where it is not said.
std::string metadata_model_type(const Json& json);

}  // namespace pippin::mil
