#include <functional>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/mil/ops/op.h"
#include "pippin/nn/weights/stored_weights.h"
#include "pippin/nn/weights/weight_source.h"

namespace pippin::nn {
namespace {

using array::Array;

// Ignores axes of size 1: a 1x1 convolution's matrix is a linear layer's.
std::vector<int64_t> without_ones(const std::vector<int64_t>& dims) {
  std::vector<int64_t> result;
  for (const int64_t size : dims) {
    if (size != 1) result.push_back(size);
  }
  return result;
}

class PackageWeights : public StoredWeights {
 public:
  explicit PackageWeights(std::vector<std::shared_ptr<const mil::Model>> packages)
      : packages_(std::move(packages)) {
    for (const auto& package : packages_) {
      const mil::Function& function = package->program.function(package->default_function);
      for (const auto& operation : function.block().operations()) {
        if (mil::is_constant(*operation))
          weights_.emplace(operation->output()->name, operation.get());
      }
    }
  }

  bool contains(std::string_view path) const override {
    return find(path) != nullptr || find(fmt::format("{}.0", parent(path))) != nullptr;
  }

  Array get(std::string_view path, const std::vector<int64_t>& dims,
            mil::DataType type) const override {
    if (const mil::Operation* stored = find(path)) return record(path, *stored, dims, type);
    return join(path, dims, type);
  }

 private:
  // "lm_head" of "lm_head.weight".
  static std::string_view parent(std::string_view path) { return path.substr(0, path.rfind('.')); }

  const mil::Operation* find(std::string_view path) const {
    const auto found = weights_.find(array::to_identifier(path));
    return found == weights_.end() ? nullptr : found->second;
  }

  static void check(std::string_view path, const mil::ValueType& stored,
                    const std::vector<int64_t>& dims, mil::DataType type) {
    // A vector stands for all elements: for norms with rows for heads.
    const bool fits = dims.size() == 1 ? stored.num_elements() == dims[0]
                                       : without_ones(stored.dims) == without_ones(dims);
    if (stored.data_type != type || !fits) {
      fail(ErrorCode::InvalidFile, "the package's weight '{}' is a {}, the model needs {} [{}]",
           path, mil::to_string(stored), mil::to_string(type), fmt::join(dims, ", "));
    }
  }

  static Array record(std::string_view path, const mil::Operation& stored,
                      const std::vector<int64_t>& dims, mil::DataType type) {
    check(path, stored.output()->type, dims, type);
    if (const mil::Value* constant = stored.constant_value()) {
      mil::Value value = *constant;
      value.type = mil::ValueType::tensor(type, dims);
      return array::constant(std::move(value), path);
    }
    if (stored.output()->type.dims != dims) {
      fail(ErrorCode::Unsupported,
           "'{}' is compressed as [{}], and the new shape needs [{}]: change the shape before "
           "compressing",
           path, fmt::join(stored.output()->type.dims, ", "), fmt::join(dims, ", "));
    }
    return array::named(expand(path, stored), path);
  }

  // Records the operation again, with its inputs.
  static Array expand(std::string_view path, const mil::Operation& stored) {
    if (stored.inputs().empty()) {
      fail(ErrorCode::Unsupported,
           "'{}' is compressed in the form of CoreML6 and 7, which cannot be recorded again", path);
    }
    std::vector<array::Param> params;
    for (const auto& [name, argument] : stored.inputs()) {
      const mil::Binding& binding = argument.at(0);
      if (const auto* literal = std::get_if<mil::Value>(&binding)) {
        params.emplace_back(name, *literal);
        continue;
      }
      const mil::Var* var = std::get<mil::Var*>(binding);
      const mil::Value* constant = mil::constant_of(var);
      params.emplace_back(name, constant != nullptr ? array::constant(*constant, var->name)
                                                    : expand(path, *var->producer));
    }
    return array::record_one(stored.type(), std::move(params));
  }

  // A head in parts: "lm_head.0.weight", "lm_head.1.weight", ...
  Array join(std::string_view path, const std::vector<int64_t>& dims, mil::DataType type) const {
    std::vector<std::shared_ptr<const mil::TensorSource>> parts;
    int64_t rows = 0;
    const std::string_view name = path.substr(parent(path).size());
    for (int64_t i = 0;; ++i) {
      const mil::Operation* part = find(fmt::format("{}.{}{}", parent(path), i, name));
      if (part == nullptr) break;
      std::vector<int64_t> part_dims = dims;
      part_dims.at(0) = part->output()->type.dims.at(0);
      check(path, part->output()->type, part_dims, type);
      if (part->constant_value() == nullptr) {
        fail(ErrorCode::Unsupported, "'{}' is compressed in parts, which cannot be joined", path);
      }
      rows += part_dims[0];
      parts.push_back(as_source(*part->constant_value()));
    }
    if (parts.empty() || rows != dims.at(0)) {
      fail(ErrorCode::NotFound, "the package has no weight '{}' of [{}]{}", path,
           fmt::join(dims, ", "),
           parts.empty() ? "" : fmt::format(" ({} parts with {} rows)", parts.size(), rows));
    }
    return array::weight(path, type, dims, joined_source(std::move(parts)));
  }

  static std::shared_ptr<const mil::TensorSource> as_source(const mil::Value& value) {
    return value.source != nullptr ? value.source : bytes_source(value.bytes);
  }

  std::vector<std::shared_ptr<const mil::Model>> packages_;
  std::map<std::string, const mil::Operation*, std::less<>> weights_;
};

}  // namespace

std::shared_ptr<const StoredWeights> package_weights(
    std::vector<std::shared_ptr<const mil::Model>> packages) {
  return std::make_shared<PackageWeights>(std::move(packages));
}

}  // namespace pippin::nn
