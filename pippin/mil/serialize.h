// The protobuf form of models and programs (model.mlmodel), without files around it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "pippin/base/bytes.h"
#include "pippin/mil/package.h"

namespace pippin::mil {

// Reads a serialized model. Weights in files keep their BlobReference and have no source. The
// program's names are resolved but it is not verified. Throws Unsupported for a model that is not
// an ML Program, naming its kind.
Model parse_model(ByteSpan bytes);

// The same model always gives the same bytes. `blob_of` tells where a constant's elements stand in
// a weight file; nothing: they are written inline, read from the source if they have one.
using BlobOf = std::function<std::optional<BlobReference>(const Value&)>;
std::string serialize_model(const Model& model, const BlobOf& blob_of);
// With every constant where its BlobReference says, inline where it has none.
std::string serialize_model(const Model& model);

}  // namespace pippin::mil
