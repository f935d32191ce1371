// Internals of the protobuf reader and writer: conversions between messages and the program's
// structs. Only .cpp files that include coreml.pb.h can call these; all other code uses
// serialize.h.
#pragma once

#include <string>
#include <string_view>

#include "pippin/mil/proto/serialize.h"

namespace pippin::proto {
class BoxSuppression;
class FeatureVectorizer;
class LinearModel;
class Metadata;
class Model;
class ModelDescription;
class Program;
class Value;
class ValueType;
}  // namespace pippin::proto

namespace pippin::mil {

// Returns `bytes` as text. Throws InvalidFile, naming `what`, if it is not UTF-8.
std::string read_text(const std::string& bytes, std::string_view what);

ValueType read_type(const proto::ValueType& message);
void write_type(const ValueType& type, const BlobOf& blob_of, proto::ValueType& message);

// Checks the elements against the type and packs them.
Value read_value(const proto::Value& message);
void write_value(const Value& value, const BlobOf& blob_of, proto::Value& message);

Program read_program(const proto::Program& message);
void write_program(const Program& program, const BlobOf& blob_of, proto::Program& message);

// Reads everything of the model except its program.
void read_description(const proto::Model& message, Model& model);
void write_description(const Model& model, proto::Model& message);

// Writes the model's current metadata.
void write_metadata(const Metadata& metadata, proto::Metadata& message);

// Programs that compute, in fp64, the function of models of other kinds. Adds the defaults of
// thresholds that are inputs to the description. Throw InvalidFile if numbers, labels and
// description do not match.
Program translate_linear_model(const proto::LinearModel& message, ModelKind kind,
                               const FunctionDescription& description);
Program translate_feature_vectorizer(const proto::FeatureVectorizer& message,
                                     const FunctionDescription& description);
Program translate_suppression(const proto::BoxSuppression& message,
                              FunctionDescription& description);

}  // namespace pippin::mil
