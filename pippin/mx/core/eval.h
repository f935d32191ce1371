// Computes nodes: in topological order without recursion, one primitive after another, each on all
// threads.
//
// One evaluation runs at a time in the process. If a primitive fails, results computed before stay
// available, and the rest stays recorded.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "pippin/mx/core/node.h"

namespace pippin {
class ThreadPool;
}

namespace pippin::mx {

void eval_nodes(std::span<Node* const> nodes);

// The threads for primitives; valid only during evaluation.
ThreadPool& pool();

// Calls body(begin, end) for parts of [0, count) on all threads, or on this one alone if `work`
// (elements, roughly) does not justify waking others.
void parallel(int64_t count, int64_t work, const std::function<void(int64_t, int64_t)>& body);
inline constexpr int64_t kParallelWork = 1 << 15;

// Visits each recorded node that `roots` need once, inputs before their users. For code that
// inspects graphs without computing them; blocks evaluations meanwhile.
void walk(std::span<Node* const> roots, const std::function<void(Node&)>& visit);

// Computes the nodes needed by the roots that do not depend on a placeholder (a node without value
// and primitive).
void eval_constants(std::span<Node* const> roots);

}  // namespace pippin::mx
