#include "pippin/nn/weights/parameters.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/base/log.h"
#include "pippin/mil/tensor.h"
#include "pippin/nn/weights/adapter_rows.h"
#include "pippin/nn/weights/constant_floats.h"
#include "pippin/nn/weights/packed_forms.h"
#include "pippin/nn/weights/weight_source.h"

namespace pippin::nn {

struct Parameters::Store {
  // The checkpoint or the adapter.
  std::shared_ptr<const Checkpoint> checkpoint;
  std::shared_ptr<const StoredWeights> stored;
  Precision precision;
  Style style;
  std::map<std::string, array::Array, std::less<>> arrays;  // by name and part
  std::set<std::string, std::less<>> used;                  // names in the checkpoint
  std::map<std::string, PackedPtr, std::less<>> packed;     // by name
  std::shared_ptr<RunAdapters> run_adapters;                // null: none
  bool warned_of_doubles = false;
};

struct Parameters::Adaptation {
  std::shared_ptr<const LoraAdapter> adapter;
  Adapting how;
  std::map<std::string, array::Array, std::less<>> arrays;  // arrays that do not come from the base
  std::set<std::string, std::less<>> used;                  // names in the adapter
};

Parameters::Parameters(std::shared_ptr<const Checkpoint> checkpoint, Precision precision,
                       const Style& style)
    : store_(std::make_shared<Store>()) {
  store_->checkpoint = std::move(checkpoint);
  store_->precision = precision;
  store_->style = style;
}

Parameters::Parameters(std::shared_ptr<const StoredWeights> stored, Precision precision,
                       const Style& style)
    : store_(std::make_shared<Store>()) {
  store_->stored = std::move(stored);
  store_->precision = precision;
  store_->style = style;
}

Parameters Parameters::adapted(std::shared_ptr<const LoraAdapter> adapter, Adapting how) const {
  if (store_->stored != nullptr && how == Adapting::Fuse) {
    fail(ErrorCode::Unsupported,
         "an adapter is fused into the weights of a checkpoint, not into those of a package");
  }
  auto adaptation = std::make_shared<Adaptation>();
  adaptation->adapter = std::move(adapter);
  adaptation->how = how;
  return Parameters(store_, std::move(adaptation), packed_, path_);
}

void Parameters::choose(std::shared_ptr<RunAdapters> adapters) const {
  store_->run_adapters = std::move(adapters);
}

const std::shared_ptr<RunAdapters>& Parameters::run_adapters() const {
  return store_->run_adapters;
}

Parameters Parameters::unpacking(std::shared_ptr<const PackedWeights> packed) const {
  return Parameters(store_, adaptation_, std::move(packed), path_);
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
  return Parameters(store_, adaptation_, packed_, full_name(name));
}

Parameters Parameters::parent() const {
  const size_t dot = path_.rfind('.');
  return Parameters(store_, adaptation_, packed_,
                    dot == path_.npos ? std::string() : path_.substr(0, dot));
}

bool Parameters::contains(std::string_view name) const {
  const std::string full = full_name(name);
  if (store_->stored) return store_->stored->contains(full);
  return store_->checkpoint->contains(full) || is_packed(full);
}

bool Parameters::holds(std::string_view name) const {
  return store_->checkpoint != nullptr && contains(name);
}

bool Parameters::has_beginning(std::string_view beginning) const {
  if (store_->checkpoint == nullptr) return true;
  const std::vector<std::string> names = store_->checkpoint->names();
  const auto first = std::lower_bound(names.begin(), names.end(), beginning);
  return first != names.end() && first->starts_with(beginning);
}

std::string Parameters::file() const {
  return store_->checkpoint ? store_->checkpoint->path().filename().string() : std::string();
}

std::vector<int64_t> Parameters::shape(std::string_view name) const {
  const TensorInfo* const tensor =
      store_->checkpoint ? store_->checkpoint->find(full_name(name)) : nullptr;
  return tensor != nullptr ? tensor->shape : std::vector<int64_t>();
}

Parameters::Found Parameters::find(const std::string& full,
                                   const std::vector<int64_t>& dims) const {
  const std::string* replaced = adaptation_ ? adaptation_->adapter->replacement_of(full) : nullptr;
  const auto& checkpoint = replaced ? adaptation_->adapter->checkpoint() : store_->checkpoint;
  const TensorInfo* tensor = checkpoint->find(replaced ? *replaced : full);
  const std::string file = checkpoint->path().filename().string();
  if (tensor == nullptr) {
    fail(ErrorCode::NotFound, "{}: tensor '{}' of shape [{}] is missing", file, full,
         fmt::join(dims, ", "));
  }
  if (tensor->shape != dims) {
    fail(ErrorCode::InvalidFile, "{}: tensor '{}' has shape [{}], the {} needs [{}]", file,
         tensor->name, fmt::join(tensor->shape, ", "), replaced ? "model" : "configuration",
         fmt::join(dims, ", "));
  }
  if (tensor->dtype == Dtype::F64 && !store_->warned_of_doubles) {
    store_->warned_of_doubles = true;
    log_warn("{}: tensor '{}' is F64; such tensors are converted to fewer bits", file,
             tensor->name);
  }
  store_->used.insert(full);
  if (replaced) adaptation_->used.insert(*replaced);
  return {checkpoint, *tensor};
}

const LowRank* Parameters::change() const {
  const LowRank* const change = adaptation_ ? adaptation_->adapter->change_of(path_) : nullptr;
  if (change != nullptr && !change->magnitude.empty()) {
    fail(ErrorCode::Unsupported,
         "{}: '{}' is a change by DoRA, which is not merged; it can be chosen when the model runs "
         "(--lora)",
         adaptation_->adapter->path().string(), change->magnitude);
  }
  return change;
}

bool Parameters::is_fused() const {
  return change() != nullptr && adaptation_->how == Adapting::Fuse;
}

array::Array Parameters::get(std::string_view name, const std::vector<int64_t>& dims) const {
  return get(name, dims, {});
}

array::Array Parameters::get(std::string_view name, const std::vector<int64_t>& dims,
                             const WeightLayout& layout) const {
  const std::string full = full_name(name);
  const std::string key = layout.part.empty() ? full : fmt::format("{}.{}", full, layout.part);
  if (is_stored(full)) return get_stored(key, dims, type());
  if (is_packed(full) && !is_replaced(full)) return get_packed(name, dims, layout);
  const AdapterRows rows = is_replaced(full)
                               ? adapter_rows(*adaptation_->adapter, path_, layout, dims.at(0))
                               : AdapterRows{layout.stored_rows, layout.rows};
  std::vector<int64_t> stored_dims = dims;
  if (rows.stored > 0) stored_dims.at(0) = rows.stored;
  const bool transposed = layout.transposed && dims.size() == 2;
  std::vector<int64_t> file_dims = stored_dims;
  if (transposed) std::swap(file_dims[0], file_dims[1]);
  const auto [checkpoint, tensor] = find(full, file_dims);
  const LowRank* change =
      name == "weight" && dims.size() == 2 && adaptation_ && adaptation_->how == Adapting::Fuse
          ? this->change()
          : nullptr;
  auto& arrays = checkpoint != store_->checkpoint || change ? adaptation_->arrays : store_->arrays;
  if (const auto found = arrays.find(key); found != arrays.end()) return found->second;

  const mil::DataType compute = store_->precision.compute;
  mil::DataType stored = store_->precision.keep_weight_types ? weight_type(tensor) : compute;
  if (change && stored == mil::DataType::BFloat16) stored = mil::DataType::Float32;
  // A sum is computed from the tensor's own values and rounded once.
  auto source = weight_source(checkpoint, tensor.name, change ? mil::DataType::Float32 : stored);
  const size_t element =
      static_cast<size_t>(mil::bit_width(change ? mil::DataType::Float32 : stored)) / 8;
  if (transposed) {
    source = transposed_source(std::move(source), static_cast<uint64_t>(stored_dims[0]),
                               static_cast<uint64_t>(stored_dims[1]), element);
  }
  if (!rows.rows.empty()) {
    const size_t row = stored_dims.size() == 2 ? static_cast<size_t>(stored_dims[1]) : 1;
    source = rows_source(std::move(source), row * element, rows.rows);
  }
  if (change) {
    source =
        fused_source(std::move(source), adaptation_->adapter, *change, tensor.name, dims[0],
                     dims[1], stored, adapter_rows(*adaptation_->adapter, path_, layout, dims[0]));
    adaptation_->used.insert({change->a, change->b});
  }
  array::Array value = array::weight(key, stored, dims, std::move(source));
  if (stored != compute) {
    const array::Scope scope(key);
    value = array::named(array::cast(value, compute), mil::to_string(compute));
  }
  return arrays.emplace(key, value).first->second;
}

// A tensor that an adapter replaces comes from the adapter's file.
bool Parameters::is_stored(const std::string& full) const {
  return store_->stored != nullptr && !is_replaced(full);
}

bool Parameters::is_replaced(const std::string& full) const {
  return adaptation_ && adaptation_->adapter->replacement_of(full) != nullptr;
}

array::Array Parameters::made(std::string_view name, const std::vector<int64_t>& dims,
                              const Maker& make, std::optional<mil::DataType> type) const {
  const std::string full = full_name(name);
  if (is_stored(full)) return get_stored(full, dims, type.value_or(this->type()));
  if (const auto found = store_->arrays.find(full); found != store_->arrays.end()) {
    return found->second;
  }
  return store_->arrays.emplace(full, make(full)).first->second;
}

Parameters::Found Parameters::tensor(std::string_view name,
                                     const std::vector<int64_t>& dims) const {
  return find(full_name(name), dims);
}

bool Parameters::keeps_weight_types() const {
  return store_->precision.keep_weight_types;
}

bool Parameters::is_packed(const std::string& full) const {
  return packed_ && store_->checkpoint && !packed_->tensors(*store_->checkpoint, full).empty();
}

PackedPtr Parameters::packed(std::string_view name, int64_t rows, int64_t columns) const {
  const std::string full = full_name(name);
  if (!is_packed(full)) return nullptr;
  auto found = store_->packed.find(full);
  if (found == store_->packed.end()) {
    found = store_->packed.emplace(full, packed_->matrix(store_->checkpoint, full, rows, columns))
                .first;
    for (const std::string& tensor : packed_->tensors(*store_->checkpoint, full)) {
      store_->used.insert(tensor);
    }
  }
  const PackedLayout& layout = found->second->layout();
  if (layout.rows != rows || layout.columns != columns) {
    fail(ErrorCode::InvalidFile, "tensor '{}' is a matrix [{}, {}], the model needs [{}, {}]", full,
         layout.rows, layout.columns, rows, columns);
  }
  return found->second;
}

std::vector<int64_t> Parameters::input_order(std::string_view name) const {
  const auto found = store_->packed.find(full_name(name));
  const bool values = style().convolutions || is_fused();
  if (found == store_->packed.end() || values ||
      becomes_values(found->second->layout(), store_->precision.compute)) {
    return {};
  }
  return found->second->layout().order;
}

std::vector<std::pair<std::string, PackedPtr>> Parameters::packed_matrices() const {
  return {store_->packed.begin(), store_->packed.end()};
}

// If the modules are convolutions, or an adapter is fused, the compressed forms of a matrix do not
// fit: its values.
array::Array Parameters::get_packed(std::string_view name, const std::vector<int64_t>& dims,
                                    const WeightLayout& layout) const {
  const std::string full = full_name(name);
  const std::string key = layout.part.empty() ? full : fmt::format("{}.{}", full, layout.part);
  const LowRank* change = is_fused() ? this->change() : nullptr;
  auto& arrays = change ? adaptation_->arrays : store_->arrays;
  if (const auto found = arrays.find(key); found != arrays.end()) return found->second;
  const int64_t stored_rows = layout.stored_rows > 0 ? layout.stored_rows : dims.at(0);
  PackedPtr matrix = packed(name, stored_rows, dims.at(1));
  const mil::DataType type = store_->precision.compute;
  if (!layout.rows.empty()) matrix = packed_rows(std::move(matrix), layout.rows);
  if (change == nullptr) {
    const array::Array value =
        style().convolutions ? array::weight(key, type, dims, packed_elements(matrix, type, full))
                             : packed_array(key, matrix, dims, type);
    return arrays.emplace(key, value).first->second;
  }
  auto source = fused_source(packed_elements(matrix, mil::DataType::Float32), adaptation_->adapter,
                             *change, full, dims[0], dims[1], type,
                             adapter_rows(*adaptation_->adapter, path_, layout, dims[0]));
  adaptation_->used.insert({change->a, change->b});
  return arrays.emplace(key, array::weight(key, type, dims, std::move(source))).first->second;
}

Parameters::Elements Parameters::elements(std::string_view name, const std::vector<int64_t>& dims,
                                          std::optional<mil::DataType> type) const {
  if (dims.size() == 2) {
    if (const PackedPtr matrix = packed(name, dims[0], dims[1])) {
      const mil::DataType as = type.value_or(this->type());
      return {packed_elements(matrix, as, full_name(name)), as};
    }
  }
  const Found found = tensor(name, dims);
  const mil::DataType own = keeps_weight_types() ? weight_type(found.tensor) : this->type();
  const mil::DataType as = type.value_or(own);
  return {weight_source(found.checkpoint, found.tensor.name, as), as};
}

array::Array Parameters::get_stored(const std::string& key, const std::vector<int64_t>& dims,
                                    mil::DataType type) const {
  if (const auto found = store_->arrays.find(key); found != store_->arrays.end()) {
    return found->second;
  }
  const array::Array value = store_->stored->get(key, dims, type);
  return store_->arrays.emplace(key, value).first->second;
}

std::optional<array::Array> Parameters::stored(std::string_view name, int64_t elements,
                                               std::optional<mil::DataType> type) const {
  const std::string full = full_name(name);
  if (!is_stored(full)) return std::nullopt;
  return get_stored(full, {elements}, type.value_or(this->type()));
}

std::optional<AdapterMatrices> Parameters::separate_matrices(int64_t out, int64_t in,
                                                             const WeightLayout& layout) const {
  const LowRank* change = this->change();
  if (change == nullptr || adaptation_->how == Adapting::Fuse) return std::nullopt;
  const AdapterRows rows = adapter_rows(*adaptation_->adapter, path_, layout, out);
  check_change(*adaptation_->adapter, *change, rows.stored, in);
  adaptation_->used.insert({change->a, change->b});
  const mil::DataType type = store_->precision.compute;
  const auto make = [&](const std::string& tensor, std::string_view name, bool transpose,
                        const std::vector<int64_t>& dims, const std::vector<int64_t>& taken) {
    const std::string key =
        fmt::format("{}.{}{}{}", path_, name, layout.part.empty() ? "" : ".", layout.part);
    if (const auto found = adaptation_->arrays.find(key); found != adaptation_->arrays.end()) {
      return found->second;
    }
    auto source = weight_source(adaptation_->adapter->checkpoint(), tensor, type);
    const size_t element = static_cast<size_t>(mil::bit_width(type)) / 8;
    if (transpose) {
      source = transposed_source(std::move(source), static_cast<uint64_t>(dims[0]),
                                 static_cast<uint64_t>(dims[1]), element);
    }
    if (!taken.empty()) {
      source = rows_source(std::move(source), static_cast<size_t>(dims[1]) * element, taken);
    }
    return adaptation_->arrays.emplace(key, array::weight(key, type, dims, std::move(source)))
        .first->second;
  };
  if (change->embedding) {
    array::Array a = make(change->a, "lora_embedding_A", true, {out, change->rank}, {});
    array::Array b = make(change->b, "lora_embedding_B", false, {in, change->rank}, {});
    return AdapterMatrices{std::move(a), std::move(b), change->scale};
  }
  array::Array a = make(change->a, "lora_A", false, {change->rank, in}, {});
  array::Array b = make(change->b, "lora_B", false, {out, change->rank}, rows.rows);
  return AdapterMatrices{std::move(a), std::move(b), change->scale};
}

std::optional<RunMatrices> Parameters::run_matrices(int64_t out, int64_t in,
                                                    const WeightLayout& layout,
                                                    bool is_table) const {
  if (store_->run_adapters == nullptr || layout.groups > 0) return std::nullopt;
  const auto read = [&] { return constant_floats(get("weight", {out, in}, layout)); };
  return store_->run_adapters->matrices({path_, out, in, is_table, keeps_weight_types()}, layout,
                                        type(), read);
}

std::optional<RunVectors> Parameters::run_vectors(std::string_view name, const array::Array& own,
                                                  const WeightLayout& layout,
                                                  std::function<double(double)> convert) const {
  if (store_->run_adapters == nullptr) return std::nullopt;
  const int64_t elements = mil::num_elements(*mil::constant_shape(own.shape()));
  return store_->run_adapters->vectors({path_, std::string(name), elements, std::move(convert)},
                                       layout, type(), [&] { return constant_floats(own); });
}

void Parameters::check(std::string_view name, const std::vector<int64_t>& dims) const {
  const std::string full = full_name(name);
  if (!is_stored(full) && (!is_packed(full) || is_replaced(full))) find(full, dims);
}

std::vector<double> Parameters::values(std::string_view name,
                                       const std::vector<int64_t>& dims) const {
  const std::string full = full_name(name);
  const auto [checkpoint, tensor] = find(full, dims);
  const mil::DataType type = weight_type(tensor);
  return mil::Value::of_source(mil::ValueType::tensor(type, dims),
                               weight_source(checkpoint, tensor.name, type))
      .to_doubles();
}

std::vector<int64_t> Parameters::integers(std::string_view name,
                                          const std::vector<int64_t>& dims) const {
  const auto [checkpoint, tensor] = find(full_name(name), dims);
  const bool narrow = tensor.dtype == Dtype::I32;
  if (!narrow && tensor.dtype != Dtype::I64) {
    fail(ErrorCode::InvalidFile, "tensor '{}' has type {}; I32 and I64 are supported", tensor.name,
         to_string(tensor.dtype));
  }
  ByteReader reader(tensor.bytes, tensor.name);
  std::vector<int64_t> values;
  const size_t count = tensor.bytes.size() / (narrow ? sizeof(int32_t) : sizeof(int64_t));
  values.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    values.push_back(narrow ? reader.read<int32_t>() : reader.read<int64_t>());
  }
  return values;
}

void Parameters::check_finite(std::string_view name, const std::vector<int64_t>& dims) const {
  const std::string full = full_name(name);
  if (is_stored(full) || is_packed(full)) return;
  const std::vector<double> all = values(name, dims);
  const auto wrong =
      std::find_if(all.begin(), all.end(), [](double x) { return !std::isfinite(x); });
  if (wrong == all.end()) return;
  std::vector<int64_t> place(dims.size());
  int64_t rest = wrong - all.begin();
  for (size_t axis = dims.size(); axis-- > 0; rest /= dims[axis]) place[axis] = rest % dims[axis];
  fail(ErrorCode::InvalidFile, "{}: tensor '{}' has {} at [{}], a finite number is expected",
       find(full, dims).checkpoint->path().filename().string(), full, *wrong,
       fmt::join(place, ", "));
}

namespace {

void refuse_unused(const Checkpoint& checkpoint, const std::set<std::string, std::less<>>& used,
                   std::span<const std::string_view> ignored, std::span<const std::string> others,
                   const PackedWeights* packed = nullptr) {
  std::vector<std::string> extra;
  for (const std::string& name : checkpoint.names()) {
    const bool known =
        used.contains(name) ||
        std::any_of(ignored.begin(), ignored.end(),
                    [&](std::string_view end) { return name.ends_with(end); }) ||
        std::any_of(others.begin(), others.end(),
                    [&](const std::string& begin) { return name.starts_with(begin); }) ||
        (packed != nullptr && packed->is_unused(checkpoint, checkpoint.at(name)));
    // Tensors without elements are those of parts of width 0.
    if (!known && checkpoint.at(name).num_elements() > 0) extra.push_back(name);
  }
  if (extra.empty()) return;
  const TensorInfo& first = checkpoint.at(extra.front());
  const std::string more =
      extra.size() > 1 ? fmt::format(" (and {} more)", extra.size() - 1) : std::string();
  fail(ErrorCode::InvalidFile, "{}: tensor '{}' of shape [{}] belongs to no part of the model{}",
       checkpoint.path().filename().string(), first.name, fmt::join(first.shape, ", "), more);
}

}  // namespace

void Parameters::check_all_used(std::span<const std::string_view> ignored,
                                std::span<const std::string> others) const {
  if (store_->checkpoint) {
    refuse_unused(*store_->checkpoint, store_->used, ignored, others, packed_.get());
  }
  if (adaptation_) refuse_unused(*adaptation_->adapter->checkpoint(), adaptation_->used, {}, {});
  if (store_->run_adapters) store_->run_adapters->check_all_used();
}

int64_t Parameters::num_parameters() const {
  int64_t total = 0;
  if (store_->stored) {
    for (const auto& [name, array] : store_->arrays) {
      total += mil::num_elements(*mil::constant_shape(array.shape()));
    }
  }
  for (const std::string& name : store_->used) {
    if (store_->checkpoint) total += store_->checkpoint->at(name).num_elements();
  }
  return total;
}

}  // namespace pippin::nn
