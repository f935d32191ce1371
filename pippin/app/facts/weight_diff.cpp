#include "pippin/app/facts/weight_diff.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/base/numbers/float_convert.h"
#include "pippin/compress/expand.h"
#include "pippin/mil/ops/op.h"
#include "pippin/mil/package/weight_counts.h"

namespace pippin::app {
namespace {

using mil::DataType;

constexpr int64_t kMinElements = 10;  // smaller constants are parameters

struct NamedWeight {
  const mil::Value* value = nullptr;  // as the program computes with it
  std::string form;
};

// The weights of all functions by name. Equal names of several functions are one weight.
class Weights {
 public:
  explicit Weights(mil::Model& model) {
    for (auto& [name, function] : model.program.functions) {
      mil::Block& block = function->block();
      for (const auto& operation : block.operations()) {
        if (!mil::has_trait(*operation, mil::Trait::Compressed)) continue;
        forms_[operation->output()->name] = form_of(*operation);
        for (const auto& [parameter, argument] : operation->inputs()) {
          for (const mil::Binding& binding : argument) {
            if (mil::Var* const* var = std::get_if<mil::Var*>(&binding)) inner_.insert(*var);
          }
        }
      }
      expansions_.push_back(
          std::make_unique<compress::Expansion>(block, function->opset_version()));
      for (const auto& operation : block.operations()) add(*operation);
    }
  }

  const std::map<std::string, NamedWeight>& all() const { return all_; }

 private:
  static std::string spell(const mil::ValueType& type) {
    return fmt::format("{} [{}]", mil::to_string(type.data_type), fmt::join(type.dims, ", "));
  }

  // "constexpr_lut_to_dense (uint4), float16 [64, 64]"
  static std::string form_of(const mil::Operation& operation) {
    std::string stored;
    for (const auto& [name, argument] : operation.inputs()) {
      const mil::Value* const value = operation.constant_input(name);
      if (value == nullptr || mil::is_float(value->type.data_type)) continue;
      stored = fmt::format(" ({})", mil::to_string(value->type.data_type));
    }
    return fmt::format("{}{}, {}", operation.type(), stored, spell(operation.output()->type));
  }

  void add(const mil::Operation& operation) {
    const mil::Value* const value = operation.constant_value();
    if (value == nullptr || !value->type.is_static() || !mil::is_float(value->type.data_type) ||
        value->type.num_elements() < kMinElements) {
      return;
    }
    if (inner_.contains(operation.output())) return;
    const std::string& name = operation.output()->name;
    const auto compressed = forms_.find(name);
    all_.emplace(name, NamedWeight{value, compressed == forms_.end() ? spell(value->type)
                                                                     : compressed->second});
  }

  std::map<std::string, NamedWeight> all_;
  std::map<std::string, std::string> forms_;  // of compressed weights
  std::set<const mil::Var*> inner_;           // their scales and palettes
  std::vector<std::unique_ptr<compress::Expansion>> expansions_;
};

// The elements of a weight in order, some at a time.
class Reader {
 public:
  explicit Reader(const mil::Value& value) : value_(value), type_(value.type.data_type) {
    const bool converts =
        type_ == DataType::Float16 || type_ == DataType::Float32 || type_ == DataType::BFloat16;
    if (!converts) whole_ = value.to_doubles();
  }

  void read(size_t first, std::span<double> out) {
    if (!whole_.empty()) {
      std::copy_n(whole_.begin() + static_cast<ptrdiff_t>(first), out.size(), out.begin());
      return;
    }
    const size_t element = type_ == DataType::Float32 ? 4 : 2;
    bytes_.resize(out.size() * element);
    if (value_.source != nullptr) {
      value_.source->read(first * element, bytes_);
    } else {
      std::copy_n(value_.bytes.begin() + static_cast<ptrdiff_t>(first * element), bytes_.size(),
                  bytes_.begin());
    }
    floats_.resize(out.size());
    const auto to = std::as_writable_bytes(std::span(floats_));
    if (type_ == DataType::Float16) convert_f16_to_f32(bytes_.data(), to.data(), out.size());
    if (type_ == DataType::BFloat16) convert_bf16_to_f32(bytes_.data(), to.data(), out.size());
    if (type_ == DataType::Float32) std::copy(bytes_.begin(), bytes_.end(), to.begin());
    std::copy(floats_.begin(), floats_.end(), out.begin());
  }

 private:
  const mil::Value& value_;
  DataType type_;
  std::vector<double> whole_;
  std::vector<std::byte> bytes_;
  std::vector<float> floats_;
};

struct Sums {
  double error = 0, total = 0, largest = 0;
};

Sums sums_of(const mil::Value& a, const mil::Value& b) {
  constexpr size_t kPart = size_t{1} << 16;
  const auto count = static_cast<size_t>(a.type.num_elements());
  Reader from_a(a), from_b(b);
  std::vector<double> one(kPart), other(kPart);
  Sums sums;
  for (size_t first = 0; first < count; first += kPart) {
    const size_t size = std::min(kPart, count - first);
    from_a.read(first, std::span(one).first(size));
    from_b.read(first, std::span(other).first(size));
    for (size_t i = 0; i < size; ++i) {
      // Equal infinities, and NaN in both, count as equal.
      const bool same = one[i] == other[i] || (std::isnan(one[i]) && std::isnan(other[i]));
      const double difference = same ? 0.0 : std::abs(other[i] - one[i]);
      sums.error += difference * difference;
      sums.largest = difference <= sums.largest ? sums.largest : difference;
      if (std::isfinite(one[i])) sums.total += one[i] * one[i];
    }
  }
  if (a.source != nullptr) a.source->release();
  if (b.source != nullptr) b.source->release();
  return sums;
}

double ratio_of(const Sums& sums) {
  if (sums.error == 0) return 0;
  return sums.total == 0 ? double{INFINITY} : std::sqrt(sums.error / sums.total);
}

}  // namespace

WeightDiff compare_weights(mil::Model& a, mil::Model& b,
                           const std::function<void(uint64_t, uint64_t)>& progress) {
  WeightDiff diff;
  diff.bytes_a = mil::count_weights(a).bytes;
  diff.bytes_b = mil::count_weights(b).bytes;
  const Weights first(a), second(b);
  Sums all;
  uint64_t done = 0;
  for (const auto& [name, weight] : first.all()) {
    if (progress) progress(done++, first.all().size());
    const auto found = second.all().find(name);
    WeightChange change{name, weight.form, ""};
    if (found == second.all().end()) {
      diff.changes.push_back(change);
      continue;
    }
    const NamedWeight& other = found->second;
    change.form_b = other.form;
    change.has_error = weight.value->type.num_elements() == other.value->type.num_elements();
    if (change.has_error) {
      const Sums sums = sums_of(*weight.value, *other.value);
      all.error += sums.error;
      all.total += sums.total;
      change.relative_error = ratio_of(sums);
      change.largest_error = sums.largest;
    }
    if (change.has_error && change.largest_error == 0 && change.form_a == change.form_b) {
      ++diff.equal;
    } else {
      diff.changes.push_back(change);
    }
  }
  for (const auto& [name, weight] : second.all()) {
    if (!first.all().contains(name)) diff.changes.push_back({name, "", weight.form});
  }
  std::stable_sort(diff.changes.begin(), diff.changes.end(),
                   [](const WeightChange& x, const WeightChange& y) {
                     return x.relative_error > y.relative_error;
                   });
  diff.relative_error = ratio_of(all);
  if (progress) progress(first.all().size(), first.all().size());
  return diff;
}

}  // namespace pippin::app
