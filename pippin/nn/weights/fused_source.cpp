// A matrix of the base model with an adapter's change added while it streams.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <mutex>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/base/error.h"
#include "pippin/base/log.h"
#include "pippin/base/numbers/float_convert.h"
#include "pippin/mil/derived_source.h"
#include "pippin/nn/weights/adapter_rows.h"
#include "pippin/nn/weights/lora.h"
#include "pippin/nn/weights/weight_source.h"

namespace pippin::nn {
namespace {

// W + left · right with left (rows, rank), scaled, and right (rank, columns). Both are read on
// first use and freed by release().
class FusedSource : public mil::DerivedSource {
 public:
  FusedSource(std::shared_ptr<const mil::TensorSource> base,
              std::shared_ptr<const LoraAdapter> adapter, LowRank change, std::string_view name,
              int64_t rows, int64_t columns, mil::DataType type, std::vector<int64_t> taken)
      : base_(std::move(base)),
        adapter_(std::move(adapter)),
        change_(std::move(change)),
        name_(name),
        rows_(static_cast<size_t>(rows)),
        columns_(static_cast<size_t>(columns)),
        taken_(std::move(taken)),
        to_size_(static_cast<size_t>(mil::bit_width(type)) / 8) {}

  uint64_t size() const override { return rows_ * columns_ * to_size_; }

  void read(uint64_t offset, MutableByteSpan out) const override {
    constexpr size_t kPart = size_t{1} << 16;  // elements at a time
    const auto factors = load();
    std::vector<float> sum;
    while (!out.empty()) {
      const uint64_t first = offset / to_size_;
      const size_t inside = offset % to_size_;
      const size_t count = std::min((inside + out.size() + to_size_ - 1) / to_size_, kPart);
      sum.resize(count);
      base_->read(first * sizeof(float), std::as_writable_bytes(std::span(sum)));
      add(*factors, first, sum);
      const size_t taken = std::min(count * to_size_ - inside, out.size());
      store(sum, inside, out.first(taken));
      offset += taken;
      out = out.subspan(taken);
    }
  }

  bool describe(mil::Recipe& recipe) const override {
    recipe.step("with a change").number(static_cast<int64_t>(rows_));
    recipe.number(static_cast<int64_t>(columns_)).number(static_cast<int64_t>(to_size_));
    recipe.number(change_.rank).number(std::bit_cast<int64_t>(change_.scale));
    recipe.number(change_.embedding ? 1 : 0);
    for (const int64_t row : taken_) recipe.number(row);
    for (const std::string& name : {change_.a, change_.b}) {
      const TensorInfo& tensor = adapter_->checkpoint()->at(name);
      recipe.number(static_cast<int64_t>(tensor.dtype)).bytes(tensor.bytes);
    }
    return mil::describe_source(*base_, recipe);
  }

  void release() const noexcept override {
    base_->release();
    const std::lock_guard lock(mutex_);
    factors_.reset();
  }

 private:
  struct Factors {
    std::vector<float> left, right;
  };

  std::vector<float> read_factor(const std::string& name, bool transpose, double scale) const {
    const TensorInfo& tensor = adapter_->checkpoint()->at(name);
    const auto source = weight_source(adapter_->checkpoint(), name, mil::DataType::Float32);
    std::vector<float> values(source->size() / sizeof(float));
    source->read(0, std::as_writable_bytes(std::span(values)));
    for (float& value : values) value = static_cast<float>(value * scale);
    if (!transpose) return values;
    const auto rows = static_cast<size_t>(tensor.shape[0]), columns = values.size() / rows;
    std::vector<float> turned(values.size());
    for (size_t i = 0; i < rows; ++i) {
      for (size_t j = 0; j < columns; ++j) turned[j * rows + i] = values[i * columns + j];
    }
    return turned;
  }

  std::vector<float> rows_of(const std::vector<float>& left) const {
    std::vector<float> rows;
    rows.reserve(taken_.size() * static_cast<size_t>(change_.rank));
    for (const int64_t row : taken_) {
      const auto first = left.begin() + row * change_.rank;
      rows.insert(rows.end(), first, first + change_.rank);
    }
    return rows;
  }

  std::shared_ptr<const Factors> load() const {
    const std::lock_guard lock(mutex_);
    if (factors_ == nullptr) {
      Factors factors;
      // An embedding's change is the transpose of B A.
      factors.left =
          read_factor(change_.embedding ? change_.a : change_.b, change_.embedding, change_.scale);
      if (!taken_.empty()) factors.left = rows_of(factors.left);
      factors.right =
          read_factor(change_.embedding ? change_.b : change_.a, change_.embedding, 1.0);
      factors_ = std::make_shared<const Factors>(std::move(factors));
    }
    return factors_;
  }

  // Adds the change to the elements from `first` on.
  void add(const Factors& factors, uint64_t first, std::span<float> sum) const {
    const auto rank = static_cast<size_t>(change_.rank);
    while (!sum.empty()) {
      const size_t row = first / columns_, column = first % columns_;
      const size_t count = std::min(columns_ - column, sum.size());
      for (size_t k = 0; k < rank; ++k) {
        const float factor = factors.left[row * rank + k];
        const float* right = factors.right.data() + k * columns_ + column;
        for (size_t i = 0; i < count; ++i) sum[i] += factor * right[i];
      }
      first += count;
      sum = sum.subspan(count);
    }
  }

  void store(std::span<const float> sum, size_t inside, MutableByteSpan out) const {
    const auto bytes = std::as_bytes(sum);
    if (to_size_ == sizeof(float)) {
      std::memcpy(out.data(), bytes.data() + inside, out.size());
      return;
    }
    std::vector<std::byte> halves(sum.size() * to_size_);
    if (convert_f32_to_f16(bytes.data(), halves.data(), sum.size()) && !warned_.exchange(true)) {
      log_warn("{}: some values are beyond fp16 (65504) and become infinite", name_);
    }
    std::memcpy(out.data(), halves.data() + inside, out.size());
  }

  std::shared_ptr<const mil::TensorSource> base_;
  std::shared_ptr<const LoraAdapter> adapter_;
  LowRank change_;
  std::string name_;
  size_t rows_, columns_;
  std::vector<int64_t> taken_;  // rows of the left matrix; empty: all
  size_t to_size_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Factors> factors_;
  mutable std::atomic<bool> warned_{false};
};

}  // namespace

void check_change(const LoraAdapter& adapter, const LowRank& change, int64_t rows,
                  int64_t columns) {
  const auto check = [&](const std::string& name, int64_t first, int64_t second) {
    const std::vector<int64_t>& shape = adapter.checkpoint()->at(name).shape;
    if (shape == std::vector<int64_t>{first, second}) return;
    fail(
        ErrorCode::InvalidFile,
        "{}: tensor '{}' has shape [{}], the model needs [{}, {}]: the adapter is of another model",
        adapter.path().string(), name, fmt::join(shape, ", "), first, second);
  };
  check(change.a, change.rank, change.embedding ? rows : columns);
  check(change.b, change.embedding ? columns : rows, change.rank);
  if (change.magnitude.empty()) return;
  const std::vector<int64_t>& shape = adapter.checkpoint()->at(change.magnitude).shape;
  if (shape == std::vector<int64_t>{rows}) return;
  fail(ErrorCode::InvalidFile, "{}: tensor '{}' has shape [{}], the model needs [{}]",
       adapter.path().string(), change.magnitude, fmt::join(shape, ", "), rows);
}

std::shared_ptr<const mil::TensorSource> fused_source(std::shared_ptr<const mil::TensorSource> base,
                                                      std::shared_ptr<const LoraAdapter> adapter,
                                                      const LowRank& change, std::string_view name,
                                                      int64_t rows, int64_t columns,
                                                      mil::DataType type,
                                                      const AdapterRows& taken) {
  check_change(*adapter, change, change.embedding ? rows : taken.stored, columns);
  return std::make_shared<FusedSource>(std::move(base), std::move(adapter), change, name, rows,
                                       columns, type, taken.rows);
}

}  // namespace pippin::nn
