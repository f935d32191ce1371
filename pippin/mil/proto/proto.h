// Internals of the protobuf reader and writer: conversions between messages and the program's
// structs. Only .cpp files that include coreml.pb.h can call these; all other code uses
// serialize.h.
#pragma once

#include <string>
#include <string_view>

#include "pippin/mil/proto/serialize.h"

namespace pippin::proto {
class BoxSuppression;
class Metadata;
class Model;
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

// The translation of a model of another kind to a program in fp64. Adds the defaults of thresholds
// that are inputs to the description. Throws InvalidFile if numbers, labels and description do not
// match.
Program translate_suppression(const proto::BoxSuppression& message,
                              FunctionDescription& description);

// Whether models of this kind are read by read_tabular().
bool is_tabular_kind(int64_t field);
// A tabular model from the bytes of its message; `model` has its description. Sets kind, tabular
// and translated_from. Throws InvalidFile.
void read_tabular(std::string bytes, Model& model);

}  // namespace pippin::mil
