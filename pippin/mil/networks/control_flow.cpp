#include "pippin/mil/networks/control_flow.h"

#include "pippin/base/error.h"
#include "pippin/base/threads/cancel.h"

namespace pippin::mil::networks {
namespace {

using Values = std::map<std::string, Slot, std::less<>>;

const Slot* find(const Values& values, const std::string& name) {
  const auto value = values.find(name);
  return value == values.end() ? nullptr : &value->second;
}

bool same(const Slot* a, const Slot* b) {
  return a == b || (a != nullptr && b != nullptr && a->var == b->var && a->led == b->led);
}

int64_t full_rank(const Graph& graph, const Slot& slot) {
  return graph.rank(slot.var) + (slot.led ? 1 : 0);
}

// The properties that both values of the same rank share.
ValueInfo merged(const ValueInfo& a, const ValueInfo& b, const std::string& name) {
  ValueInfo info = a;
  info.elements.reset();
  info.constant = nullptr;
  for (size_t i = 0; i < a.shape.size(); ++i) {
    if (a.shape[i] == b.shape[i]) continue;
    info.shape[i] = Dim::symbol(fmt::format("{}.dim{}", name, i), 0,
                                std::max(a.shape[i].upper(), b.shape[i].upper()));
  }
  return info;
}

// Names whose value an alternative changes, and that have a value in both.
std::vector<std::string> changed_names(const Values& before, const Values& yes, const Values& no) {
  std::vector<std::string> names;
  for (const auto& [name, slot] : yes) {
    const Slot *old = find(before, name), *other = find(no, name);
    if (other != nullptr && !(same(&slot, old) && same(other, old))) names.push_back(name);
  }
  return names;
}

void translate_copy(Network& network, const Layer& layer) {
  const Slot slot = network.slot(layer, 0);
  if (!layer.outputs.empty()) network.values.insert_or_assign(layer.outputs.front(), slot);
}

void translate_branch(Network& network, const Layer& layer) {
  const auto run = [&](const Field& field) {
    const std::vector<ListedLayer> layers = read_layers(layer.parameters.message(field));
    translate_layers(network, layers);
  };
  choose(
      network, condition_of(network, network.any(layer, 0)),
      [&] {
        run({1, "ifBranch"});
      },
      [&] {
        run({2, "elseBranch"});
      });
}

void leave(Network& network, std::string_view name) {
  if (find(network.values, std::string(name)) == nullptr) {
    fail(ErrorCode::InvalidFile, "the layer is not inside a loop");
  }
  network.values.insert_or_assign(std::string(name), Slot{network.graph.add_constant(flag(true))});
}
void translate_break(Network& network, const Layer& /*layer*/) {
  leave(network, kBroken);
}
void translate_continue(Network& network, const Layer& /*layer*/) {
  leave(network, kContinued);
}

bool may_leave(const ListedLayer& listed) {
  for (const Fields& nested : nested_networks(listed)) {
    if (listed.field != kBranchField) continue;
    if (leaves_loop(nested, kBreakField) || leaves_loop(nested, kContinueField)) return true;
  }
  return false;
}

// Whether the loop or its iteration has ended early; constant false outside loops.
Var* was_left(Network& network) {
  Var* left = nullptr;
  for (const std::string_view name : {kBroken, kContinued}) {
    const Slot* slot = find(network.values, std::string(name));
    if (slot == nullptr) continue;
    left = left == nullptr ? slot->var : binary(network.graph, "logical_or", left, slot->var);
  }
  return left;
}

}  // namespace

Var* condition_of(Network& network, Var* value) {
  constexpr float kZero = 1e-6F;
  Graph& graph = network.graph;
  Var* single = scalar(graph, value);
  if (graph.type(single) != DataType::Float32) return network.to_truth(single);
  return binary(graph, "greater", unary(graph, "abs", single), number(kZero));
}

void choose(Network& network, Var* condition, const std::function<void()>& yes,
            const std::function<void()>& no) {
  Graph& graph = network.graph;
  const Values before = network.values;
  std::vector<std::unique_ptr<Block>> blocks;
  std::vector<Values> ends;
  for (const auto* alternative : {&yes, &no}) {
    network.values = before;
    graph.begin_block();
    (*alternative)();
    blocks.push_back(graph.end_block({}));
    ends.push_back(std::move(network.values));
  }
  network.values = before;
  std::vector<std::string> names = changed_names(before, ends[0], ends[1]);
  // Values of different rank cannot be merged: they are undefined afterwards.
  std::erase_if(names, [&](const std::string& name) {
    const Slot &a = *find(ends[0], name), &b = *find(ends[1], name);
    if (full_rank(graph, a) == full_rank(graph, b)) return false;
    network.values.erase(name);
    return true;
  });
  if (names.empty()) return;
  std::vector<std::vector<Var*>> results;
  for (size_t side = 0; side < 2; ++side) {
    graph.reopen_block(std::move(blocks[side]));
    std::vector<Var*> vars;
    vars.reserve(names.size());
    for (const std::string& name : names) {
      const Slot slot = *find(ends[side], name), other = *find(ends[1 - side], name);
      Var* var = network.full(slot);
      if (graph.type(slot.var) != graph.type(other.var)) var = graph.cast(var, DataType::Float32);
      vars.push_back(var);
    }
    blocks[side] = graph.end_block(vars);
    results.push_back(std::move(vars));
  }
  std::vector<ValueInfo> infos;
  infos.reserve(names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    infos.push_back(merged(graph.info(results[0][i]), graph.info(results[1][i]), names[i]));
  }
  const std::vector<Var*> vars =
      graph.add_with_blocks("cond", {{"pred", {condition}}}, std::move(blocks), std::move(infos));
  for (size_t i = 0; i < names.size(); ++i) {
    network.values.insert_or_assign(names[i], Slot{vars[i]});
  }
}

void translate_layers(Network& network, std::span<const ListedLayer> layers) {
  for (size_t i = 0; i < layers.size(); ++i) {
    const ListedLayer& listed = layers[i];
    check_cancel();
    if (--network.budget < 0) {
      fail(ErrorCode::LimitExceeded, "loops nest too deep to translate the layers in them");
    }
    with_context(fmt::format("layer '{}' ({})", listed.layer.name, listed.layer.type),
                 [&] { find_layer_kind(listed.field)->translate(network, listed.layer); });
    if (listed.field == kBreakField || listed.field == kContinueField) return;
    if (!may_leave(listed) || i + 1 == layers.size()) continue;
    // The rest of the iteration runs unless the branch has ended it.
    Var* left = was_left(network);
    if (left == nullptr) continue;
    choose(
        network, left, [] {}, [&] { translate_layers(network, layers.subspan(i + 1)); });
    return;
  }
}

std::span<const LayerKind> control_layers() {
  static constexpr LayerKind kKinds[] = {{kCopyField, "copy", translate_copy},
                                         {kBranchField, "branch", translate_branch},
                                         {kLoopField, "loop", translate_loop},
                                         {kBreakField, "loopBreak", translate_break},
                                         {kContinueField, "loopContinue", translate_continue}};
  return kKinds;
}

}  // namespace pippin::mil::networks
