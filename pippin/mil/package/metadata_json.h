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

// The file of a model: what parse_metadata reads, and what its compiler adds for people. Sequences,
// default values and what `raw` holds are not in it. `class_name` is the name that generated code
// would have.
std::string print_metadata(const Model& model, const std::string& class_name);

}  // namespace pippin::mil
