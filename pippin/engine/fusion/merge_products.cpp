// Queries, keys and values, or gate and up, as one step: a pass over the finished list.
#include <algorithm>
#include <unordered_map>

#include "pippin/engine/fusion/fusion.h"
#include "pippin/engine/weights/weight_step.h"

namespace pippin::engine {

void merge_products(std::vector<std::unique_ptr<Step>>& steps, std::span<const Buffer> buffers) {
  const auto is_constant = [&](const View& view) {
    return buffers[static_cast<size_t>(view.buffer)].kind == Buffer::Kind::Constant;
  };
  std::unordered_map<int, std::vector<WeightStep*>> by_input;  // the buffer of x
  for (auto& step : steps) {
    auto* product = dynamic_cast<WeightStep*>(step.get());
    if (product == nullptr) continue;
    // It is computed where the first one was: all that it reads beside x must be there by then.
    const auto others = product->other_operands();
    const bool movable = std::all_of(others.begin(), others.end(), is_constant);
    std::vector<WeightStep*>& known = by_input[product->x().buffer];
    const bool merged = movable && std::any_of(known.begin(), known.end(), [&](WeightStep* first) {
                          return same_elements(first->x(), product->x()) && first->absorb(*product);
                        });
    if (merged) {
      step.reset();
    } else {
      known.push_back(product);
    }
  }
  std::erase(steps, nullptr);
}

}  // namespace pippin::engine
