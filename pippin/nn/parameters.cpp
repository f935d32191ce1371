#include "pippin/nn/parameters.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/base/log.h"
#include "pippin/nn/weight_source.h"

namespace pippin::nn {

struct Parameters::Store {
  std::shared_ptr<const Checkpoint> checkpoint;
  Precision precision;
  Style style;
  std::map<std::string, array::Array, std::less<>> arrays;  // by name and part
  std::set<std::string, std::less<>> used;                  // names in the checkpoint
  bool warned_of_doubles = false;
};

Parameters::Parameters(std::shared_ptr<const Checkpoint> checkpoint, Precision precision,
                       const Style& style)
    : store_(std::make_shared<Store>()) {
  store_->checkpoint = std::move(checkpoint);
  store_->precision = precision;
  store_->style = style;
}

mil::DataType Parameters::type() const {
  return store_->precision.compute;
}

const Style& Parameters::style() const {
  return store_->style;
}

std::string Parameters::full_name(std::string_view name) const {
  return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
}

Parameters Parameters::at(std::string_view name) const {
  if (name.empty()) return *this;
  return Parameters(store_, full_name(name));
}

bool Parameters::contains(std::string_view name) const {
  return store_->checkpoint->contains(full_name(name));
}

const TensorInfo& Parameters::find(const std::string& full,
                                   const std::vector<int64_t>& dims) const {
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
  if (tensor->dtype == Dtype::F64 && !store_->warned_of_doubles) {
    store_->warned_of_doubles = true;
    log_warn("{}: tensor '{}' is F64; such tensors are converted to fewer bits",
             checkpoint.path().filename().string(), full);
  }
  store_->used.insert(full);
  return *tensor;
}

array::Array Parameters::get(std::string_view name, const std::vector<int64_t>& dims) const {
  return get(name, dims, {});
}

array::Array Parameters::get(std::string_view name, const std::vector<int64_t>& dims,
                             const WeightLayout& layout) const {
  const std::string full = full_name(name);
  std::vector<int64_t> stored_dims = dims;
  if (layout.stored_rows > 0) stored_dims.at(0) = layout.stored_rows;
  const bool transposed = layout.transposed && dims.size() == 2;
  std::vector<int64_t> file_dims = stored_dims;
  if (transposed) std::swap(file_dims[0], file_dims[1]);
  const TensorInfo& tensor = find(full, file_dims);
  const std::string key = layout.part.empty() ? full : fmt::format("{}.{}", full, layout.part);
  if (const auto found = store_->arrays.find(key); found != store_->arrays.end()) {
    return found->second;
  }
  const mil::DataType compute = store_->precision.compute;
  const mil::DataType stored = store_->precision.keep_weight_types ? weight_type(tensor) : compute;
  auto source = weight_source(store_->checkpoint, full, stored);
  const size_t element = static_cast<size_t>(mil::bit_width(stored)) / 8;
  if (transposed) {
    source = transposed_source(std::move(source), static_cast<uint64_t>(stored_dims[0]),
                               static_cast<uint64_t>(stored_dims[1]), element);
  }
  if (!layout.rows.empty()) {
    const size_t row = stored_dims.size() == 2 ? static_cast<size_t>(stored_dims[1]) : 1;
    source = rows_source(std::move(source), row * element, layout.rows);
  }
  array::Array value = array::weight(key, stored, dims, std::move(source));
  if (stored != compute) {
    const array::Scope scope(key);
    value = array::named(array::cast(value, compute), mil::to_string(compute));
  }
  return store_->arrays.emplace(key, value).first->second;
}

void Parameters::check(std::string_view name, const std::vector<int64_t>& dims) const {
  find(full_name(name), dims);
}

std::vector<double> Parameters::values(std::string_view name,
                                       const std::vector<int64_t>& dims) const {
  const std::string full = full_name(name);
  const TensorInfo& tensor = find(full, dims);
  const mil::DataType type = weight_type(tensor);
  return mil::Value::of_source(mil::ValueType::tensor(type, dims),
                               weight_source(store_->checkpoint, full, type))
      .to_doubles();
}

void Parameters::check_all_used(std::span<const std::string_view> ignored) const {
  std::vector<std::string> extra;
  for (const std::string& name : store_->checkpoint->names()) {
    const bool known = store_->used.contains(name) ||
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
  for (const std::string& name : store_->used) {
    total += store_->checkpoint->at(name).num_elements();
  }
  return total;
}

}  // namespace pippin::nn
