#include "pippin/compress/expand.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <unordered_map>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/compress/rewrite.h"
#include "pippin/mil/check/evaluate.h"
#include "pippin/mil/ops/op.h"
#include "pippin/mil/tensor.h"

namespace pippin::compress {
namespace {

using mil::Block;
using mil::Operation;
using mil::Tensor;
using mil::Var;

bool is_constexpr(const Operation& operation) {
  return mil::has_trait(operation, mil::Trait::Compressed);
}

// Constants, and the results of constexpr operations on them.
class Constants : public mil::Environment {
 public:
  explicit Constants(mil::Opset opset) : opset_(opset) {}

  const Tensor& tensor_of(const Var* var) override {
    if (const auto found = tensors_.find(var); found != tensors_.end()) return found->second;
    if (const mil::Value* value = mil::constant_of(var)) {
      return tensors_[var] = mil::to_tensor(*value);
    }
    if (var->producer == nullptr || !is_constexpr(*var->producer)) {
      fail(ErrorCode::InvalidFile, "'{}' is not a constant", var->name);
    }
    auto results = mil::evaluate_operation(*var->producer, opset_, *this);
    for (size_t i = 0; i < results.size(); ++i) {
      tensors_[var->producer->outputs()[i].get()] = std::move(results[i]);
    }
    return tensors_.at(var);
  }

 private:
  mil::Opset opset_;
  std::map<const Var*, Tensor> tensors_;
};

using Operations = std::vector<std::unique_ptr<Operation>>;

// Computed when read; kept until the last byte is read.
class Dense : public mil::TensorSource {
 public:
  Dense(const Var* var, mil::Opset opset) : var_(var), opset_(opset) {}

  uint64_t size() const override {
    return mil::packed_size(var_->type.data_type, var_->type.num_elements());
  }
  void read(uint64_t offset, MutableByteSpan out) const override {
    const std::lock_guard lock(mutex_);
    if (offset > size() || out.size() > size() - offset) {
      fail(ErrorCode::InvalidArgument, "{} bytes at {} of a weight of {}", out.size(), offset,
           size());
    }
    if (bytes_.empty()) {
      Constants constants(opset_);
      bytes_ = mil::to_bytes(constants.tensor_of(var_));
    }
    std::copy_n(bytes_.begin() + static_cast<ptrdiff_t>(offset), out.size(), out.begin());
    if (offset + out.size() == size()) std::vector<std::byte>().swap(bytes_);
  }

  std::shared_ptr<Operations> owned;  // the operations that compute it, once removed

 private:
  const Var* var_;
  mil::Opset opset_;
  mutable std::mutex mutex_;
  mutable std::vector<std::byte> bytes_;
};

std::vector<Operation*> results_of(const Block& block) {
  std::set<const Var*> inner;  // used by constexpr operations
  for (const auto& operation : block.operations()) {
    if (!is_constexpr(*operation)) continue;
    for (const auto& [name, argument] : operation->inputs()) {
      for (const mil::Binding& binding : argument) {
        if (Var* const* var = std::get_if<Var*>(&binding)) inner.insert(*var);
      }
    }
  }
  std::vector<Operation*> result;
  for (const auto& operation : block.operations()) {
    if (!is_constexpr(*operation) || operation->outputs().size() != 1) continue;
    const Var* var = operation->output();
    if (inner.count(var) != 0 || !var->type.is_static()) continue;
    if (mil::is_float(var->type.data_type)) result.push_back(operation.get());
  }
  return result;
}

}  // namespace

struct Expansion::Impl {
  struct Entry {
    Operation *original, *constant;
    std::shared_ptr<Dense> source;
  };
  Block& block;
  std::vector<Entry> entries;
};

Expansion::Expansion(Block& block, mil::Opset opset) : impl_(new Impl{block, {}}) {
  std::unordered_map<const Var*, Var*> vars;
  Operations added;
  for (Operation* original : results_of(block)) {
    const Var* var = original->output();
    auto source = std::make_shared<Dense>(var, opset);
    auto constant = std::make_unique<Operation>("const");
    constant->attributes()["name"] = mil::Value::of_string(var->name);
    constant->attributes()["val"] = mil::Value::of_source(var->type, source);
    vars.emplace(var, constant->add_output(var->name, var->type));
    impl_->entries.push_back({original, constant.get(), std::move(source)});
    added.push_back(std::move(constant));
  }
  redirect(block, vars);
  Operations& operations = block.operations();
  operations.insert(operations.begin(), std::make_move_iterator(added.begin()),
                    std::make_move_iterator(added.end()));
}

Expansion::~Expansion() = default;

bool Expansion::is_expanded(const Operation* constant) const {
  return std::any_of(impl_->entries.begin(), impl_->entries.end(),
                     [&](const Impl::Entry& entry) { return entry.constant == constant; });
}

void Expansion::finish(const std::vector<const Operation*>& keep) {
  std::unordered_map<const Var*, Var*> back;
  std::set<const Operation*> constants, originals;
  auto owned = std::make_shared<Operations>();
  for (const Impl::Entry& entry : impl_->entries) {
    if (std::find(keep.begin(), keep.end(), entry.constant) != keep.end()) {
      originals.insert(entry.original);
      entry.source->owned = owned;
    } else {
      back.emplace(entry.constant->output(), entry.original->output());
      constants.insert(entry.constant);
    }
  }
  redirect(impl_->block, back);
  // Operations used only by a removed operation are removed too.
  Operations& operations = impl_->block.operations();
  for (size_t i = operations.size(); i-- > 0;) {
    Operation* operation = operations[i].get();
    if (originals.count(operation) == 0) continue;
    for (const auto& [name, argument] : operation->inputs()) {
      for (const mil::Binding& binding : argument) {
        Var* const* var = std::get_if<Var*>(&binding);
        if (var != nullptr && (*var)->producer != nullptr && is_constexpr(*(*var)->producer)) {
          originals.insert((*var)->producer);
        }
      }
    }
  }
  Operations kept;
  for (auto& operation : operations) {
    if (constants.count(operation.get()) != 0) continue;
    (originals.count(operation.get()) != 0 ? *owned : kept).push_back(std::move(operation));
  }
  operations = std::move(kept);
  impl_->entries.clear();
}

std::vector<std::string> compressed_names(const Block& block) {
  std::vector<std::string> names;
  for (const Operation* operation : results_of(block)) names.push_back(operation->output()->name);
  return names;
}

}  // namespace pippin::compress
