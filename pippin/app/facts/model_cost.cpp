#include "pippin/app/facts/model_cost.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "pippin/app/open/programs.h"
#include "pippin/families/stateful.h"
#include "pippin/kernels/ggml_blocks/ggml_blocks.h"
#include "pippin/mil/derived_source.h"
#include "pippin/mil/ops/op.h"

namespace pippin::app {
namespace {

using mil::Operation;
using mil::Var;

// Whether the operation changes only the form of the weight, not its number of elements.
bool is_form_of_weight(const Operation& operation) {
  return mil::has_trait(operation, mil::Trait::Compressed) || mil::keeps_elements(operation);
}

// The uses of a function's values, from its last operation to its first.
struct Use {
  bool read = false;  // as a whole
  bool multiplied = false;
  bool elements = false;  // as a weight, not as packing information
  bool logits = false;    // multiplied to compute the logits that the function returns
  double share = 1;       // fraction of its matrices (experts) used per token
};

// The fraction of the matrices [experts, n, k] multiplied or gathered by an operation that a token
// needs: from a one_hot with as many classes, or with the next larger number (experts without
// matrices).
class ExpertShares {
 public:
  explicit ExpertShares(const std::vector<const Operation*>& operations) {
    for (const Operation* operation : operations) {
      const Var* indices = operation->input_var("indices");
      const mil::Value* places = operation->constant_input("one_hot_vector_size");
      if (operation->type() != "one_hot" || indices == nullptr || places == nullptr) continue;
      const auto& dims = indices->type.dims;
      if (!dims.empty() && dims.back() > 0) chosen_[places->to_ints().at(0)] = dims.back();
    }
  }

  double of(const Operation& operation, std::string_view name) const {
    const Var* var = operation.input_var(name);
    if (var == nullptr || var->type.dims.size() != 3 || var->type.dims[0] < 2) return 1;
    const auto experts = static_cast<double>(var->type.dims[0]);
    if (operation.type() == "gather" && name == "x") {
      const Var* indices = operation.input_var("indices");
      const bool few =
          indices != nullptr && indices->type.dims.size() == 1 && indices->type.dims[0] > 0;
      return few ? std::min(1.0, static_cast<double>(indices->type.dims[0]) / experts) : 1;
    }
    const auto found = chosen_.lower_bound(var->type.dims[0]);
    if (operation.type() != "matmul" || name != "y" || found == chosen_.end()) return 1;
    return std::min(1.0, static_cast<double>(found->second) / static_cast<double>(found->first));
  }

 private:
  std::map<int64_t, int64_t> chosen_;  // by number of classes
};

class FunctionCost {
 public:
  FunctionCost(ModelCost& cost, std::set<const mil::TensorSource*>& counted)
      : cost_(cost), counted_(counted) {}

  void add(const mil::Block& block) {
    for (const Var* output : block.outputs()) {
      if (output->name.find("logits") != output->name.npos) logits_.insert(output);
    }
    std::vector<const Operation*> operations;
    mil::for_each_operation(block,
                            [&](const Operation& operation) { operations.push_back(&operation); });
    shares_.emplace(operations);
    for (auto one = operations.rbegin(); one != operations.rend(); ++one) visit(**one);
  }

 private:
  void visit(const Operation& operation) {
    if (const mil::Value* value = operation.constant_value()) {
      count(*value, uses_[operation.output()]);
      return;
    }
    Use use;
    const bool is_logits =
        !operation.outputs().empty() && logits_.contains(operation.outputs().front().get());
    if (is_form_of_weight(operation) && !operation.outputs().empty()) {
      use = uses_[operation.output()];
      if (const Var* from = operation.input_var("x"); is_logits && from != nullptr) {
        logits_.insert(from);
      }
    } else {
      const bool multiplies = mil::is_product(operation);
      use = {true, multiplies, true, is_logits && multiplies};
    }
    for (const auto& [name, argument] : operation.inputs()) {
      Use of_input = use_of_input(operation, name, use);
      const double share = shares_->of(operation, name);
      of_input.share = use.share * share;
      if (share < 1) of_input.read = of_input.multiplied = true;
      for (const mil::Binding& binding : argument) {
        if (const auto* var = std::get_if<Var*>(&binding)) {
          Use& mine = uses_[*var];
          mine.share = mine.read ? std::max(mine.share, of_input.share) : of_input.share;
          mine.read = mine.read || of_input.read;
          mine.multiplied = mine.multiplied || of_input.multiplied;
          mine.elements = mine.elements || of_input.elements;
          mine.logits = mine.logits || of_input.logits;
        } else {
          count(std::get<mil::Value>(binding), of_input);
        }
      }
    }
    // The ops of iOS 16 keep their weights here.
    for (const auto& [name, value] : operation.attributes()) {
      count(value, use_of_input(operation, name, use));
    }
  }

  static Use use_of_input(const Operation& operation, std::string_view name, Use use) {
    if (name == "x" && mil::has_trait(operation, mil::Trait::ReadsParts))
      return {false, false, true};
    if (name == "bias") return {use.read, false, true};
    // Scales, palettes and masks are read, but are not elements of the weight.
    constexpr std::array kElements = {"data", "indices", "quantized_data", "nonzero_data"};
    if (mil::has_trait(operation, mil::Trait::Compressed) &&
        std::find(kElements.begin(), kElements.end(), name) == kElements.end()) {
      return {use.read, false, false};
    }
    return use;
  }

  // Blocks of a file are read once for all codes and scales computed from them.
  uint64_t read_bytes(const mil::TensorSource& source) {
    const auto* derived = dynamic_cast<const mil::DerivedSource*>(&source);
    const mil::StoredBlocks* blocks = derived != nullptr ? derived->blocks() : nullptr;
    if (blocks == nullptr) return source.size();
    if (!counted_blocks_.insert(blocks).second) return 0;
    const auto forms = kernels::ggml_forms();
    const auto form = std::find_if(forms.begin(), forms.end(),
                                   [&](const auto& one) { return one.name == blocks->form; });
    if (form == forms.end()) return source.size();
    return static_cast<uint64_t>(blocks->rows * (blocks->columns / form->columns) * form->bytes);
  }

  void count(const mil::Value& value, const Use& use) {
    if (value.source == nullptr || !counted_.insert(value.source.get()).second) return;
    const int64_t elements = value.type.num_elements();
    if (use.elements) cost_.parameters += elements;
    const auto part = [&](auto all) {
      return static_cast<decltype(all)>(use.share * static_cast<double>(all));
    };
    const uint64_t stored = read_bytes(*value.source);
    cost_.stored_bytes += stored;
    const uint64_t bytes = use.read ? stored : 0;
    cost_.weight_bytes += part(bytes);
    if (use.read && use.share < 1) cost_.experts.push_back({bytes, use.share});
    if (use.multiplied) cost_.multiplied += part(elements);
    if (use.multiplied && use.logits) {
      cost_.multiplied_for_logits += elements;
    } else if (use.multiplied && !value.type.dims.empty() && value.type.dims.back() > 0) {
      cost_.products += part(elements / value.type.dims.back());
    }
  }

  ModelCost& cost_;
  std::set<const mil::TensorSource*>& counted_;
  std::set<const mil::StoredBlocks*> counted_blocks_;
  std::optional<ExpertShares> shares_;
  std::map<const Var*, Use> uses_;
  std::set<const Var*> logits_;  // the logits that the function returns, and views of them
};

uint64_t bytes_of(const mil::Feature& feature) {
  uint64_t elements = 1;
  for (const int64_t dim : feature.shape)
    elements *= static_cast<uint64_t>(std::max<int64_t>(dim, 0));
  return elements * static_cast<uint64_t>(mil::bit_width(feature.data_type)) / 8;
}

// State that each pass replaces is read and written completely.
bool is_carried(const mil::Model& model, const std::string& state) {
  const auto& metadata = model.metadata.user_defined;
  const auto names = metadata.find(families::stateful::kCarriedStatesKey);
  return names != metadata.end() &&
         ("," + names->second + ",").find("," + state + ",") != std::string::npos;
}

// The bytes of keys and values in this form.
uint64_t stored_bytes(const mil::Feature& state, engine::CacheType type) {
  const uint64_t bytes = bytes_of(state);
  if (type == engine::CacheType::F16) return bytes;
  const double bits = mil::bit_width(state.data_type);
  return static_cast<uint64_t>(static_cast<double>(bytes) * engine::cache_bits(type) / bits);
}

void add_caches(ModelCost& cost, const mil::Model& model, const mil::FunctionDescription& function,
                engine::CacheType type, std::set<std::string>& seen) {
  for (const mil::Feature& state : function.states) {
    if (state.shape.size() < 2 || !seen.insert(state.name).second) continue;
    if (is_carried(model, state.name)) {
      cost.caches.push_back({2 * bytes_of(state), 0});
      continue;
    }
    // (.., slots, head_dim) in all families.
    cost.caches.push_back({stored_bytes(state, type), state.shape[state.shape.size() - 2]});
  }
  for (const mil::Feature& input : function.inputs) {
    if (input.name.find("_cache") == std::string::npos || !seen.insert(input.name).second) continue;
    cost.caches.push_back({bytes_of(input), 0});
  }
}

}  // namespace

runtime::TokenCost ModelCost::of(const runtime::BenchmarkCase& measured) const {
  runtime::TokenCost result;
  // For a prompt, only the last token's logits are needed.
  const bool prompt = measured.kind == runtime::BenchmarkCase::Kind::Prefill;
  const double share = prompt ? 1 / static_cast<double>(std::max<int64_t>(measured.tokens, 1)) : 1;
  const auto head = static_cast<double>(multiplied_for_logits);
  result.operations = 2.0 * (static_cast<double>(multiplied) - head + share * head);
  // Sequences decoded together share the weights, but not the caches.
  auto read = static_cast<double>(weight_bytes);
  for (const Experts& one : experts) {
    // The expected number chosen by this many tokens at random.
    const double distinct = 1 - std::pow(1 - one.share, static_cast<double>(measured.parallel));
    read += static_cast<double>(one.bytes) * (distinct - one.share);
  }
  result.bytes = read / static_cast<double>(measured.parallel);
  const double mean_tokens =
      static_cast<double>(measured.depth) + (static_cast<double>(measured.tokens) + 1) / 2;
  for (const Cache& cache : caches) {
    const auto slots = static_cast<double>(cache.slots);
    const double filled = cache.slots <= 0 ? 1 : std::min(1.0, mean_tokens / slots);
    result.bytes += filled * static_cast<double>(cache.bytes);
  }
  return result;
}

ModelCost model_cost(const std::vector<const mil::Model*>& models, engine::CacheType cache_type) {
  ModelCost cost;
  std::set<const mil::TensorSource*> counted;
  std::set<std::string> caches;
  for (const mil::Model* model : models) {
    // The default function first: its use of a weight counts.
    const auto add = [&](const mil::Function& function) {
      FunctionCost(cost, counted).add(function.block());
    };
    const auto first = model->program.functions.find(model->default_function);
    if (first != model->program.functions.end()) add(*first->second);
    for (const auto& [name, function] : model->program.functions) {
      if (name != model->default_function) add(*function);
    }
    for (const mil::FunctionDescription& function : model->functions) {
      add_caches(cost, *model, function, cache_type, caches);
    }
  }
  return cost;
}

ModelCost model_cost(const runtime::RunnableModel& runnable, const ModelChoice& given) {
  const engine::CacheType cache_type = given.load.cache_type;
  if (runnable.program) return model_cost({runnable.program.get()}, cache_type);
  const std::vector<NamedProgram> programs = read_programs(given);
  std::vector<const mil::Model*> pointers;
  pointers.reserve(programs.size());
  for (const NamedProgram& program : programs) pointers.push_back(&program.model);
  return model_cost(pointers, cache_type);
}

}  // namespace pippin::app
