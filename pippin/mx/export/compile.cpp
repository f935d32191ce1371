#include "pippin/mx/export/compile.h"

#include <atomic>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/base/threads/fork.h"
#include "pippin/mx/core/eval.h"
#include "pippin/mx/core/primitive.h"

namespace pippin::mx {
namespace {

std::atomic<bool> is_enabled{true};

bool fits(const std::vector<array>& a, const std::vector<array>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].dtype() != b[i].dtype() || !(a[i].shape() == b[i].shape())) return false;
  }
  return true;
}

// The recordings for each combination of argument types and shapes.
class Compiled {
 public:
  explicit Compiled(Function function) : function_(std::move(function)) {}

  std::vector<array> operator()(const std::vector<array>& inputs) {
    if (!is_enabled.load(std::memory_order_relaxed)) return function_(inputs);
    {
      const std::lock_guard lock(mutex_);
      for (const Entry& entry : entries_) {
        if (fits(entry.placeholders, inputs)) return entry.trace(inputs);
      }
    }
    // The function is called without holding the lock: it may call other compiled functions, or
    // itself.
    std::vector<array> placeholders;
    placeholders.reserve(inputs.size());
    for (const array& input : inputs) {
      placeholders.push_back(Trace::placeholder(input.dtype(), input.shape()));
    }
    const Trace trace(placeholders, function_(placeholders));
    const std::lock_guard lock(mutex_);
    entries_.push_back({std::move(placeholders), trace});
    return trace(inputs);
  }

 private:
  struct Entry {
    std::vector<array> placeholders;
    Trace trace;
  };
  Function function_;
  ForkMutex mutex_;
  std::vector<Entry> entries_;
};

}  // namespace

struct Trace::Graph {
  // The source of a node's input.
  enum class From : uint8_t { Argument, Step, Constant };
  struct Source {
    From from;
    uint32_t index;
  };
  struct Step {
    Ref<const Primitive> primitive;
    Dtype dtype;
    Shape shape;
    std::vector<Source> inputs;
    std::vector<Output> parts;
  };
  std::vector<array> inputs;
  std::vector<Ref<Node>> constants;
  std::vector<Step> steps;
  std::vector<Source> outputs;
};

array Trace::placeholder(Dtype dtype, const Shape& shape) {
  return array(Ref<Node>(new Node(dtype, shape)));
}

Trace::Trace(const std::vector<array>& inputs, const std::vector<array>& outputs) {
  auto graph = std::make_shared<Graph>();
  graph->inputs = inputs;
  std::unordered_map<const Node*, Graph::Source> sources;
  for (size_t i = 0; i < inputs.size(); ++i) {
    sources[inputs[i].node().get()] = {Graph::From::Argument, static_cast<uint32_t>(i)};
  }
  const auto is_argument = [&](const Node& node) {
    const auto found = sources.find(&node);
    return found != sources.end() && found->second.from == Graph::From::Argument;
  };
  const auto source_of = [&](const Ref<Node>& node) {
    const auto found = sources.find(node.get());
    if (found != sources.end()) return found->second;
    const Graph::Source source{Graph::From::Constant,
                               static_cast<uint32_t>(graph->constants.size())};
    graph->constants.push_back(node);
    return sources[node.get()] = source;
  };
  std::vector<Node*> roots;
  roots.reserve(outputs.size());
  for (const array& output : outputs) roots.push_back(output.node().get());
  eval_constants(roots);
  walk(roots, [&](Node& node) {
    if (is_argument(node)) return;
    if (!node.primitive) {
      fail(ErrorCode::InvalidArgument,
           "[compile] The function uses a placeholder of shape {} of another function.",
           to_string(node.shape));
    }
    Graph::Step step{node.primitive, node.dtype, node.shape, {}, {}};
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      step.inputs.push_back(source_of(node.inputs[i]));
    }
    if (node.parts) {
      for (const Ref<Node>& part : *node.parts) step.parts.push_back({part->dtype, part->shape});
    }
    sources[&node] = {Graph::From::Step, static_cast<uint32_t>(graph->steps.size())};
    graph->steps.push_back(std::move(step));
  });
  for (const array& output : outputs) graph->outputs.push_back(source_of(output.node()));
  graph_ = std::move(graph);
}

std::vector<array> Trace::operator()(const std::vector<array>& inputs) const {
  const Graph& graph = *graph_;
  if (!fits(graph.inputs, inputs)) {
    fail(ErrorCode::InvalidArgument,
         "[compile] The arguments have other types or shapes than those it was recorded for.");
  }
  std::vector<Ref<Node>> made;
  made.reserve(graph.steps.size());
  const auto node_of = [&](const Graph::Source& source) -> const Ref<Node>& {
    switch (source.from) {
      case Graph::From::Argument:
        return inputs[source.index].node();
      case Graph::From::Constant:
        return graph.constants[source.index];
      default:
        return made[source.index];
    }
  };
  for (const Graph::Step& step : graph.steps) {
    Ref<Node> node(new Node(step.dtype, step.shape));
    node->primitive = step.primitive;
    node->inputs.reserve(step.inputs.size());
    for (const Graph::Source& source : step.inputs) node->inputs.push_back(node_of(source));
    if (!step.parts.empty()) {
      node->parts = std::make_unique<std::vector<Ref<Node>>>();
      for (const Output& part : step.parts) {
        node->parts->emplace_back(new Node(part.dtype, part.shape));
      }
    }
    made.push_back(std::move(node));
  }
  std::vector<array> outputs;
  outputs.reserve(graph.outputs.size());
  for (const Graph::Source& source : graph.outputs) outputs.emplace_back(node_of(source));
  return outputs;
}

Function compile(Function function, bool) {
  auto compiled = std::make_shared<Compiled>(std::move(function));
  return [compiled](const std::vector<array>& inputs) { return (*compiled)(inputs); };
}

void enable_compile(bool on) {
  is_enabled.store(on, std::memory_order_relaxed);
}

bool is_compile_enabled() {
  return is_enabled.load(std::memory_order_relaxed);
}

}  // namespace pippin::mx
