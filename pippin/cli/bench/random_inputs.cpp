#include "pippin/cli/bench/random_inputs.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/base/error.h"
#include "pippin/mil/package/package.h"
#include "pippin/tabular/stage.h"

namespace pippin::cli {
namespace {

// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators).
class Random {
 public:
  Random(uint64_t seed, std::string_view name) : state_(seed) {
    for (const char c : name) {  // FNV-1a over the name, starting from the seed
      state_ = (state_ ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    }
  }
  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

 private:
  uint64_t state_;
};

Tensor random_tensor(const FeatureInfo& feature, const std::vector<int64_t>& shape, Random random,
                     int64_t max_elements) {
  double elements = 1;
  for (const int64_t size : shape) elements *= static_cast<double>(size);
  if (elements > static_cast<double>(max_elements)) {
    fail(ErrorCode::LimitExceeded, "shape {} has more than {} elements", shape, max_elements);
  }
  Tensor tensor(DataType::Float32, shape);
  const bool pixels = feature.kind == FeatureInfo::Kind::Image &&
                      feature.color_space != ColorSpace::GrayscaleFloat16;
  const bool fractions = feature.type == DataType::Float16 || feature.type == DataType::Float32 ||
                         feature.type == DataType::Float64;
  for (float& value : tensor.data<float>()) {
    const uint64_t bits = random.next();
    if (pixels) {
      value = static_cast<float>(bits >> 56);
    } else if (fractions) {
      value = static_cast<float>(bits >> 53) * 0x1p-11f;  // exact in every float type
    } else {
      value = static_cast<float>(bits >> 63);
    }
  }
  return tensor.to(feature.type);
}

bool is_numeric(const FeatureInfo& feature) {
  return feature.type != DataType::String && feature.kind != FeatureInfo::Kind::Dictionary &&
         feature.kind != FeatureInfo::Kind::Sequence;
}

// The values that the first stage with this input alone knows; null if there is no such list.
const tabular::Labels* known_values(const mil::Model& model, std::string_view input) {
  for (const mil::PipelineStage& stage : model.stages) {
    if (const tabular::Labels* found = known_values(stage.model, input)) return found;
  }
  if (!model.is_tabular()) return nullptr;
  const std::vector<mil::Feature>& inputs = model.functions.front().inputs;
  const bool matches = inputs.size() == 1 && inputs.front().name == input;
  return matches ? model.tabular->categories() : nullptr;
}

// One of the known values as a tensor [1].
Tensor random_label(const tabular::Labels& labels, Random& random) {
  if (const auto* texts = std::get_if<std::vector<std::string>>(&labels)) {
    return Tensor::from_strings({(*texts)[random.next() % texts->size()]}, {1});
  }
  const auto& numbers = std::get<std::vector<int64_t>>(labels);
  return Tensor::from(std::vector<int64_t>{numbers[random.next() % numbers.size()]}, {1});
}

// A value of an input with known values.
Value random_value(const FeatureInfo& feature, const tabular::Labels& labels, Random random) {
  Tensor label = random_label(labels, random);
  if (feature.kind != FeatureInfo::Kind::Dictionary) return label;
  return Dictionary{std::move(label), Tensor::from(std::vector<double>{1.0}, {1})};
}

}  // namespace

void add_random_inputs(const Function& function, const std::filesystem::path& package,
                       uint64_t seed, const Shapes& shapes, int64_t max_elements, Values& values) {
  const auto& inputs = function.inputs();
  for (const auto& shape : shapes) {
    const std::string& name = shape.first;
    if (std::none_of(inputs.begin(), inputs.end(),
                     [&](const auto& input) { return input.name == name; })) {
      fail(ErrorCode::InvalidArgument, "--shape {}: the model has no input of that name", name);
    }
  }
  std::optional<mil::Model> model;  // read if an input needs it
  for (const FeatureInfo& feature : inputs) {
    if (values.contains(feature.name)) continue;
    with_context(fmt::format("input '{}'", feature.name), [&] {
      if (!is_numeric(feature) || feature.kind == FeatureInfo::Kind::Int64) {
        if (!model) model = mil::read_package(package);
        const tabular::Labels* labels = known_values(*model, feature.name);
        const bool known = labels != nullptr &&
                           std::visit([](const auto& list) { return !list.empty(); }, *labels);
        if (known) {
          values.emplace(feature.name, random_value(feature, *labels, Random(seed, feature.name)));
          return;
        }
      }
      if (!is_numeric(feature)) {
        fail(ErrorCode::Unsupported, "no random values for {}", to_string(feature));
      }
      const auto shape = shapes.find(feature.name);
      values.emplace(feature.name,
                     random_tensor(feature, shape != shapes.end() ? shape->second : feature.shape,
                                   Random(seed, feature.name), max_elements));
    });
  }
}

}  // namespace pippin::cli
