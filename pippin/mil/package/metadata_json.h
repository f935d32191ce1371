// metadata.json of a compiled model: its interface in readable form.
#pragma once

#include <string>

#include "pippin/mil/model.h"

namespace pippin {
class Json;
}

namespace pippin::mil {

// Returns a model with the descriptions, metadata and specification version in the file, without
// program or stages. Throws InvalidFile if nothing in the file is recognized.
Model parse_metadata(const Json& json);

// The modelType without its prefix "MLModelType_" ("neuralNetwork"); empty if the file has none.
std::string metadata_model_type(const Json& json);

// Prints the file for a model: everything parse_metadata reads, and what Core ML's compiler adds
// for human readers. Omits sequences, default values and the contents of `raw`. `class_name` is the
// name that generated code would have.
std::string print_metadata(const Model& model, const std::string& class_name);

}  // namespace pippin::mil
