#include "pippin/pipeline/owners.h"

#include <algorithm>
#include <set>

#include "pippin/base/error.h"

namespace pippin::pipeline {
namespace {

using engine::Buffer;
using engine::NodePlan;
using engine::View;

// The slices of a state's first axis that a view touches. Of a view that moves with the position,
// the one of its first position.
struct Touched {
  const mil::Feature* state = nullptr;  // null: not a state
  int64_t first = 0, last = 0;
};

Touched touched_by(const NodePlan& plan, const View& view) {
  const Buffer& buffer = plan.buffer(view);
  if (buffer.kind != Buffer::Kind::State) return {};
  const auto state = std::find_if(plan.states.begin(), plan.states.end(),
                                  [&](const auto& one) { return one.name == buffer.name; });
  if (state == plan.states.end() || state->shape.empty() || state->shape.front() < 1) return {};
  const int64_t slices = state->shape.front();
  const int64_t size = std::max<int64_t>(buffer.elements.constant() / slices, 1);
  const auto first_value = [](const mil::Dim& dim) {
    return dim.evaluate([](const mil::Dim::Atom& symbol) { return symbol.lower; });
  };
  const bool moves = !view.offset.is_constant();
  const int64_t begin = first_value(view.offset);
  int64_t end = begin;
  for (size_t i = 0; i < view.shape.size() && !moves; ++i) {
    end += std::max<int64_t>(view.shape[i].upper() - 1, 0) * view.strides[i].upper();
  }
  const int64_t first = std::clamp<int64_t>(begin / size, 0, slices - 1);
  return {&*state, first, std::clamp<int64_t>(end / size, first, slices - 1)};
}

void claim(const NodePlan& plan, const Touched& touched, int group, Owners& owners) {
  auto& slices = owners[touched.state->name];
  slices.resize(static_cast<size_t>(touched.state->shape.front()), -1);
  for (int64_t i = touched.first; i <= touched.last; ++i) {
    int& owner = slices[static_cast<size_t>(i)];
    if (owner >= 0 && owner != group) {
      fail(ErrorCode::Unsupported, "function {}: stages {} and {} share slice {} of state '{}'",
           plan.function, owner, group, i, touched.state->name);
    }
    owner = group;
  }
}

}  // namespace

// Views at a fixed place (attention reads whole layers) tell more than those that move.
void add_owners(const NodePlan& plan, const std::vector<Stage>& stages, Owners& owners) {
  std::set<std::string> known;
  for (const bool moving : {false, true}) {
    for (const Stage& stage : stages) {
      for (size_t n = stage.begin; n < stage.end; ++n) {
        for (const View& view : plan.nodes[n].views) {
          if (view.offset.is_constant() == moving) continue;
          const Touched touched = touched_by(plan, view);
          if (touched.state == nullptr) continue;
          if (moving && known.contains(touched.state->name)) continue;
          if (!moving) known.insert(touched.state->name);
          claim(plan, touched, stage.group, owners);
        }
      }
    }
  }
}

}  // namespace pippin::pipeline
