// Models that are a folder of packages: the parts of the families `anemll`, `windowed`,
// `whisperkit`, and of `stateful` with a vision tower.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "pippin/array/builder.h"
#include "pippin/mil/model.h"
#include "pippin/models/registry.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::models {

struct PackagePart {
  enum class Kind { Embedding, Layers, Head, Whole, Helper };
  Kind kind = Kind::Layers;
  std::string stem;  // of STEM.mlpackage
  mil::Model model;
};

// The attribute buildInfo of the programs that Pippin makes.
mil::Value build_info();

// A function under construction and its interface, declared while it is recorded.
class FunctionRecorder {
 public:
  FunctionRecorder(std::string name, mil::Opset opset) : builder_(opset) {
    description_.name = std::move(name);
  }

  array::Builder& builder() { return builder_; }
  // An input of a fixed shape.
  array::Array input(const std::string& name, mil::DataType type, std::vector<int64_t> dims);
  // An input (1, n) with n one of `sizes`.
  array::Array enumerated_input(const std::string& name, mil::DataType type,
                                const std::vector<int64_t>& sizes);
  void output(const std::string& name, const array::Array& value);
  // Declares states and inputs that were added to the builder elsewhere.
  void declare(const std::string& name, mil::DataType type, std::vector<int64_t> dims,
               bool is_state);
  void declare_output(const std::string& name, mil::DataType type);

  // Adds the function to the model, as its default if it is the first.
  void add_to(mil::Model& model);

 private:
  array::Builder builder_;
  mil::FunctionDescription description_;
};

// A model without functions yet, with the metadata of its origin.
mil::Model empty_model(const Description& description, std::string_view family, mil::Opset opset);

// Throws InvalidArgument for a prefix that is not a file name.
void check_file_prefix(const std::string& prefix);

// The weights of a source for fp16 packages of a style, with an adapter's changes if given, which
// may complete the model's description.
nn::Parameters part_parameters(const std::filesystem::path& source,
                               const std::filesystem::path& fused_adapter,
                               nn::DecoderOptions& model, const nn::Style& style);

// Sizes of `count` parts of `total`, the first ones one larger if it does not divide evenly.
std::vector<int64_t> balanced(int64_t total, int64_t count);

}  // namespace pippin::models
