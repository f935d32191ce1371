#include "pippin/mil/networks/simplify.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <unordered_map>
#include <utility>

#include "pippin/mil/networks/simplify_rules.h"
#include "pippin/mil/ops/op.h"

namespace pippin::mil::networks {
namespace {

constexpr std::array<SimplifyRule, 3> kRules = {fold_clamp, fold_padding, fold_channels};

template <typename Visit>
void for_each_read(const Block& block, const Visit& visit) {
  for (const auto& operation : block.operations()) {
    for (const auto& [parameter, argument] : operation->inputs()) {
      for (const Binding& binding : argument) {
        if (Var* const* var = std::get_if<Var*>(&binding)) visit(*var);
      }
    }
    for (const auto& nested : operation->blocks()) for_each_read(*nested, visit);
  }
  for (Var* output : block.outputs()) visit(output);
}

class Simplifier {
 public:
  Simplifier(Function& function, Graph& graph) : function_(function), graph_(graph) {}

  void run() {
    Block& block = function_.block();
    for_each_read(block, [&](const Var* var) { ++reads_[var]; });
    rewrite(block);
    reads_.clear();
    for_each_read(block, [&](const Var* var) { ++reads_[var]; });
    remove_unread(block);
  }

 private:
  void follow(Var*& var) const {
    if (const auto found = replaced_.find(var); found != replaced_.end()) var = found->second;
  }

  void rewrite(Block& block) {
    std::vector<std::unique_ptr<Operation>> before = std::exchange(block.operations(), {});
    block.operations().reserve(before.size());
    for (auto& operation : before) {
      for (auto& [parameter, argument] : operation->inputs()) {
        for (Binding& binding : argument) {
          if (Var** var = std::get_if<Var*>(&binding)) follow(*var);
        }
      }
      for (auto& nested : operation->blocks()) rewrite(*nested);
      Operation& kept = *operation;
      for (const auto& output : kept.outputs()) home_[output.get()] = &block;
      block.operations().push_back(std::move(operation));
      apply_rules(block, kept);
    }
    for (Var*& output : block.outputs()) follow(output);
  }

  void apply_rules(Block& block, const Operation& last) {
    const Rewriting rewriting{
        [&](const Var* var) { return reads_[var] == 1 && home_[var] == &block; },
        [&](Value value) {
          Operation& constant = block.append("const");
          Var* var = constant.add_output(graph_.free_name("const"), value.type);
          constant.attributes().emplace("val", std::move(value));
          return var;
        }};
    for (const SimplifyRule rule : kRules) {
      std::unique_ptr<Operation> better = rule(last, rewriting);
      if (better == nullptr) continue;
      const Var* old = last.output();
      Var* result = better->add_output(old->name, old->type);
      for (const auto& [parameter, argument] : better->inputs()) {
        for (const Binding& binding : argument) {
          if (Var* const* var = std::get_if<Var*>(&binding)) ++reads_[*var];
        }
      }
      home_[result] = &block;
      reads_[result] = std::exchange(reads_[old], 0);
      replaced_[old] = result;
      block.operations().push_back(std::move(better));
      return;
    }
  }

  // Operations are after those that they read.
  void remove_unread(Block& block) {
    auto& operations = block.operations();
    for (auto it = operations.rbegin(); it != operations.rend(); ++it) {
      for (auto& nested : (*it)->blocks()) remove_unread(*nested);
      const OpDef* op = find_op((*it)->type(), graph_.opset());
      const bool may_go =
          ((*it)->type() == "const" || (op != nullptr && op->pure)) && (*it)->blocks().empty();
      const auto& outputs = (*it)->outputs();
      if (!may_go || std::any_of(outputs.begin(), outputs.end(),
                                 [&](const auto& output) { return reads_[output.get()] > 0; })) {
        continue;
      }
      for (const auto& [parameter, argument] : (*it)->inputs()) {
        for (const Binding& binding : argument) {
          if (Var* const* var = std::get_if<Var*>(&binding)) --reads_[*var];
        }
      }
      it->reset();
    }
    std::erase(operations, nullptr);
  }

  Function& function_;
  Graph& graph_;
  std::unordered_map<const Var*, int64_t> reads_;
  std::unordered_map<const Var*, const Block*> home_;  // that an operation is in
  std::unordered_map<const Var*, Var*> replaced_;
};

}  // namespace

void simplify(Function& function, Graph& graph) {
  Simplifier(function, graph).run();
}

}  // namespace pippin::mil::networks
