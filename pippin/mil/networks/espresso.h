// Networks in the form of Core ML's compiler for models before ML Programs: layers in JSON
// (model.espresso.net), the sizes of their results (model.espresso.shape), and a file of weights.
// Facts: public files, and public notes on their fields.
#pragma once

#include "pippin/io/json.h"
#include "pippin/mil/model.h"
#include "pippin/mil/networks/weights.h"

namespace pippin::mil::networks {

// Returns the program, as translate_network does. `weights` are the bytes of the file of weights,
// which `owner` keeps valid. Throws InvalidFile if the parts do not fit together, and Unsupported,
// with its name, for an unknown layer or property.
Program translate_espresso(const Json& net, const Json& shapes, ByteSpan weights,
                           FunctionDescription& description, const Owner& owner);

}  // namespace pippin::mil::networks
