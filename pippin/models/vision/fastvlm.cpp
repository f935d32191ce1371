#include "pippin/models/vision/fastvlm.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/array/builder.h"
#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/families/package.h"
#include "pippin/families/vision.h"
#include "pippin/mil/package/package.h"
#include "pippin/models/causal_lm.h"
#include "pippin/models/model_source.h"
#include "pippin/models/quantization.h"
#include "pippin/models/vision/fastvithd.h"
#include "pippin/models/vision/tiles.h"

namespace pippin::models {
namespace {

namespace fs = std::filesystem;
namespace family = families::vision;

constexpr const char* kFeatures = "tower_features";

// The output with rows; null if there is none.
mil::Feature* find_rows(mil::FunctionDescription& main) {
  const auto found = std::find_if(main.outputs.begin(), main.outputs.end(), [](const auto& one) {
    return one.name == family::kRows && one.shape.size() == 3 && one.shape[0] == 1;
  });
  return found == main.outputs.end() ? nullptr : &*found;
}

// The interface of the tower's function.
mil::FunctionDescription& interface_of(mil::Model& model, const fs::path& package) {
  const auto main = std::find_if(model.functions.begin(), model.functions.end(),
                                 [](const auto& one) { return one.name == families::kMain; });
  const auto fits = [&] {
    if (!model.has_program() || main == model.functions.end() || main->inputs.size() != 1) {
      return false;
    }
    const mil::Feature& images = main->inputs.front();
    return images.data_type == mil::DataType::Float32 && images.shape.size() == 4 &&
           images.shape[0] == 1 && images.ranges.empty() && images.enumerated_shapes.empty() &&
           main->states.empty() && find_rows(*main) != nullptr;
  };
  if (fits()) return *main;
  fail(ErrorCode::Unsupported,
       "{}: not FastVLM's vision tower: a function {} from images (1, 3, side, side), fp32, to {} "
       "(1, rows, features) is expected",
       package.string(), families::kMain, family::kRows);
}

// Puts the operations of a function after those of another, whose value `features` they read in
// place of their input.
void append_function(mil::Function& function, mil::Var* features, mil::Function& next) {
  mil::Var* const input = next.find_input(kFeatures);
  for (auto& operation : next.block().operations()) {
    for (auto& [name, argument] : operation->inputs()) {
      for (mil::Binding& binding : argument) {
        auto* const var = std::get_if<mil::Var*>(&binding);
        if (var != nullptr && *var == input) *var = features;
      }
    }
    function.block().operations().push_back(std::move(operation));
  }
  function.block().outputs() = next.block().outputs();
}

}  // namespace

std::optional<fs::path> FastVlm::find_tower(const fs::path& folder) {
  if (!fs::is_directory(folder) || !fs::exists(folder / "config.json")) return std::nullopt;
  if (load_config(folder).get_string_or("model_type", "") != "llava_qwen2") return std::nullopt;
  for (const char* name : {"fastvithd.mlpackage", "fastvithd.mlmodelc"}) {
    if (mil::is_package(folder / name) && fs::exists(folder / name)) return folder / name;
  }
  return std::nullopt;
}

FastVlm::FastVlm(fs::path folder, fs::path tower, BuildOptions::Compute compute)
    : folder_(std::move(folder)), tower_(std::move(tower)), compute_(compute) {
  mil::Model model = mil::read_package(tower_);
  mil::FunctionDescription& main = interface_of(model, tower_);
  shape_.pixels = main.inputs.front().shape;
  rows_ = find_rows(main)->shape[1];
}

image::VisionPasses FastVlm::passes(const image::ImageInputs& inputs) const {
  if (inputs.pixel_values.shape != shape_.pixels) {
    fail(ErrorCode::InvalidArgument, "the image becomes {} ({}), the vision package takes ({})",
         family::kPixels, fmt::join(inputs.pixel_values.shape, ", "),
         fmt::join(shape_.pixels, ", "));
  }
  return {{{shape_, 0}}, {vision::run_of(0, rows_)}};
}

mil::Model FastVlm::build() const {
  constexpr auto kFloat = mil::DataType::Float32;
  mil::Model model = mil::read_package(tower_);
  mil::FunctionDescription& main = interface_of(model, tower_);
  mil::Function& function = model.program.function(families::kMain);
  const Config config(load_config(folder_));
  BuildOptions options;
  options.compute = compute_;
  const nn::Parameters parameters =
      open_parameters(folder_, precision(options)).unpacking(packed_weights(config));

  mil::Feature rows = *find_rows(main);
  const auto& outputs = function.block().outputs();
  const auto features = std::find_if(outputs.begin(), outputs.end(), [](const mil::Var* var) {
    return var->name == family::kRows;
  });
  mil::Var* const input = function.find_input(main.inputs.front().name);
  if (features == outputs.end() || input == nullptr) {
    fail(ErrorCode::InvalidFile,
         "{}: the program does not have the inputs and outputs of its "
         "description",
         tower_.string());
  }
  mil::Var* const value = *features;
  value->name = kFeatures;
  input->name = main.inputs.front().name = family::kPixels;

  array::Builder builder(function.opset_version());
  const array::Scope scope("projector");
  const array::Array states =
      builder.input(kFeatures, kFloat, mil::Shape(rows.shape.begin(), rows.shape.end()));
  const array::Array projected = vision::fastvlm_projected(
      parameters, array::cast(states, parameters.type()), config.size("hidden_size", 0));
  builder.output(family::kRows, array::cast(projected, kFloat));
  const std::unique_ptr<mil::Function> projector = builder.build();
  append_function(function, value, *projector);
  rows.shape = mil::constant_shape(projected.shape()).value();
  main.outputs = {std::move(rows)};
  return model;
}

}  // namespace pippin::models
