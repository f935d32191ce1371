#include "pippin/engine/cpu/weight_step.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "pippin/base/numbers/checked.h"

namespace pippin::engine {

WeightStep::WeightStep(const CpuFeatures& cpu, const DotNode& dot, int64_t grain)
    : adder_(&kernels::choose_elementwise(cpu)), dot_(dot), grain_(grain), changes_(cpu) {
  size_t next = dot.products.size() + 1;  // after the results and x
  for (const DotNode::Product& product : dot.products) {
    Place place;
    if (product.is_dense()) place.w = next++;
    if (product.has_bias) place.bias = next++;
    if (product.change) {
      changes_.add(cpu, {places_.size(), next, product.n}, *product.change);
      next += LowRankChanges::kViews;
    }
    place.column = all_columns_;
    all_columns_ += align_up(product.n, grain_);
    places_.push_back(place);
  }
}

void WeightStep::run(const StepContext& context) const noexcept {
  if (changes_.empty()) return multiply({context, nullptr});
  const Operand& x = context.operands[num_written];
  LowRankRun changes(changes_, context, x);
  WeightContext own{context, &changes};
  own.scratch += changes_.scratch_bytes(x.shape[0]);
  multiply(own);
}

void WeightStep::exchange(const StepContext& context) const noexcept {
  leave_errors(context, [&] {
    const std::vector<Range> shares = shares_of(*context.peers, all_columns_, grain_);
    std::vector<Peers::Divided> results;
    results.reserve(dot_.products.size());
    for (size_t i = 0; i < dot_.products.size(); ++i) {
      const auto clip = [&](int64_t column) {
        return std::clamp<int64_t>(column - places_[i].column, 0, dot_.products[i].n);
      };
      std::vector<Range> columns;
      columns.reserve(shares.size());
      for (const Range& share : shares) columns.push_back({clip(share.begin), clip(share.end)});
      results.push_back({context.operands[i], 1, std::move(columns)});
    }
    context.peers->exchange(results);
  });
}

int64_t WeightStep::num_columns() const {
  int64_t columns = 0;
  for (const DotNode::Product& product : dot_.products) columns += product.n;
  return columns;
}

int64_t WeightStep::even_copies(const StepContext& context, int64_t most) const {
  if (context.peers != nullptr) return 1;
  const int64_t threads = context.pool.num_threads();
  int64_t best = 1, best_share = 0;  // of a thread, in grains of `best` copies
  for (int64_t copies = 1; copies <= most; ++copies) {
    const int64_t grains = all_columns_ / grain_ * copies;
    const int64_t share = ceil_div(grains, threads);
    if (copies > 1 && share * best * 10 > best_share * copies * 9) continue;  // gains under a tenth
    best = copies;
    best_share = share;
  }
  return best;
}

void WeightStep::add_residual(const Operand& y, const Operand& residual, Range rows,
                              Range columns) const {
  for (int64_t i = rows.begin; i < rows.end; ++i) {
    float* sum = y.floats() + i * y.strides[0] + columns.begin;
    const float* added = residual.floats() + i * residual.strides[0] + columns.begin;
    adder_->binary(kernels::BinaryOp::Add, sum, 1, added, 1, sum, columns.end - columns.begin);
  }
}

}  // namespace pippin::engine
