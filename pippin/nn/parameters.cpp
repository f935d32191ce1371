#include "pippin/nn/parameters.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/nn/weight_source.h"

namespace pippin::nn {

struct Parameters::Store {
  std::shared_ptr<const Checkpoint> checkpoint;
  Precision precision;
  std::map<std::string, array::Array, std::less<>> used;
};

Parameters::Parameters(std::shared_ptr<const Checkpoint> checkpoint, Precision precision)
    : store_(std::make_shared<Store>()) {
  store_->checkpoint = std::move(checkpoint);
  store_->precision = precision;
}

mil::DataType Parameters::type() const {
  return store_->precision.compute;
}

std::string Parameters::full_name(std::string_view name) const {
  return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
}

Parameters Parameters::at(std::string_view name) const {
  return Parameters(store_, full_name(name));
}

bool Parameters::contains(std::string_view name) const {
  return store_->checkpoint->contains(full_name(name));
}

array::Array Parameters::get(std::string_view name, const std::vector<int64_t>& dims) const {
  const std::string full = full_name(name);
  const Checkpoint& checkpoint = *store_->checkpoint;
  const TensorInfo* tensor = checkpoint.find(full);
  if (tensor == nullptr) {
    fail(ErrorCode::NotFound, "{}: tensor '{}' of shape [{}] is missing",
         checkpoint.path().filename().string(), full, fmt::join(dims, ", "));
  }
  if (tensor->shape != dims) {
    fail(ErrorCode::InvalidFile, "{}: tensor '{}' has shape [{}], the configuration needs [{}]",
         checkpoint.path().filename().string(), full, fmt::join(tensor->shape, ", "),
         fmt::join(dims, ", "));
  }
  if (const auto found = store_->used.find(full); found != store_->used.end()) {
    return found->second;
  }
  const mil::DataType compute = store_->precision.compute;
  const mil::DataType stored = store_->precision.keep_weight_types ? weight_type(*tensor) : compute;
  array::Array value =
      array::weight(full, stored, dims, weight_source(store_->checkpoint, full, stored));
  if (stored != compute) {
    const array::Scope scope(full);
    value = array::named(array::cast(value, compute), mil::to_string(compute));
  }
  return store_->used.emplace(full, value).first->second;
}

void Parameters::check_all_used(std::span<const std::string_view> ignored) const {
  std::vector<std::string> extra;
  for (const std::string& name : store_->checkpoint->names()) {
    const bool known = store_->used.find(name) != store_->used.end() ||
                       std::any_of(ignored.begin(), ignored.end(),
                                   [&](std::string_view end) { return name.ends_with(end); });
    if (!known) extra.push_back(name);
  }
  if (extra.empty()) return;
  const TensorInfo& first = store_->checkpoint->at(extra.front());
  const std::string more =
      extra.size() > 1 ? fmt::format(" (and {} more)", extra.size() - 1) : std::string();
  fail(ErrorCode::InvalidFile, "{}: tensor '{}' of shape [{}] belongs to no part of the model{}",
       store_->checkpoint->path().filename().string(), first.name, fmt::join(first.shape, ", "),
       more);
}

int64_t Parameters::num_parameters() const {
  int64_t total = 0;
  for (const auto& [name, value] : store_->used) {
    total += store_->checkpoint->at(name).num_elements();
  }
  return total;
}

}  // namespace pippin::nn
