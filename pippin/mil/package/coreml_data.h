// coremldata.bin: the head of a compiled model. Layout found in real files (little-endian):
//
//   u32 kind      the field of Model's oneof: 502 ML Program, 202 pipeline, 500 neuralNetwork, ...
//   u32 version   of this file's form; 20 bytes of zeros
//   text          u64 length and bytes: "generic", after it for each stage of a pipeline
//                 ".modelINDEXv9.0.0" and the stage's own text
//   u32 version   the specification version, then 28 bytes of zeros
//   message       u64 length and bytes: a protobuf ModelDescription
//   trailer       16 bytes for each function or stage, not needed: u64 kind and zeros. Of a network:
//                 u64 kind, a classifier's labels (networks/espresso_interface.h), u64 count and
//                 the names of the outputs
//
// For models without other files (a nonMaximumSuppression, a GLM, trees) it holds everything:
// version 1 of the form, the text "spec" (".modelINDEXv1.0.0spec" for a stage), and, in place of
// message and trailer, the Model message, up to the end of the file. The head has 72 bytes, or 76
// in files by other compilers.
//
// A pipeline also has modelNames/coremldata.bin: u64 count, and a text for each stage.
//
// analytics/coremldata.bin describes the model for statistics: sections, each a text, a u64 count
// and that many pairs of texts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/base/bytes.h"

namespace pippin::mil {

struct CoreMlData {
  int64_t kind = 0;
  int64_t specification_version = 0;
  ByteSpan description;  // the message; a view of the parsed bytes
  ByteSpan rest;         // the bytes after it
};

// Returns the kind, from the first bytes; throws InvalidFile if none exist.
int64_t coreml_data_kind(ByteSpan bytes);
// Throws InvalidFile if the bytes cannot have this form. The caller checks whether the description
// is valid and matches the program next to it.
CoreMlData parse_coreml_data(ByteSpan bytes);

// The specification version alone; 0 if none exists.
int64_t coreml_data_version(ByteSpan bytes);

// For a file that holds a whole model: candidates for its message, the most likely first. The
// caller checks which of them is one.
std::vector<ByteSpan> whole_model_candidates(ByteSpan bytes);

enum class DataForm : bool { Description, WholeModel };
// For a model with this number of functions; `stages` holds the forms of a pipeline's stages.
std::string print_coreml_data(const CoreMlData& data, size_t functions,
                              const std::vector<DataForm>& stages);
// For a model with this message.
std::string print_whole_model(int64_t kind, int64_t specification_version,
                              std::string_view message);

std::vector<std::string> parse_model_names(ByteSpan bytes);
std::string print_model_names(const std::vector<std::string>& names);

// `digest` identifies the model: SHA-256 in hexadecimal digits; the file stores it in base64.
std::string print_analytics(std::string_view digest);

}  // namespace pippin::mil
