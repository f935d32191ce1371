// The steps of DotNode: x is prepared once for all products, with a single barrier. Every result
// has the same bits as that of a separate step, and as the sum of product and residual in two
// steps.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "pippin/base/cpu_features.h"
#include "pippin/base/threads/dealt_range.h"
#include "pippin/engine/cpu/low_rank.h"
#include "pippin/engine/nodes/node.h"
#include "pippin/engine/run/peers.h"
#include "pippin/engine/run/step.h"
#include "pippin/kernels/elementwise/elementwise.h"

namespace pippin::engine {

// A run of a WeightStep, with the memory that is the step's own.
struct WeightContext : StepContext {
  LowRankRun* changes;  // or null
};

class WeightStep : public Step {
 public:
  int row_axis() const override { return 0; }
  int64_t weight_bytes() const final {
    return product_bytes() + changes_.weight_bytes(x().shape[1].upper());
  }
  int64_t scratch_bytes() const final { return scratch_bytes_of(x().shape[0].upper()); }
  int64_t scratch_bytes_of(int64_t rows) const final {
    return thread_scratch(rows) + changes_.scratch_bytes(rows);
  }
  void run(const StepContext& context) const noexcept final;

 protected:
  virtual void multiply(const WeightContext& context) const noexcept = 0;
  virtual int64_t product_bytes() const = 0;  // of the products' weights
  // Memory of each thread for that many rows.
  virtual int64_t thread_scratch([[maybe_unused]] int64_t rows) const { return 0; }

  // Columns are divided among threads in multiples of `grain`. `dot` must outlive the step.
  WeightStep(const CpuFeatures& cpu, const DotNode& dot, int64_t grain);

  const DotNode& dot() const { return dot_; }
  const View& x() const { return views[num_written]; }
  int64_t num_columns() const;  // of all products

  // Options of share_columns().
  struct Sharing {
    int64_t least = 0;   // columns of a piece, a multiple of the grain
    int64_t grain = 0;   // above 0: in place of the step's, which it divides
    int64_t copies = 1;  // each has all columns: for parts of x's rows
  };
  // Distributes the columns of all products to threads: each calls make_worker(thread), and its
  // result with a range of columns. If there is little work, one thread does it all. Products are
  // numbered one after another, each rounded up to the grain, and copies after each other. Peers
  // take a part of the columns each, without copies, and exchange the results.
  template <typename MakeWorker>
  void share_columns(const WeightContext& context, const MakeWorker& make_own,
                     const Sharing& sharing = {0, 0, 1}) const {
    const auto make_worker = [&](int thread) {
      if (context.changes != nullptr) context.changes->compute();
      return make_own(thread);
    };
    const Operand& x = context.operands[num_written];
    const int64_t work = x.shape[0] * all_columns_ * x.shape[1];
    if (is_divided(context.peers, work)) {
      const Peers& peers = *context.peers;
      deal_columns(context, own_share(peers, all_columns_, grain_), work / peers.count(),
                   make_worker, sharing);
      return exchange(context);
    }
    deal_columns(context, {0, all_columns_ * sharing.copies}, work, make_worker, sharing);
  }
  // The number of copies for `most` at which shares of whole grains are nearly even; 1 with peers.
  int64_t even_copies(const StepContext& context, int64_t most) const;
  // Calls body(copy, columns) for each copy that overlaps `columns`.
  template <typename Body>
  void for_copies(Range columns, const Body& body) const {
    for (int64_t begin = columns.begin; begin < columns.end;) {
      const int64_t copy = begin / all_columns_, first = copy * all_columns_;
      const int64_t end = std::min(columns.end, first + all_columns_);
      body(copy, Range{begin - first, end - first});
      begin = end;
    }
  }

  // The operands of one product in one run.
  struct Operands {
    size_t product;
    const Operand& y;
    const Operand* w;   // null: the step holds the weight
    const float* bias;  // or null; that of column 0
  };
  // Calls body(operands, n_begin, n_end) for each product that overlaps `columns`, then finish()
  // for all its rows.
  template <typename Body>
  void for_products(const WeightContext& context, Range columns, const Body& body) const {
    for_unfinished(context, columns, [&](const Operands& operands, int64_t begin, int64_t end) {
      body(operands, begin, end);
      finish(context, operands, {0, operands.y.shape[0]}, {begin, end});
    });
  }
  // The same without finish(), which the body calls once for each element that it writes.
  template <typename Body>
  void for_unfinished(const StepContext& context, Range columns, const Body& body) const {
    for (size_t i = 0; i < dot_.products.size(); ++i) {
      const Place& place = places_[i];
      const int64_t begin = std::max<int64_t>(0, columns.begin - place.column);
      const int64_t end = std::min(dot_.products[i].n, columns.end - place.column);
      if (begin >= end) continue;
      const Operand& y = context.operands[i];
      body(Operands{i, y, place.w == 0 ? nullptr : &context.operands[place.w],
                    place.bias == 0 ? nullptr : context.operands[place.bias].floats()},
           begin, end);
    }
  }
  // Completes a part of a product: adds its change and the residual.
  void finish(const WeightContext& context, const Operands& operands, Range rows,
              Range columns) const {
    if (context.changes != nullptr) {
      context.changes->add(operands.product, operands.y, rows, columns);
    }
    if (dot_.has_residual) add_residual(operands.y, context.operands.back(), rows, columns);
  }

 private:
  struct Place {  // indices of a product's operands among the views, 0: absent; and its first
                  // column
    size_t w = 0, bias = 0;
    int64_t column = 0;
  };

  // The same for some columns, which begin at a multiple of the grain.
  template <typename MakeWorker>
  void deal_columns(const StepContext& context, Range columns, int64_t work,
                    const MakeWorker& make_worker, const Sharing& sharing) const {
    constexpr int64_t kWorthSharing = int64_t{1} << 19;  // products: about 25 us of one thread
    constexpr int64_t kWorthAPiece = kWorthSharing / 4;
    if (work < kWorthSharing) {
      make_worker(0)(columns);
      return;
    }
    const int64_t count = columns.end - columns.begin;
    int64_t pieces = std::min<int64_t>(work / 8 / kWorthAPiece, 4 * context.pool.num_threads());
    if (sharing.least > 0) pieces = std::min(pieces, count / 8 / sharing.least);
    const int64_t grain = sharing.grain > 0 ? sharing.grain : grain_;
    deal_range(context.pool, count, grain, pieces, [&](int thread) {
      return [worker = make_worker(thread), first = columns.begin](Range range) {
        worker(Range{first + range.begin, first + range.end});
      };
    });
  }
  void exchange(const StepContext& context) const noexcept;
  void add_residual(const Operand& y, const Operand& residual, Range rows, Range columns) const;

  const kernels::ElementwiseKernels* adder_;
  const DotNode& dot_;
  int64_t grain_;
  std::vector<Place> places_;
  int64_t all_columns_ = 0;
  LowRankChanges changes_;
};

}  // namespace pippin::engine
