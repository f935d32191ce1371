// Computes nodes: in an order without recursion, one primitive after the other, each on all
// threads.
//
// One evaluation runs at a time in the process. What an evaluation computed stays when a later
// primitive of it fails; the rest stays as recorded.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "pippin/mx/node.h"

namespace pippin {
class ThreadPool;
}

namespace pippin::mx {

void eval_nodes(std::span<Node* const> nodes);

// The threads that primitives work with; only while they are evaluated.
ThreadPool& pool();

// Calls body(begin, end) for parts of [0, count) on all threads, on this one alone where `work`
// (elements, roughly) is not worth waking others for.
void parallel(int64_t count, int64_t work, const std::function<void(int64_t, int64_t)>& body);
inline constexpr int64_t kParallelWork = 1 << 15;

// Visits the recorded nodes that `roots` need, inputs before those that use them, each once. For
// those that look at graphs without computing them; holds evaluations off meanwhile.
void walk(std::span<Node* const> roots, const std::function<void(Node&)>& visit);

// Computes what the roots need and no placeholder (a node without value and primitive) goes into.
void eval_constants(std::span<Node* const> roots);

}  // namespace pippin::mx
