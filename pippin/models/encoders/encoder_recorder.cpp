#include "pippin/models/encoders/encoder_recorder.h"

#include <memory>
#include <utility>
#include <variant>

#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/families/package.h"
#include "pippin/io/checkpoint.h"
#include "pippin/models/family/package_part.h"
#include "pippin/nn/attention/pooling.h"
#include "pippin/nn/layers/linear.h"
#include "pippin/nn/layers/norm.h"

namespace pippin::models {
namespace {

namespace fs = std::filesystem;
using array::Array;

nn::Parameters parameters_of(const fs::path& folder, nn::Precision precision) {
  return nn::Parameters(std::make_shared<const Checkpoint>(Checkpoint::open(folder)), precision);
}

void check_width(const Array& x, const fs::path& folder, int64_t width) {
  if (x.dim(-1) == mil::Dim(width)) return;
  fail(ErrorCode::InvalidFile, "{}: takes {} numbers, the module before gives {}", folder.string(),
       width, x.dim(-1).to_string());
}

Array apply_dense(const SentenceDense& dense, const Array& x, nn::Precision precision) {
  check_width(x, dense.folder, dense.in);
  const array::Scope scope(dense.folder.filename().string());
  const nn::Parameters parameters = parameters_of(dense.folder, precision);
  const Array input = array::cast(x, precision.compute);
  const nn::Linear linear(parameters.at("linear"), dense.in, dense.out, dense.bias);
  Array y = nn::apply(dense.activation, as_float(linear(input)));
  if (dense.residual && dense.in == dense.out) {
    y = y + x;
  } else if (dense.residual) {
    y = y + as_float(nn::Linear(parameters.at("residual"), dense.in, dense.out, false)(input));
  }
  parameters.check_all_used({});
  return y;
}

Array apply_module(const SentenceModule& module, const Array& x, nn::Precision precision) {
  if (std::holds_alternative<SentenceNormalize>(module)) return nn::to_length_one(x);
  if (const auto* dense = std::get_if<SentenceDense>(&module)) {
    return apply_dense(*dense, x, precision);
  }
  const auto& norm = std::get<SentenceLayerNorm>(module);
  check_width(x, norm.folder, norm.features);
  const array::Scope scope(norm.folder.filename().string());
  const nn::NormOptions options{
      .kind = nn::NormOptions::Kind::Layer, .epsilon = 1e-5, .bias = true};
  const nn::Parameters parameters = parameters_of(norm.folder, precision).at("norm");
  return as_float(nn::Norm(parameters, norm.features, options)(array::cast(x, precision.compute)));
}

}  // namespace

namespace {

int64_t checked_batch(int64_t batch) {
  constexpr int64_t kMost = 1 << 16;
  if (batch >= 1 && batch <= kMost) return batch;
  fail(ErrorCode::InvalidArgument, "{} texts at once: 1 to {} are possible", batch, kMost);
}

}  // namespace

EncoderRecorder::EncoderRecorder(int64_t context, const EncoderBuildOptions& options)
    : builder_(mil::Opset::CoreML8),
      batch_(mil::Dim::symbol("batch", 1, checked_batch(options.max_batch))),
      length_(mil::Dim::symbol("length", 1, context)),
      ranges_{{1, options.max_batch}, {1, context}} {
  description_.name = families::kMain;
}

Array EncoderRecorder::input(const char* name, const char* description) {
  mil::Feature feature;
  feature.name = name;
  feature.description = description;
  feature.data_type = mil::DataType::Int32;
  feature.shape = {1, 1};
  feature.ranges = ranges_;
  description_.inputs.push_back(std::move(feature));
  return builder_.input(name, mil::DataType::Int32, {batch_, length_});
}

void EncoderRecorder::output(const char* name, const char* description, const Array& value) {
  builder_.output(name, value);
  mil::Feature feature;
  feature.name = name;
  feature.description = description;
  feature.data_type = value.type();
  description_.outputs.push_back(std::move(feature));
}

mil::Model EncoderRecorder::finish() {
  mil::Model model;
  model.specification_version = mil::specification_version(builder_.opset());
  model.program.attributes.emplace(families::kBuildInfo, build_info());
  model.program.functions.emplace(families::kMain, builder_.build());
  model.functions.push_back(std::move(description_));
  return model;
}

Array as_float(const Array& x) {
  return array::cast(x, mil::DataType::Float32);
}

Array apply_modules(const SentenceTransformer& modules, Array x, nn::Precision precision) {
  for (const SentenceModule& module : modules.modules) x = apply_module(module, x, precision);
  const auto width = x.dim(-1);
  if (!modules.dimensions || !width.is_constant() || width.constant() <= *modules.dimensions) {
    return x;
  }
  return array::slice_axis(x, -1, 0, *modules.dimensions);
}

}  // namespace pippin::models
