#include "pippin/nn/weights/run_adapters.h"

#include <algorithm>
#include <cmath>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/base/numbers/float_convert.h"
#include "pippin/nn/weights/adapter_rows.h"
#include "pippin/nn/weights/parameters.h"
#include "pippin/nn/weights/weight_source.h"

namespace pippin::nn {
namespace {

using mil::DataType;

// A matrix in rows.
struct Floats {
  size_t rows = 0, columns = 0;
  std::vector<float> values;

  std::span<float> row(size_t i) { return std::span(values).subspan(i * columns, columns); }
  std::span<const float> row(size_t i) const {
    return std::span(values).subspan(i * columns, columns);
  }
};

Floats read_tensor(const LoraAdapter& adapter, const std::string& name) {
  const TensorInfo& tensor = adapter.checkpoint()->at(name);
  const auto source = weight_source(adapter.checkpoint(), name, DataType::Float32);
  Floats result;
  result.rows = static_cast<size_t>(tensor.shape[0]);
  result.values.resize(source->size() / sizeof(float));
  result.columns = result.values.size() / result.rows;
  source->read(0, std::as_writable_bytes(std::span(result.values)));
  return result;
}

Floats turned(const Floats& matrix) {
  Floats result{matrix.columns, matrix.rows, std::vector<float>(matrix.values.size())};
  for (size_t i = 0; i < matrix.rows; ++i) {
    for (size_t j = 0; j < matrix.columns; ++j) result.row(j)[i] = matrix.row(i)[j];
  }
  return result;
}

double dot(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += double{a[i]} * double{b[i]};
  return sum;
}

// The lengths of the rows of w + scale * b · a.
std::vector<double> lengths_of_rows(Floats w, const Floats& a, const Floats& b, double scale) {
  std::vector<double> lengths;
  lengths.reserve(w.rows);
  for (size_t i = 0; i < w.rows; ++i) {
    const auto row = w.row(i);
    for (size_t k = 0; k < a.rows; ++k) {
      const auto factor = static_cast<float>(scale * double{b.row(i)[k]});
      const auto narrow = a.row(k);
      for (size_t j = 0; j < row.size(); ++j) row[j] += factor * narrow[j];
    }
    lengths.push_back(std::sqrt(dot(row, row)));
  }
  return lengths;
}

void take_rows(Floats& matrix, const std::vector<int64_t>& rows) {
  if (rows.empty()) return;
  Floats taken{rows.size(), matrix.columns, std::vector<float>(rows.size() * matrix.columns)};
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto row = std::as_const(matrix).row(static_cast<size_t>(rows[i]));
    std::copy(row.begin(), row.end(), taken.row(i).begin());
  }
  matrix = std::move(taken);
}

void append_rows(Floats& matrix, const Floats& more) {
  matrix.columns = more.columns;
  matrix.rows += more.rows;
  matrix.values.insert(matrix.values.end(), more.values.begin(), more.values.end());
}

void append_columns(Floats& matrix, const Floats& more) {
  if (matrix.values.empty()) {
    matrix = more;
    return;
  }
  Floats both{matrix.rows, matrix.columns + more.columns, {}};
  both.values.reserve(both.rows * both.columns);
  for (size_t i = 0; i < both.rows; ++i) {
    const auto left = std::as_const(matrix).row(i), right = more.row(i);
    both.values.insert(both.values.end(), left.begin(), left.end());
    both.values.insert(both.values.end(), right.begin(), right.end());
  }
  matrix = std::move(both);
}

array::Array as_type(const array::Array& stored, const std::string& name, DataType type) {
  if (stored.type() == type) return stored;
  const array::Scope scope(name);
  return array::named(array::cast(stored, type), mil::to_string(type));
}

void check_shape(const LoraAdapter& adapter, const TensorInfo& tensor,
                 const std::vector<int64_t>& dims) {
  if (tensor.shape == dims) return;
  fail(ErrorCode::InvalidFile,
       "{}: tensor '{}' has shape [{}], the model needs [{}]: the adapter is of another model",
       adapter.path().string(), tensor.name, fmt::join(tensor.shape, ", "), fmt::join(dims, ", "));
}

// As elements of fp16 if all fit, else of fp32; a cast gives the type of activations.
array::Array stored_array(const std::string& name, const Floats& matrix, bool halves,
                          DataType type) {
  const std::vector<int64_t> dims = {static_cast<int64_t>(matrix.rows),
                                     static_cast<int64_t>(matrix.columns)};
  const ByteSpan bytes = std::as_bytes(std::span(matrix.values));
  std::vector<std::byte> packed(bytes.begin(), bytes.end());
  DataType stored = DataType::Float32;
  if (halves || type == DataType::Float16) {
    std::vector<std::byte> narrow(matrix.values.size() * 2);
    const bool beyond = convert_f32_to_f16(bytes.data(), narrow.data(), matrix.values.size());
    if (beyond && type == DataType::Float16) {
      fail(ErrorCode::Unsupported, "'{}': an adapter's values are beyond fp16 (65504)", name);
    }
    if (!beyond) {
      packed = std::move(narrow);
      stored = DataType::Float16;
    }
  }
  const array::Array array = array::weight(name, stored, dims, bytes_source(std::move(packed)));
  return as_type(array, name, type);
}

bool is_half(const LoraAdapter& adapter, const std::string& name) {
  return adapter.checkpoint()->at(name).dtype == Dtype::F16;
}

}  // namespace

array::Array RunMatrices::add_to(const array::Array& y, const Multiply& multiply) const {
  array::Array sum = y;
  if (narrow && narrow->lengths) {
    const array::Array by_row = adapters->by_number(*narrow->lengths, "dora_lengths");
    sum = sum + array::named(y * by_row, "dora_scaled");
  }
  if (narrow) {
    const array::Array scales = adapters->by_rank(narrow->owners, narrow->factors);
    const array::Array scaled = array::named(multiply(narrow->a, "lora_A") * scales, "lora_scaled");
    sum = sum + array::named(array::linear(scaled, narrow->b, std::nullopt), "lora_B");
  }
  for (const Whole& whole : wholes) {
    const array::Array number =
        array::slice_axis(adapters->numbers_.value(), 0, whole.owner, whole.owner + 1);
    const array::Array own = multiply(whole.matrix, "replacement");
    sum = sum + array::named((own - y) * number, "replacement_change");
  }
  return sum;
}

array::Array RunVectors::sum() const {
  return adapters->by_number(changes, "replacement_change");
}

RunAdapters::RunAdapters(std::vector<std::shared_ptr<const LoraAdapter>> adapters, bool halves)
    : adapters_(std::move(adapters)), halves_(halves), used_(adapters_.size()) {
  if (adapters_.empty()) fail(ErrorCode::InvalidArgument, "no adapters to choose from");
}

array::Array RunAdapters::by_number(const array::Array& columns, std::string_view name) const {
  const array::Array numbers = array::expand_dims(numbers_.value(), {0});
  return array::named(array::linear(numbers, columns, std::nullopt), name);
}

void RunAdapters::begin_function(array::Array numbers) {
  numbers_ = std::move(numbers);
  by_rank_.clear();
}

array::Array RunAdapters::by_rank(const std::vector<int64_t>& owners,
                                  const std::vector<double>& factors) {
  const auto key = std::pair(owners, factors);
  for (const auto& [known, array] : by_rank_) {
    if (known == key) return array;
  }
  const array::Array& numbers = numbers_.value();
  array::Array result =
      array::named(array::gather(numbers, array::constant(std::span(owners)), 0), "lora_numbers");
  if (std::any_of(factors.begin(), factors.end(), [](double factor) { return factor != 1.0; })) {
    const array::Array scales = array::constant(
        numbers.type(), {static_cast<int64_t>(factors.size())}, factors, "lora_scale");
    result = array::named(result * scales, "lora_scales");
  }
  by_rank_.emplace_back(key, result);
  return result;
}

std::optional<RunMatrices> RunAdapters::matrices(const Module& module, const WeightLayout& layout,
                                                 DataType type, const ReadMatrix& read) {
  const std::string key =
      layout.part.empty() ? module.path : fmt::format("{}.{}", module.path, layout.part);
  if (const auto found = made_.find(key); found != made_.end()) {
    RunMatrices known = found->second;
    known.adapters = shared_from_this();
    return known;
  }
  RunMatrices result{nullptr, narrow(module, layout, type, read), wholes(module, layout, type)};
  if (!result.narrow && result.wholes.empty()) return std::nullopt;
  made_.emplace(key, result);
  result.adapters = shared_from_this();
  return result;
}

std::optional<RunMatrices::Narrow> RunAdapters::narrow(const Module& module,
                                                       const WeightLayout& layout, DataType type,
                                                       const ReadMatrix& read) {
  const std::string part = layout.part.empty() ? "" : "." + layout.part;
  Floats all_a, all_b, all_lengths;
  std::vector<int64_t> owners;
  std::vector<double> factors;
  bool halves = true;
  for (size_t i = 0; i < adapters_.size(); ++i) {
    const LoraAdapter& adapter = *adapters_[i];
    const LowRank* const change = adapter.change_of(module.path);
    if (change == nullptr) continue;
    if (change->embedding != module.is_table) {
      fail(ErrorCode::InvalidFile, "{}: tensor '{}' changes a {}, in the model '{}' is a {}",
           adapter.path().string(), change->a, change->embedding ? "table" : "linear layer",
           module.path, module.is_table ? "table" : "linear layer");
    }
    const AdapterRows rows = adapter_rows(adapter, module.path, layout, module.rows);
    check_change(adapter, *change, rows.stored, module.columns);
    Floats a = read_tensor(adapter, change->a), b = read_tensor(adapter, change->b);
    halves = halves && is_half(adapter, change->a) && is_half(adapter, change->b);
    used_[i].insert({change->a, change->b});
    take_rows(b, rows.rows);
    if (!change->magnitude.empty()) {
      used_[i].insert(change->magnitude);
      halves = false;
      Floats m = read_tensor(adapter, change->magnitude);
      take_rows(m, rows.rows);
      if (all_lengths.values.empty()) {
        all_lengths = {b.rows, adapters_.size(), std::vector<float>(b.rows * adapters_.size())};
      }
      const auto width = static_cast<size_t>(module.columns);
      const std::vector<double> own = lengths_of_rows({b.rows, width, read()}, a, b, change->scale);
      for (size_t row = 0; row < own.size(); ++row) {
        if (!(own[row] > 0)) {
          fail(
              ErrorCode::InvalidFile,
              "{}: '{}': row {} of the matrix with its change has length {}, which DoRA divides by",
              adapter.path().string(), module.path, row, own[row]);
        }
        const double c = double{m.values[row]} / own[row];
        all_lengths.row(row)[i] = static_cast<float>(c - 1.0);
        for (float& value : b.row(row)) value = static_cast<float>(c * double{value});
      }
    }
    if (module.is_table) {
      append_columns(all_a, turned(a));
    } else {
      append_rows(all_a, a);
    }
    append_columns(all_b, b);
    owners.insert(owners.end(), static_cast<size_t>(change->rank), static_cast<int64_t>(i));
    factors.insert(factors.end(), static_cast<size_t>(change->rank), change->scale);
  }
  if (owners.empty()) return std::nullopt;
  halves = halves || halves_;
  const char* const names = module.is_table ? "lora_embedding_" : "lora_";
  RunMatrices::Narrow result{
      stored_array(fmt::format("{}.{}A{}", module.path, names, part), all_a, halves, type),
      stored_array(fmt::format("{}.{}B{}", module.path, names, part), all_b, halves, type),
      std::move(owners), std::move(factors), std::nullopt};
  if (!all_lengths.values.empty()) {
    result.lengths =
        stored_array(fmt::format("{}.dora_lengths{}", module.path, part), all_lengths, false, type);
  }
  return result;
}

std::vector<RunMatrices::Whole> RunAdapters::wholes(const Module& module,
                                                    const WeightLayout& layout, DataType type) {
  std::vector<RunMatrices::Whole> result;
  for (size_t i = 0; i < adapters_.size(); ++i) {
    const LoraAdapter& adapter = *adapters_[i];
    const std::string* const name = adapter.replacement_of(module.path + ".weight");
    if (name == nullptr) continue;
    const AdapterRows rows = adapter_rows(adapter, module.path, layout, module.rows);
    const TensorInfo& tensor = adapter.checkpoint()->at(*name);
    std::vector<int64_t> dims = {rows.stored, module.columns};
    if (layout.transposed) std::swap(dims[0], dims[1]);
    check_shape(adapter, tensor, dims);
    used_[i].insert(*name);
    const DataType stored = halves_ || type == DataType::Float16 ? DataType::Float16
                            : module.keeps_weight_types          ? weight_type(tensor)
                                                                 : type;
    const size_t element = static_cast<size_t>(mil::bit_width(stored)) / 8;
    auto source = weight_source(adapter.checkpoint(), *name, stored);
    if (layout.transposed) {
      source = transposed_source(std::move(source), static_cast<uint64_t>(rows.stored),
                                 static_cast<uint64_t>(module.columns), element);
    }
    if (!rows.rows.empty()) {
      source =
          rows_source(std::move(source), static_cast<size_t>(module.columns) * element, rows.rows);
    }
    const std::string key = fmt::format("{}.replacement_{}{}{}", module.path, i,
                                        layout.part.empty() ? "" : ".", layout.part);
    result.push_back(
        {static_cast<int64_t>(i),
         as_type(array::weight(key, stored, {module.rows, module.columns}, std::move(source)), key,
                 type)});
  }
  return result;
}

std::optional<RunVectors> RunAdapters::vectors(const Vector& vector, const WeightLayout& layout,
                                               DataType type, const ReadMatrix& read) {
  const std::string tensor = fmt::format("{}.{}", vector.path, vector.name);
  const std::string key = layout.part.empty() ? tensor : fmt::format("{}.{}", tensor, layout.part);
  if (const auto found = vectors_.find(key); found != vectors_.end()) {
    return RunVectors{shared_from_this(), found->second};
  }
  Floats changes;
  std::vector<float> own;
  for (size_t i = 0; i < adapters_.size(); ++i) {
    const LoraAdapter& adapter = *adapters_[i];
    const std::string* const name = adapter.replacement_of(tensor);
    if (name == nullptr) continue;
    const AdapterRows rows = adapter_rows(adapter, vector.path, layout, vector.elements);
    check_shape(adapter, adapter.checkpoint()->at(*name), {rows.stored});
    Floats other = read_tensor(adapter, *name);
    used_[i].insert(*name);
    take_rows(other, rows.rows);
    if (own.empty()) {
      own = read();
      changes = {own.size(), adapters_.size(), std::vector<float>(own.size() * adapters_.size())};
    }
    for (size_t k = 0; k < own.size(); ++k) {
      const double value = double{other.values[k]};
      changes.row(k)[i] =
          static_cast<float>((vector.convert ? vector.convert(value) : value) - double{own[k]});
    }
  }
  if (own.empty()) return std::nullopt;
  const array::Array stored = stored_array(fmt::format("{}.changes", key), changes, false, type);
  vectors_.emplace(key, stored);
  return RunVectors{shared_from_this(), stored};
}

void RunAdapters::check_all_used() const {
  for (size_t i = 0; i < adapters_.size(); ++i) {
    const LoraAdapter& adapter = *adapters_[i];
    for (const auto& [tensor, name] : adapter.replacements()) {
      if (used_[i].contains(name)) continue;
      fail(ErrorCode::Unsupported,
           "{}: tensor '{}' replaces one of the model's that runs cannot exchange (they can those "
           "of linear layers, tables, norms and biases): merge the adapter (--adapter; `pippin "
           "convert --fuse-adapter`)",
           adapter.path().string(), name);
    }
    std::vector<std::string> extra;
    for (const std::string& name : adapter.checkpoint()->names()) {
      if (!used_[i].contains(name)) extra.push_back(name);
    }
    if (extra.empty()) continue;
    const TensorInfo& first = adapter.checkpoint()->at(extra.front());
    const std::string more =
        extra.size() > 1 ? fmt::format(" (and {} more)", extra.size() - 1) : std::string();
    fail(ErrorCode::InvalidFile,
         "{}: tensor '{}' of shape [{}] changes no linear layer of the model{}",
         adapter.path().string(), first.name, fmt::join(first.shape, ", "), more);
  }
}

}  // namespace pippin::nn
