// Shared by programs of the family `encoder` (families/encoder.h): their interface, and
// sentence-transformers' modules after a pooling.
#pragma once

#include <cstdint>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/array/builder.h"
#include "pippin/mil/model.h"
#include "pippin/models/encoders/encoder_model.h"
#include "pippin/models/encoders/sentence_transformer.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::models {

// The function's interface, and its builder.
class EncoderRecorder {
 public:
  // For texts of up to `context` tokens. Throws InvalidArgument for an invalid number of texts.
  EncoderRecorder(int64_t context, const EncoderBuildOptions& options);

  array::Array input(const char* name, const char* description);
  void output(const char* name, const char* description, const array::Array& value);
  mil::Model finish();

 private:
  array::Builder builder_;
  mil::Dim batch_, length_;
  std::vector<mil::SizeRange> ranges_;
  mil::FunctionDescription description_;
};

array::Array as_float(const array::Array& x);

// (batch, features), or (batch, length, features), after all of the modules, and the first
// `dimensions` of them where that is said.
array::Array apply_modules(const SentenceTransformer& modules, array::Array x,
                           nn::Precision precision);

}  // namespace pippin::models
