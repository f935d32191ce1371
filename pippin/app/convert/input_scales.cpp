#include "pippin/app/convert/input_scales.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <utility>

#include "pippin/base/bytes.h"
#include "pippin/base/error.h"
#include "pippin/base/numbers/float16.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/mil/data_type.h"
#include "pippin/mil/ops/product.h"
#include "pippin/mil/package/package.h"
#include "pippin/mil/value.h"

namespace pippin::app {
namespace {

using mil::DataType;
using mil::Operation;
using mil::Value;
using mil::Var;

// Exponents of the moments' roots and of the columns' magnitudes.
struct Exponents {
  double moment, magnitude;
};
constexpr Exponents kGrid[] = {{0, 0.5},  {0, 1},     {0.25, 0}, {0.25, 0.5}, {0.25, 1},
                               {0.5, 0},  {0.5, 0.5}, {0.5, 1},  {0.75, 0},   {0.75, 0.5},
                               {0.75, 1}, {1, 0},     {1, 0.5},  {1, 1}};
constexpr double kLargestScale = 16;     // fp16 values neither overflow nor lose precision
constexpr double kSmallestShare = 0.01;  // of the largest moment or magnitude

bool is_scalable(DataType type) {
  return type == DataType::Float16 || type == DataType::Float32;
}

// The readers of each value, and null for the results of a block.
using Readers = std::unordered_map<const Var*, std::vector<const Operation*>>;

void add_readers(const mil::Block& block, Readers& readers) {
  for (const auto& operation : block.operations()) {
    for (const auto& [parameter, argument] : operation->inputs()) {
      for (const mil::Binding& binding : argument) {
        if (Var* const* var = std::get_if<Var*>(&binding)) readers[*var].push_back(operation.get());
      }
    }
    for (const auto& nested : operation->blocks()) add_readers(*nested, readers);
  }
  for (const Var* output : block.outputs()) readers[output].push_back(nullptr);
}

// The constant matrix (channels, inputs) of a product with `x`, or null.
const Var* matrix_of(const Operation& operation, const Var* x) {
  const auto product = mil::product_of(operation);
  if (!product || product->operands[0].var() != x) return nullptr;
  const mil::Product::Operand& weight = product->operands[1];
  const Var* var = weight.var();
  const bool last_axis =
      product->operands[0].summed == mil::Product::Axes{product->operands[0].rank() - 1};
  const bool rows = weight.rank() == 2 && weight.summed == mil::Product::Axes{1} &&
                    weight.own == mil::Product::Axes{0};
  if (var == nullptr || !last_axis || !rows) return nullptr;
  return mil::constant_of(var) != nullptr && is_scalable(var->type.data_type) ? var : nullptr;
}

std::optional<NormGroup> group_of(const Operation& operation, const Readers& readers) {
  if (operation.type() != "mul") return std::nullopt;
  const Var* norm = nullptr;
  for (const char* side : {"x", "y"}) {
    const Var* var = operation.input_var(side);
    if (var != nullptr && mil::constant_of(var) != nullptr) norm = var;
  }
  if (norm == nullptr || !is_scalable(norm->type.data_type) || readers.at(norm).size() != 1) {
    return std::nullopt;
  }
  // One value for each element of the last axis.
  const std::vector<int64_t>& dims = norm->type.dims;
  if (dims.empty() || norm->type.num_elements() != dims.back()) return std::nullopt;
  NormGroup group{norm->name, {}, dims.back()};
  const auto users = readers.find(operation.output());
  if (users == readers.end()) return std::nullopt;
  group.weights.reserve(users->second.size());
  for (const Operation* user : users->second) {
    const Var* matrix = user == nullptr ? nullptr : matrix_of(*user, operation.output());
    if (matrix == nullptr || matrix->type.dims[1] != group.inputs) return std::nullopt;
    if (readers.at(matrix).size() != 1) return std::nullopt;
    group.weights.push_back(matrix->name);
  }
  return group;
}

const mil::Block* only_block(const mil::Model& model) {
  if (model.is_pipeline() || model.is_translated()) return nullptr;
  if (model.program.functions.size() != 1) return nullptr;
  const mil::Function& function = *model.program.functions.begin()->second;
  return function.specializations.size() == 1 ? &function.block() : nullptr;
}

double element(const std::byte* at, DataType type) {
  if (type == DataType::Float32) {
    float value = 0;
    std::memcpy(&value, at, sizeof(value));
    return double{value};
  }
  uint16_t bits = 0;
  std::memcpy(&bits, at, sizeof(bits));
  return double{to_float(float16{bits})};
}

void set_element(std::byte* at, DataType type, double value) {
  const auto single = static_cast<float>(value);
  const uint16_t half = to_float16(single).bits;
  if (type == DataType::Float32) {
    std::memcpy(at, &single, sizeof(single));
  } else {
    std::memcpy(at, &half, sizeof(half));
  }
}

// A matrix whose columns are multiplied by scales.
class ScaledColumns : public mil::TensorSource {
 public:
  ScaledColumns(Value value, std::vector<float> scales)
      : value_(std::move(value)), scales_(std::move(scales)) {}

  uint64_t size() const override {
    return mil::packed_size(value_.type.data_type, value_.type.num_elements());
  }

  void read(uint64_t offset, MutableByteSpan out) const override {
    const DataType type = value_.type.data_type;
    const uint64_t width = static_cast<uint64_t>(mil::bit_width(type)) / 8;
    const uint64_t first = offset / width, last = (offset + out.size() + width - 1) / width;
    std::vector<std::byte> whole((last - first) * width);
    if (value_.source != nullptr) {
      value_.source->read(first * width, whole);
    } else {
      std::copy_n(value_.bytes.begin() + static_cast<ptrdiff_t>(first * width), whole.size(),
                  whole.begin());
    }
    for (uint64_t i = first; i < last; ++i) {
      std::byte* at = whole.data() + (i - first) * width;
      set_element(at, type, element(at, type) * double{scales_[i % scales_.size()]});
    }
    std::copy_n(whole.begin() + static_cast<ptrdiff_t>(offset - first * width), out.size(),
                out.begin());
  }

  void release() const noexcept override {
    if (value_.source != nullptr) value_.source->release();
  }

 private:
  Value value_;
  std::vector<float> scales_;  // one per column
};

// The moments of inputs that are divided by scales.
class ScaledStatistics : public compress::InputStatistics {
 public:
  ScaledStatistics(std::shared_ptr<compress::InputStatistics> statistics,
                   std::map<std::string, std::vector<float>> scales)
      : statistics_(std::move(statistics)), scales_(std::move(scales)) {}

  std::shared_ptr<const compress::InputMoments> moments(const std::string& weight) override {
    auto moments = statistics_->moments(weight);
    const auto scales = scales_.find(weight);
    if (moments == nullptr || scales == scales_.end()) return moments;
    auto result = std::make_shared<compress::InputMoments>(*moments);
    const auto size = static_cast<size_t>(result->size);
    for (size_t i = 0; i < size; ++i) {
      for (size_t j = i; j < size; ++j) {
        result->products[i * size + j] /= scales->second[i] * scales->second[j];
      }
    }
    return result;
  }

 private:
  std::shared_ptr<compress::InputStatistics> statistics_;
  std::map<std::string, std::vector<float>> scales_;  // by weight
};

const Value& constant_named(const mil::Block& block, const std::string& name) {
  for (const auto& operation : block.operations()) {
    const Value* value = operation->constant_value();
    if (value != nullptr && operation->output()->name == name) return *value;
  }
  fail(ErrorCode::Internal, "the program has no constant '{}'", name);
}

class Search {
 public:
  Search(const std::filesystem::path& package, const compress::Recipe& recipe,
         std::shared_ptr<compress::InputStatistics> statistics, int threads)
      : package_(package), recipe_(recipe), statistics_(std::move(statistics)), threads_(threads) {
    recipe_.rounds = 0;
  }

  InputScales run() {
    const mil::Model model = mil::read_package(package_);
    groups_ = norm_groups(model);
    if (groups_.empty()) return {};
    const auto plain = errors_with({});
    std::erase_if(groups_, [&](const NormGroup& group) {
      return std::any_of(group.weights.begin(), group.weights.end(),
                         [&](const std::string& weight) { return plain.count(weight) == 0; });
    });
    describe_columns(*only_block(model));
    InputScales best;
    std::map<std::string, double> least;
    for (const Exponents& exponents : kGrid) {
      const InputScales scales = scales_of(exponents);
      const auto errors = errors_with(scales);
      for (const NormGroup& group : groups_) {
        double ratio = 0;
        for (const std::string& weight : group.weights) {
          ratio += errors.at(weight) / std::max(plain.at(weight), 1e-300);
        }
        ratio /= static_cast<double>(group.weights.size());
        const auto [known, first] = least.emplace(group.norm, 1.0);
        if (!(ratio < known->second)) continue;
        known->second = ratio;
        best[group.norm] = scales.at(group.norm);
      }
    }
    return best;
  }

 private:
  // The output errors of all weights with known inputs.
  std::map<std::string, double> errors_with(const InputScales& scales) const {
    check_cancel();
    mil::Model model = mil::read_package(package_);
    apply(scales, model);
    std::map<std::string, std::vector<float>> by_weight;
    for (const NormGroup& group : groups_) {
      const auto found = scales.find(group.norm);
      if (found == scales.end()) continue;
      for (const std::string& weight : group.weights) by_weight[weight] = found->second;
    }
    auto result =
        compress::compress(model, recipe_, threads_,
                           std::make_shared<ScaledStatistics>(statistics_, std::move(by_weight)));
    std::map<std::string, double> errors;
    for (auto& weight : result.compressed) {
      const bool grouped = std::any_of(groups_.begin(), groups_.end(), [&](const auto& group) {
        return std::count(group.weights.begin(), group.weights.end(), weight.name) > 0;
      });
      if (!grouped) continue;
      const compress::Measure measure = weight.job->compute_measure();
      if (measure.calibrated) errors[weight.name] = measure.output_error;
      weight.job.reset();
    }
    return errors;
  }

  // Sets the roots of the inputs' moments and the magnitudes of the columns, in all matrices.
  void describe_columns(const mil::Block& block) {
    for (const NormGroup& group : groups_) {
      const auto size = static_cast<size_t>(group.inputs);
      const auto moments = statistics_->moments(group.weights.front());
      std::vector<double> roots(size), magnitudes(size);
      for (size_t i = 0; i < size; ++i) {
        roots[i] = std::sqrt(double{moments->products[i * (size + 1)]});
      }
      for (const std::string& weight : group.weights) {
        const Value& value = constant_named(block, weight);
        const auto bytes = value.read_bytes();
        const auto width = static_cast<size_t>(mil::bit_width(value.type.data_type) / 8);
        double energy = 0;
        std::vector<double> squares(size);
        for (size_t i = 0; i < bytes.size() / width; ++i) {
          const double one = element(bytes.data() + i * width, value.type.data_type);
          squares[i % size] += one * one;
          energy += one * one;
        }
        for (size_t i = 0; i < size; ++i) magnitudes[i] += squares[i] / std::max(energy, 1e-300);
      }
      for (double& magnitude : magnitudes) magnitude = std::sqrt(magnitude);
      roots_.push_back(std::move(roots));
      magnitudes_.push_back(std::move(magnitudes));
    }
  }

  InputScales scales_of(const Exponents& exponents) const {
    InputScales result;
    for (size_t g = 0; g < groups_.size(); ++g) {
      std::vector<double> logs;
      logs.reserve(roots_[g].size());
      double sum = 0;
      const auto floor_of = [](const std::vector<double>& values) {
        return std::max(kSmallestShare * *std::max_element(values.begin(), values.end()), 1e-30);
      };
      const double least_root = floor_of(roots_[g]), least_magnitude = floor_of(magnitudes_[g]);
      for (size_t i = 0; i < roots_[g].size(); ++i) {
        const double log =
            exponents.moment * std::log(std::max(roots_[g][i], least_root)) -
            exponents.magnitude * std::log(std::max(magnitudes_[g][i], least_magnitude));
        logs.push_back(log);
        sum += log;
      }
      std::vector<float>& scales = result[groups_[g].norm];
      scales.reserve(logs.size());
      for (const double log : logs) {
        const double scale = std::exp(log - sum / static_cast<double>(logs.size()));
        scales.push_back(static_cast<float>(std::clamp(scale, 1 / kLargestScale, kLargestScale)));
      }
    }
    return result;
  }

  const std::filesystem::path& package_;
  compress::Recipe recipe_;
  std::shared_ptr<compress::InputStatistics> statistics_;
  int threads_;
  std::vector<NormGroup> groups_;
  std::vector<std::vector<double>> roots_, magnitudes_;  // by group
};

}  // namespace

std::vector<NormGroup> norm_groups(const mil::Model& model) {
  std::vector<NormGroup> groups;
  const mil::Block* block = only_block(model);
  if (block == nullptr) return groups;
  Readers readers;
  add_readers(*block, readers);
  for (const auto& operation : block->operations()) {
    if (auto group = group_of(*operation, readers)) groups.push_back(*std::move(group));
  }
  return groups;
}

void apply(const InputScales& scales, mil::Model& model) {
  if (scales.empty()) return;
  std::map<std::string, std::pair<const std::vector<float>*, bool>> changes;  // columns or a norm
  for (const NormGroup& group : norm_groups(model)) {
    const auto found = scales.find(group.norm);
    if (found == scales.end()) continue;
    changes[group.norm] = {&found->second, false};
    for (const std::string& weight : group.weights) changes[weight] = {&found->second, true};
  }
  mil::Block& block = model.program.functions.begin()->second->block();
  for (const auto& operation : block.operations()) {
    if (operation->constant_value() == nullptr) continue;
    const auto change = changes.find(operation->output()->name);
    if (change == changes.end()) continue;
    Value& value = operation->attributes().at("val");
    const auto& [factors, columns] = change->second;
    if (columns) {
      auto source = std::make_shared<ScaledColumns>(value, *factors);
      value = Value::of_source(value.type, std::move(source));
      continue;
    }
    std::vector<double> norm = value.to_doubles();
    for (size_t i = 0; i < norm.size(); ++i) norm[i] /= double{(*factors)[i]};
    value = Value::of_floats(value.type.data_type, norm, value.type.dims);
  }
}

InputScales search_scales(const std::filesystem::path& package, const compress::Recipe& recipe,
                          const std::shared_ptr<compress::InputStatistics>& statistics,
                          int threads) {
  return Search(package, recipe, statistics, threads).run();
}

}  // namespace pippin::app
