// Networks in the form of Core ML's compiler for models before ML Programs: layers in JSON
// (model.espresso.net), the sizes of their results (model.espresso.shape), a file of weights, and
// class labels behind the description (coremldata.bin).
//
// Each layer becomes one of the published format, or two: the two forms share all translation. Only
// weights stay in their file. Facts: public files, and public notes on their fields.
#pragma once

#include "pippin/io/json.h"
#include "pippin/mil/model.h"
#include "pippin/mil/networks/translate.h"

namespace pippin::mil::networks {

struct EspressoFiles {
  Json net, shapes;
  ByteSpan weights;
  ByteSpan labels;  // the bytes after the description
};

// Returns the program, as translate_network does. `owner` keeps the bytes valid. Throws InvalidFile
// if the parts do not fit together, and Unsupported, with its name, for an unknown layer or
// property.
Program translate_espresso(const EspressoFiles& files, NetworkKind kind,
                           FunctionDescription& description, const Owner& owner);

}  // namespace pippin::mil::networks
