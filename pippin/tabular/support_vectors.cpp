#include "pippin/tabular/support_vectors.h"

#include <cmath>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/tabular/feature_row.h"

namespace pippin::tabular {
namespace {

double square(double x) {
  return x * x;
}

}  // namespace

Kernel::Kernel(const proto::Kernel& message) {
  switch (message.kernel_case()) {
    case proto::Kernel::kLinear:
      return;
    case proto::Kernel::kRbf:
      kind_ = Kind::Rbf;
      gamma_ = message.rbf().gamma();
      return;
    case proto::Kernel::kPoly:
      kind_ = Kind::Poly;
      degree_ = message.poly().degree();
      c_ = message.poly().c();
      gamma_ = message.poly().gamma();
      return;
    case proto::Kernel::kSigmoid:
      kind_ = Kind::Sigmoid;
      c_ = message.sigmoid().c();
      gamma_ = message.sigmoid().gamma();
      return;
    case proto::Kernel::KERNEL_NOT_SET:
      break;
  }
  fail(ErrorCode::InvalidFile, "the support vectors have no kernel");
}

double Kernel::of(double value) const {
  switch (kind_) {
    case Kind::Linear:
      return value;
    case Kind::Rbf:
      return std::exp(-gamma_ * value);
    case Kind::Poly:
      return std::pow(gamma_ * value + c_, degree_);
    case Kind::Sigmoid:
      return std::tanh(gamma_ * value + c_);
  }
  return value;
}

std::string Kernel::text() const {
  switch (kind_) {
    case Kind::Linear:
      return "linear";
    case Kind::Rbf:
      return fmt::format("rbf (gamma {})", gamma_);
    case Kind::Poly:
      return fmt::format("polynomial (gamma {}, c {}, degree {})", gamma_, c_, degree_);
    case Kind::Sigmoid:
      return fmt::format("sigmoid (gamma {}, c {})", gamma_, c_);
  }
  return {};
}

SupportVectors::SupportVectors(const proto::Kernel& kernel, const proto::SparseVectors* sparse,
                               const proto::DenseVectors* dense)
    : kernel_(kernel), is_dense_(dense != nullptr) {
  if (sparse == nullptr && dense == nullptr)
    fail(ErrorCode::InvalidFile, "the model has no support vectors");
  if (is_dense_) {
    for (const proto::Doubles& vector : dense->vectors()) {
      const auto size = static_cast<size_t>(vector.values_size());
      if (starts_.size() > 1 && size != width_) {
        fail(ErrorCode::InvalidFile, "a support vector has {} numbers, the first has {}", size,
             width_);
      }
      width_ = size;
      values_.insert(values_.end(), vector.values().begin(), vector.values().end());
      starts_.push_back(values_.size());
    }
    return;
  }
  for (const proto::SparseVector& vector : sparse->vectors()) {
    int32_t last = 0;
    for (const proto::SparseNode& node : vector.nodes()) {
      if (node.index() <= last || node.index() > kMaxRowSize) {
        fail(ErrorCode::InvalidFile, "a support vector has index {} after {}", node.index(), last);
      }
      last = node.index();
      positions_.push_back(static_cast<uint32_t>(last - 1));
      values_.push_back(node.value());
    }
    width_ = std::max(width_, static_cast<size_t>(last));
    starts_.push_back(values_.size());
  }
}

double SupportVectors::dot(size_t vector, const std::vector<double>& row) const {
  double sum = 0;
  for (size_t i = starts_[vector]; i < starts_[vector + 1]; ++i) {
    sum += values_[i] * row[is_dense_ ? i - starts_[vector] : positions_[i]];
  }
  return sum;
}

double SupportVectors::squared_distance(size_t vector, const std::vector<double>& row) const {
  double sum = 0;
  size_t next = 0;  // the first position of the row not yet summed
  for (size_t i = starts_[vector]; i < starts_[vector + 1]; ++i) {
    const size_t position = is_dense_ ? i - starts_[vector] : positions_[i];
    for (; next < position; ++next) sum += square(row[next]);
    sum += square(row[position] - values_[i]);
    next = position + 1;
  }
  for (; next < row.size(); ++next) sum += square(row[next]);
  return sum;
}

std::vector<double> SupportVectors::kernels(const std::vector<double>& row) const {
  std::vector<double> result(size());
  for (size_t i = 0; i < result.size(); ++i) {
    result[i] = kernel_.of(kernel_.uses_distance() ? squared_distance(i, row) : dot(i, row));
  }
  return result;
}

}  // namespace pippin::tabular
