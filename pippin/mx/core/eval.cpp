#include "pippin/mx/core/eval.h"

#include <algorithm>
#include <mutex>
#include <unordered_set>
#include <utility>
#include <vector>

#include "pippin/base/error.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/base/threads/fork.h"
#include "pippin/base/threads/thread_pool.h"
#include "pippin/mx/core/array.h"
#include "pippin/mx/core/primitive.h"

namespace pippin::mx {
namespace {

bool available(const Node& node) {
  return node.is_available.load(std::memory_order_acquire);
}

class Evaluator {
 public:
  void eval(std::span<Node* const> roots) {
    const std::lock_guard lock(turn_);
    order(roots, [](Node& node) {
      if (node.primitive) return node.primitive->rewrite(node);
      fail(ErrorCode::InvalidArgument,
           "[eval] An input of a function that is being traced has no value yet: arrays of shape "
           "{} cannot be evaluated inside it.",
           to_string(node.shape));
    });
    joining_.clear();
    for (size_t i = 0; i < order_.size(); ++i) {
      const Primitive& primitive = *order_[i]->primitive;
      if (primitive.goes_with(primitive)) joining_.push_back(i);
    }
    size_t next_joining = 0;
    for (size_t i = 0; i < order_.size(); ++i) {
      check_cancel();
      if (next_joining == joining_.size() || joining_[next_joining] != i) {
        compute(*order_[i]);
      } else if (++next_joining; !available(*order_[i])) {
        compute_together(*order_[i], std::span(joining_).subspan(next_joining));
      }
    }
  }

  void walk(std::span<Node* const> roots, const std::function<void(Node&)>& visit) {
    const std::lock_guard lock(turn_);
    order(roots, [](Node&) {});
    // `visit` may start another walk, which must not use the current list.
    const std::vector<Node*> nodes = std::exchange(order_, {});
    for (Node* node : nodes) visit(*node);
  }

  ThreadPool& pool() {
    if (!pool_) pool_ = std::make_unique<ThreadPool>(0, Pinning::Never);
    return *pool_;
  }

 private:
  struct Visit {
    Node* node;
    size_t next_input;
  };

  // Fills order_ with the nodes that are not available yet, inputs first.
  template <typename Check>
  void order(std::span<Node* const> roots, Check check) {
    order_.clear();
    stack_.clear();
    ++epoch_;
    for (Node* root : roots) {
      push(root, check);
      while (!stack_.empty()) {
        Visit& top = stack_.back();
        if (top.next_input < top.node->inputs.size()) {
          push(top.node->inputs[top.next_input++].get(), check);
        } else {
          order_.push_back(top.node);
          stack_.pop_back();
        }
      }
    }
  }

  template <typename Check>
  void push(Node* node, Check check) {
    if (node->mark == epoch_ || available(*node)) return;
    check(*node);
    node->mark = epoch_;
    stack_.push_back({node, 0});
  }

  static void compute(Node& node) {
    node.primitive->eval(node);
    finish(node);
  }

  // Computes a node along with later ones, at the positions `rest` of order_, that go with it.
  void compute_together(Node& node, std::span<const size_t> rest) {
    constexpr size_t kMost = 8, kFarthest = 32;
    Node* together[kMost] = {&node};
    size_t count = 1;
    for (const size_t at : rest.first(std::min(rest.size(), kFarthest))) {
      Node& other = *order_[at];
      if (count == kMost) break;
      if (available(other) || !(other.inputs[0] == node.inputs[0])) continue;
      bool is_ready = node.primitive->goes_with(*other.primitive);
      for (size_t i = 1; is_ready && i < other.inputs.size(); ++i) {
        is_ready = available(*other.inputs[i]);
      }
      if (is_ready) together[count++] = &other;
    }
    if (count == 1) return compute(node);
    node.primitive->eval_together(std::span<Node* const>(together, count));
    for (size_t i = 0; i < count; ++i) finish(*together[i]);
  }

  static void finish(Node& node) {
    // Releases the graph below, and with it the memory that only it needed.
    node.inputs.clear();
    node.primitive.reset();
    node.is_available.store(true, std::memory_order_release);
  }

  TurnLock turn_;
  std::unique_ptr<ThreadPool> pool_;
  std::vector<Node*> order_;
  std::vector<size_t> joining_;  // positions in order_ of nodes that may be computed with others
  std::vector<Visit> stack_;
  uint32_t epoch_ = 0;
};

Evaluator& evaluator() {
  static auto* const instance = new Evaluator();  // outlives static arrays
  return *instance;
}

}  // namespace

void eval_nodes(std::span<Node* const> nodes) {
  evaluator().eval(nodes);
}

ThreadPool& pool() {
  return evaluator().pool();
}

void parallel(int64_t count, int64_t work, const std::function<void(int64_t, int64_t)>& body) {
  // Work that is part of shared work already stays on this thread.
  thread_local bool is_part = false;
  if (work < kParallelWork || count <= 1 || is_part) {
    if (count > 0) body(0, count);
    return;
  }
  pool().run([&](int part, int parts) {
    const Range range = split_range(count, part, parts);
    if (range.begin >= range.end) return;
    const struct Part {
      Part() { is_part = true; }
      Part(const Part&) = delete;
      Part& operator=(const Part&) = delete;
      ~Part() { is_part = false; }
    } part_of_it;
    body(range.begin, range.end);
  });
}

void walk(std::span<Node* const> roots, const std::function<void(Node&)>& visit) {
  evaluator().walk(roots, visit);
}

void eval_constants(std::span<Node* const> roots) {
  std::unordered_set<const Node*> depend;  // on a placeholder
  std::vector<Ref<Node>> constants;
  walk(roots, [&](Node& node) {
    bool depends = !node.primitive;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      depends = depends || depend.contains(node.inputs[i].get());
    }
    if (depends) {
      depend.insert(&node);
    } else {
      constants.push_back(Ref<Node>::share(&node));
    }
  });
  std::vector<Node*> nodes;
  nodes.reserve(constants.size());
  for (const Ref<Node>& node : constants) nodes.push_back(node.get());
  if (!nodes.empty()) eval_nodes(nodes);
}

}  // namespace pippin::mx
