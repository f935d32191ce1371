#include "pippin/doctor/calibrate.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/app/convert/calibration.h"
#include "pippin/base/error.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/engine/runner.h"
#include "pippin/io/npz.h"
#include "pippin/mil/package/package.h"
#include "pippin/runtime/open/loaded_model.h"
#include "pippin/runtime/sequence.h"

namespace pippin::doctor {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostTokens = 2048, kWindow = 512;

void read_text(const fs::path& path, const std::string& file, const fs::path& tokenizer,
               const runtime::LoadOptions& options) {
  runtime::FoundPackages packages = runtime::find_packages(path);
  const std::vector<int32_t> ids = app::calibration_tokens(
      file, tokenizer.empty() ? packages.tokenizer_folder() : tokenizer, kMostTokens);
  const runtime::RunnableModel model = runtime::make_runnable(std::move(packages), options);
  const auto sequence = model.model->new_sequence();
  const auto window = static_cast<size_t>(std::clamp<int64_t>(model.model->context(), 1, kWindow));
  for (std::span<const int32_t> left = ids; !left.empty();) {
    const size_t count = std::min(left.size(), window);
    sequence->reset();
    sequence->prefill(left.first(count));
    left = left.subspan(count);
  }
}

// The runner converts to the program's types.
engine::HostTensor tensor_of(const NpyArray& array, const mil::Feature& feature) {
  engine::HostTensor tensor;
  tensor.shape = array.shape;
  const bool is_float = mil::is_float(feature.data_type);
  tensor.type = is_float ? mil::DataType::Float32 : mil::DataType::Int32;
  tensor.bytes.resize(static_cast<size_t>(array.num_elements()) * sizeof(float));
  if (is_float) {
    const std::vector<float> values = array.to_floats();
    std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  } else {
    const std::vector<double> numbers = array.to_doubles();
    std::vector<int32_t> values;
    for (const double number : numbers) {
      const bool fits = number >= INT32_MIN && number <= INT32_MAX && number == std::floor(number);
      if (!fits) {
        fail(ErrorCode::InvalidArgument, "input '{}': {} is not a 32-bit integer", feature.name,
             number);
      }
      values.push_back(static_cast<int32_t>(number));
    }
    std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  }
  return tensor;
}

void predict(const fs::path& path, const std::string& file, const runtime::LoadOptions& options) {
  const NpzFile arrays = NpzFile::open(file);
  const mil::Model model = mil::read_package(path);
  if (model.is_pipeline()) {
    fail(ErrorCode::Unsupported, "{}: a pipeline's stages are measured one by one", path.string());
  }
  if (model.is_tabular()) {
    fail(ErrorCode::Unsupported, "{}: a {} has no operations to measure", path.string(),
         to_string(model.kind));
  }
  const mil::FunctionDescription& description = model.description(model.default_function);
  std::vector<std::string> names;
  for (const mil::Feature& feature : description.inputs) names.push_back(feature.name);
  for (const std::string& name : arrays.names()) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    fail(ErrorCode::InvalidArgument, "{}: function '{}' has no input '{}': there are {}", file,
         description.name, name, fmt::join(names, ", "));
  }
  engine::NamedHostTensors inputs;
  for (const mil::Feature& feature : description.inputs) {
    if (!arrays.contains(feature.name)) {
      fail(ErrorCode::InvalidArgument, "{}: no array '{}', an input of function '{}'", file,
           feature.name, description.name);
    }
    inputs[feature.name] = tensor_of(arrays.read(feature.name), feature);
  }
  ThreadPool pool(options.threads);
  engine::State state(description.states, options.compute);
  engine::Runner::make(model, description.name, pool, {.compute = options.compute})
      ->run(inputs, state);
}

}  // namespace

PackagePeaks measure_peaks(const fs::path& path, const std::string& file, const fs::path& tokenizer,
                           int threads) {
  const auto device = std::make_shared<WatchingDevice>();
  runtime::LoadOptions options;
  options.threads = threads;
  options.compute.precision = engine::Precision::Exact;
  options.compute.device = device;
  return with_context("--calibrate", [&] {
    for (size_t pass = 0; pass < device->passes(); ++pass) {
      device->begin_pass(pass);
      if (fs::path(file).extension() == ".npz") {
        predict(path, file, options);
      } else {
        read_text(path, file, tokenizer, options);
      }
    }
    return device->peaks();
  });
}

}  // namespace pippin::doctor
