// coremldata.bin: the head of a compiled model. Read off real files (little-endian):
//
//   u32 kind      the field of Model's oneof: 502 ML Program, 202 pipeline, 500 neuralNetwork, ...
//   u32 version   of this file's form; 20 bytes of zeros
//   text          u64 length and bytes: "generic", after it for each stage of a pipeline
//                 ".modelINDEXv9.0.0" and the stage's own text
//   u32 version   the specification version, then 28 bytes of zeros
//   message       u64 length and bytes: a protobuf ModelDescription
//   trailer       16 bytes for each function or stage, not needed: u64 kind and zeros
//
// Of models that have no file besides (a nonMaximumSuppression, a GLM, trees) it holds everything:
// version 1 of the form, the text "spec" (".modelINDEXv1.0.0spec" of a stage), and in place of
// message and trailer, to the end of the file, the Model message. The head has 72 bytes, in files
// of other compilers 76.
//
// A pipeline has modelNames/coremldata.bin, too: u64 count, and a text for each stage.
//
// analytics/coremldata.bin says what a model is for statistics: sections, each a text, a u64 count
// and as many pairs of texts.
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
  ByteSpan description;  // the message; lies in the bytes that were parsed
};

// The kind, from the first bytes; throws InvalidFile where there are none.
int64_t coreml_data_kind(ByteSpan bytes);
// Throws InvalidFile for what cannot be of this form. Whether the description is one, and that of
// the program next to it, is the caller's to check.
CoreMlData parse_coreml_data(ByteSpan bytes);

// The specification version alone; 0 without one.
int64_t coreml_data_version(ByteSpan bytes);

// Of a file that holds a whole model: what may be its message, the most likely first. Whether it is
// one is the caller's to check.
std::vector<ByteSpan> whole_model_candidates(ByteSpan bytes);

enum class DataForm : bool { Description, WholeModel };
// Of a model with so many functions; `stages` has the forms of a pipeline's.
std::string print_coreml_data(const CoreMlData& data, size_t functions,
                              const std::vector<DataForm>& stages);
// Of a model whose message this is.
std::string print_whole_model(int64_t kind, int64_t specification_version,
                              std::string_view message);

std::vector<std::string> parse_model_names(ByteSpan bytes);
std::string print_model_names(const std::vector<std::string>& names);

// `digest` tells the model from others: SHA-256 in hexadecimal digits; the file has it in base64.
std::string print_analytics(std::string_view digest);

}  // namespace pippin::mil
