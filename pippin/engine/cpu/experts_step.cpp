// The experts of a mixture. Terms whose weight is 0 are skipped before any of their data is read.
// The others are sorted by expert, so that each matrix that is needed is read once for all of its
// rows.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "pippin/base/numbers/checked.h"
#include "pippin/base/threads/dealt_range.h"
#include "pippin/engine/cpu/expert_matrices.h"
#include "pippin/engine/cpu/steps.h"
#include "pippin/engine/run/peers.h"
#include "pippin/kernels/elementwise/elementwise.h"
#include "pippin/kernels/rows/rows.h"

namespace pippin::engine {
namespace {

constexpr int64_t kAlign = 64;
constexpr int64_t kProductsOfAThread = int64_t{1} << 19;  // products: about 25 us of one thread
constexpr int64_t kFewPairs = 8;  // up to this many, every thread forms the hidden rows for itself
constexpr int64_t kPairsOfARead = 2;  // of an expert, multiplied during one read of its matrices
// Of a round, unless one expert has more: their intermediate results stay in the caches.
constexpr int64_t kPairsOfARound = 1024;

int64_t aligned(int64_t bytes) {
  return align_up<int64_t>(bytes, kAlign);
}

int64_t floats_bytes(int64_t count) {
  return aligned(count * static_cast<int64_t>(sizeof(float)));
}

// Distance between rows of results: rows a multiple of 4 KB apart would share a few lines of the
// first cache.
int64_t padded(int64_t columns) {
  return align_up<int64_t>(columns, 16) + 16;
}

// Rows that go to one expert: pairs [first, first + count) of a row and a weight in this round, and
// the place of the formed rows.
struct Group {
  int32_t expert, first, count;
  int64_t x = 0, up = 0, hidden = 0;
};

class ExpertsStep : public Step {
 public:
  ExpertsStep(const ExpertsNode& node, const ComputeOptions& options)
      : node_(node),
        gate_(make_experts(node.gate, options)),
        up_(make_experts(node.up, options)),
        down_(make_experts(node.down, options)),
        rows_(kernels::choose_rows(options.cpu)),
        elements_(kernels::choose_elementwise(options.cpu)) {}

  std::string kernel_name() const override {
    std::string text = gate_->name();
    if (down_->name() != gate_->name()) text += "; " + down_->name();
    return text;
  }
  // Indices of experts are not rows.
  int row_axis() const override { return node_.has_indices ? -1 : 0; }

  // Bytes that rows with random choices read.
  int64_t weight_bytes() const override {
    const int64_t each = gate_->bytes() + up_->bytes() + down_->bytes();
    if (node_.has_indices) return views[2].shape[1].upper() * each;
    const auto all = static_cast<double>(node_.experts);
    const auto rows = static_cast<double>(views[1].shape[0].upper());
    const double share = node_.chosen > 0 ? static_cast<double>(node_.chosen) / all : 1.0;
    const double read = all * (1 - std::pow(1 - share, rows));
    return static_cast<int64_t>(read * static_cast<double>(each));
  }

  // For one row.
  int64_t saved_bytes(std::set<const std::byte*>& counted) const override {
    int64_t each = 0;
    for (const auto& matrices : {gate_.get(), up_.get(), down_.get()}) {
      const std::byte* key = matrices->key();
      if (key != nullptr && counted.insert(key).second) each += matrices->saved_bytes();
    }
    return each * (node_.has_indices  ? views[2].shape[1].upper()
                   : node_.chosen > 0 ? node_.chosen
                                      : node_.experts);
  }

  int64_t scratch_bytes() const override { return scratch_bytes_of(views[1].shape[0].upper()); }
  int64_t scratch_bytes_of(int64_t rows) const override {
    return Memory(*this, rows).shared + Memory(*this, rows).own;
  }

  void run(const StepContext& context) const noexcept override {
    const Operand& out = context.operands[0];
    const Operand& weights = context.operands[2];
    const int64_t rows = out.shape[0];
    for (int64_t i = 0; i < rows; ++i) {
      std::fill_n(out.floats() + i * out.strides[0], out.shape[1], 0.0f);
    }
    if (rows == 0) return;
    const Memory memory(*this, rows);
    Round round{context, memory, 0, 0};
    auto* pair_rows = round.at<int32_t>(memory.rows);
    auto* pair_weights = round.at(memory.weights);
    auto* groups = round.at<Group>(memory.groups);
    const int32_t* indices = node_.has_indices ? context.operands[3].ints() : nullptr;
    for (int64_t candidate = 0; candidate < weights.shape[1]; ++candidate) {
      const float* column = weights.floats() + candidate * weights.strides[1];
      int64_t count = 0;
      for (int64_t i = 0; i < rows; ++i) count += column[i * weights.strides[0]] != 0 ? 1 : 0;
      if (count == 0) continue;
      if (round.num_pairs + count > memory.most_pairs) finish(round);
      const int64_t number = indices != nullptr ? indices[candidate] : candidate;
      // Like the op: an index outside reads the nearest expert.
      const int64_t expert =
          std::clamp<int64_t>(number < 0 ? number + node_.experts : number, 0, node_.experts - 1);
      groups[round.num_groups++] = {static_cast<int32_t>(expert),
                                    static_cast<int32_t>(round.num_pairs),
                                    static_cast<int32_t>(count)};
      for (int64_t i = 0; i < rows; ++i) {
        const float weight = column[i * weights.strides[0]];
        if (weight == 0) continue;
        pair_rows[round.num_pairs] = static_cast<int32_t>(i);
        pair_weights[round.num_pairs++] = weight;
      }
    }
    if (round.num_pairs > 0) finish(round);
  }

 private:
  // Layout of a run's working memory, in bytes: parts shared by all threads, then each thread's
  // own.
  struct Memory {
    int64_t most_pairs;  // of one round: at least all rows of one expert
    int64_t rows = 0, weights = 0, groups = 0;
    int64_t gate = 0, up = 0, formed_x = 0, formed_up = 0, formed_h = 0, results = 0;
    int64_t shared = 0;
    int64_t own_formed = 0, own_result = 0, own = 0;

    Memory(const ExpertsStep& step, int64_t most_rows)
        : most_pairs(std::max(most_rows, kPairsOfARound)) {
      const ExpertMatrices &gate_matrices = *step.gate_, &up_matrices = *step.up_,
                           &down_matrices = *step.down_;
      const int64_t candidates = step.views[2].shape[1].upper();
      most_pairs = std::min(most_pairs, most_rows * candidates);
      const int64_t most_groups = std::min(most_pairs, candidates);
      const auto place = [&](int64_t& at, int64_t bytes) {
        at = shared;
        shared += aligned(bytes);
      };
      place(rows, most_pairs * static_cast<int64_t>(sizeof(int32_t)));
      place(weights, floats_bytes(most_pairs));
      place(groups, most_groups * static_cast<int64_t>(sizeof(Group)));
      place(gate, floats_bytes(most_pairs * padded(gate_matrices.n)));
      place(up, floats_bytes(most_pairs * padded(gate_matrices.n)));
      place(formed_x, formed_bytes(gate_matrices, most_pairs, most_groups));
      formed_up = formed_x;
      if (!up_matrices.forms_like(gate_matrices)) {
        place(formed_up, formed_bytes(up_matrices, most_pairs, most_groups));
      }
      place(formed_h, formed_bytes(down_matrices, most_pairs, most_groups));
      const int64_t most_read = std::min(most_pairs, kPairsOfARead * most_groups);
      place(results, floats_bytes(most_read * padded(down_matrices.n)));
      own = std::max({gate_matrices.scratch_bytes(), up_matrices.scratch_bytes(),
                      down_matrices.scratch_bytes()});
      own_formed = own;
      own += formed_bytes(down_matrices, kFewPairs, kFewPairs);
      own_result = own;
      own += floats_bytes(most_rows * padded(down_matrices.n));
    }

    // Rows of several groups, each formed separately.
    static int64_t formed_bytes(const ExpertMatrices& matrices, int64_t rows, int64_t groups) {
      int64_t most = 0;  // of a row of a group
      constexpr int64_t kSizes =
          40;  // the forms for a few rows and for many rows are among these sizes
      for (int64_t count = 1; count <= kSizes; ++count) {
        most = std::max(most, ceil_div(matrices.formed_bytes(count), count));
      }
      return aligned(most) * (rows + groups);
    }
  };

  struct Round {
    const StepContext& context;
    const Memory& memory;
    int64_t num_pairs, num_groups;
    Peers* peers = nullptr;  // with which it is divided

    template <typename T = float>
    T* at(int64_t offset) const {
      return reinterpret_cast<T*>(context.scratch + offset);
    }
    std::span<Group> groups() const {
      return {at<Group>(memory.groups), static_cast<size_t>(num_groups)};
    }
    const int32_t* rows_of(const Group& group) const {
      return at<int32_t>(memory.rows) + group.first;
    }
    const float* weights_of(const Group& group) const { return at(memory.weights) + group.first; }
    std::byte* own(int part) const { return context.scratch + memory.shared + part * memory.own; }
  };

  // Calls make_worker(thread), and its result with every number below `count`.
  template <typename MakeWorker>
  static void deal(const StepContext& context, int64_t count, bool shared,
                   const MakeWorker& make_worker) {
    if (!shared || count == 1) {
      const auto worker = make_worker(0);
      for (int64_t i = 0; i < count; ++i) worker(i);
      return;
    }
    std::atomic<int64_t> next{0};
    context.pool.run([&](int part, int) {
      const auto worker = make_worker(part);
      for (int64_t i = next++; i < count; i = next++) {
        context.pool.begin_piece();
        worker(i);
      }
    });
  }

  // Most experts have one or two rows: the time is that of reading their matrices, which is fastest
  // from front to back.
  static bool reads(const Round& round) {
    return round.num_pairs <= kPairsOfARead * round.num_groups;
  }

  // Of the columns of each group, those that this process computes.
  static Range own_columns(const Round& round, int64_t columns, int64_t grain) {
    if (round.peers == nullptr) return {0, columns};
    return own_share(*round.peers, columns, grain);
  }

  // Takes the other columns of `rows` rows, `stride` apart, from the peers.
  static void exchange(const Round& round, float* values, int64_t rows, int64_t columns,
                       int64_t stride, int64_t grain) noexcept {
    if (round.peers == nullptr) return;
    leave_errors(round.context, [&] {
      Operand whole;
      whole.data = reinterpret_cast<std::byte*>(values);
      whole.rank = 2;
      whole.shape[0] = rows;
      whole.shape[1] = columns;
      whole.strides[0] = stride;
      whole.strides[1] = 1;
      const Peers::Divided divided = {whole, 1, shares_of(*round.peers, columns, grain)};
      round.peers->exchange({&divided, 1});
    });
  }

  // Distributes the `columns` of all groups as if they were those of one matrix: each thread calls
  // make_worker(thread), and its result with a group's index and a range of its columns.
  template <typename MakeWorker>
  static void deal_columns(const Round& round, Range columns, int64_t grain, bool shared,
                           const MakeWorker& make_worker) {
    const int64_t each = align_up(columns.end - columns.begin, grain);
    const auto by_group = [&](int part) {
      return [worker = make_worker(part), each, columns](Range range) {
        for (int64_t begin = range.begin; begin < range.end;) {
          const int64_t index = begin / each, first = index * each;
          const int64_t end = std::min(range.end, first + each);
          worker(index, columns.begin + begin - first,
                 std::min(columns.end, columns.begin + end - first));
          begin = end;
        }
      };
    };
    const int64_t all = round.num_groups * each;
    if (!shared) return by_group(0)(Range{0, all});
    ThreadPool& pool = round.context.pool;
    deal_range(pool, all, grain, 4 * pool.num_threads(), by_group);
  }

  // Columns of a task, out of `columns` for each of `groups`: enough tasks for each thread that
  // none waits long for the last one.
  static int64_t task_columns(const StepContext& context, int64_t columns, int64_t groups,
                              int64_t grain) {
    constexpr int64_t kTasks = 32, kLeast = 64;
    const int64_t tasks = std::max<int64_t>(1, kTasks * context.pool.num_threads() / groups);
    const int64_t least = align_up<int64_t>(kLeast, grain);
    return std::max(least, align_up<int64_t>(ceil_div(columns, tasks), grain));
  }

  // Rows of groups are formed one after another; a single row of x only once.
  void place_groups(const Round& round) const {
    const bool one = is_one(round);
    int64_t x = 0, up = 0, hidden = 0;
    for (Group& group : round.groups()) {
      group.x = x;
      group.up = up;
      group.hidden = hidden;
      if (!one) x += gate_->formed_bytes(group.count);
      if (!one) up += up_->formed_bytes(group.count);
      hidden += down_->formed_bytes(group.count);
    }
  }

  void finish(Round& round) const noexcept {
    const int64_t work = round.num_pairs * gate_->n * gate_->k;
    round.peers = is_divided(round.context.peers, work) ? round.context.peers : nullptr;
    const int64_t parts = round.peers != nullptr ? round.peers->count() : 1;
    const bool shared = work / parts >= kProductsOfAThread;
    place_groups(round);
    form_x(round, shared);
    fill_hidden(round, shared);
    add_results(round, shared);
    round.num_pairs = round.num_groups = 0;
  }

  static bool is_one(const Round& round) { return round.context.operands[1].shape[0] == 1; }

  void form_x(const Round& round, bool shared) const noexcept {
    const Operand& x = round.context.operands[1];
    const bool one = is_one(round), alike = up_->forms_like(*gate_);
    deal(round.context, one ? 1 : round.num_groups, shared && !one, [&](int) {
      return [&](int64_t index) {
        const Group& group = round.groups()[static_cast<size_t>(index)];
        const ExpertMatrices::Source from = {x.floats(), x.strides[0], group.count,
                                             round.rows_of(group)};
        gate_->form(from, round.at<std::byte>(round.memory.formed_x + group.x));
        if (alike) return;
        up_->form(from, round.at<std::byte>(round.memory.formed_up + group.up));
      };
    });
  }

  const float* bias(const Round& round, int place, int64_t expert, int64_t n) const {
    if (place < 0) return nullptr;
    return round.context.operands[static_cast<size_t>(place)].floats() + expert * n;
  }
  int gate_bias_place() const { return node_.gate_bias ? 3 + node_.has_indices : -1; }
  int up_bias_place() const { return node_.up_bias ? 3 + node_.has_indices + node_.gate_bias : -1; }
  int down_bias_place() const {
    return node_.down_bias ? 3 + node_.has_indices + node_.gate_bias + node_.up_bias : -1;
  }

  // Replaces gate(x) of every pair by activation(gate(x)) * up(x).
  void fill_hidden(const Round& round, bool shared) const noexcept {
    const int64_t n = gate_->n;
    const int64_t grain = std::max(gate_->grain(), up_->grain());
    const Range own = own_columns(round, n, grain);
    if (reads(round)) {
      deal_columns(round, own, grain, shared, [&](int part) {
        return [&, part](int64_t index, int64_t begin, int64_t end) {
          fill_columns(round, index, begin, end, part);
        };
      });
    } else {
      const int64_t columns =
          task_columns(round.context, own.end - own.begin, round.num_groups, grain);
      const int64_t tasks = ceil_div(own.end - own.begin, columns);
      deal(round.context, round.num_groups * tasks, shared, [&](int part) {
        return [&, part](int64_t task) {
          const int64_t begin = own.begin + task % tasks * columns;
          fill_columns(round, task / tasks, begin, std::min(own.end, begin + columns), part);
        };
      });
    }
    exchange(round, round.at(round.memory.gate), round.num_pairs, n, padded(n), grain);
  }

  void fill_columns(const Round& round, int64_t index, int64_t begin, int64_t end,
                    int part) const noexcept {
    const int64_t n = gate_->n, stride = padded(n);
    const bool alike = up_->forms_like(*gate_);
    const Group& group = round.groups()[static_cast<size_t>(index)];
    float* gate = round.at(round.memory.gate) + group.first * stride;
    float* up = round.at(round.memory.up) + group.first * stride;
    const auto multiply = [&](const ExpertMatrices& matrices, int64_t formed, int place, float* y) {
      // The weight is applied between product and bias.
      const float* own = bias(round, place, group.expert, n);
      matrices.dot(group.expert, round.at<std::byte>(formed), group.count,
                   node_.weights_scale_input ? nullptr : own, y, stride, begin, end,
                   round.own(part));
      if (node_.weights_scale_input) scale(round, group, y, stride, begin, end, own);
    };
    multiply(*gate_, round.memory.formed_x + group.x, gate_bias_place(), gate);
    multiply(*up_, round.memory.formed_up + (alike ? group.x : group.up), up_bias_place(), up);
    if (node_.limit || node_.up_shift != 0) bound(group.count, gate, up, stride, begin, end);
    rows_.gated(node_.activation,
                {gate + begin, stride, gate + begin, stride, group.count, end - begin}, up + begin,
                stride);
  }

  void scale(const Round& round, const Group& group, float* y, int64_t stride, int64_t begin,
             int64_t end, const float* bias) const {
    for (int64_t i = 0; i < group.count; ++i) {
      const float weight = round.weights_of(group)[i];
      for (int64_t j = begin; j < end; ++j) {
        y[i * stride + j] *= weight;
        if (bias != nullptr) y[i * stride + j] += bias[j];
      }
    }
  }

  // Keeps NaN.
  void bound(int64_t count, float* gate, float* up, int64_t stride, int64_t begin,
             int64_t end) const {
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t j = i * stride + begin; j < i * stride + end; ++j) {
        if (node_.limit) {
          if (gate[j] > *node_.limit) gate[j] = *node_.limit;
          if (up[j] > *node_.limit) up[j] = *node_.limit;
          if (up[j] < -*node_.limit) up[j] = -*node_.limit;
        }
        up[j] += node_.up_shift;
      }
    }
  }

  // Adds weight * down(hidden) to the rows of out, expert by expert, so that a row's sum does not
  // depend on the other rows.
  void add_results(const Round& round, bool shared) const noexcept {
    const ExpertMatrices& down = *down_;
    const bool few = round.num_pairs <= kFewPairs;
    const int64_t stride = padded(down.k), result_stride = padded(down.n);
    const auto form = [&](int64_t index, std::byte* memory) {
      const Group& group = round.groups()[static_cast<size_t>(index)];
      down.form({round.at(round.memory.gate) + group.first * stride, stride, group.count, nullptr},
                memory + group.hidden);
    };
    if (!few) {
      deal(round.context, round.num_groups, shared, [&](int) {
        return [&](int64_t index) { form(index, round.at<std::byte>(round.memory.formed_h)); };
      });
    }
    const auto formed_rows = [&](int part) {
      if (!few) return round.at<std::byte>(round.memory.formed_h);
      std::byte* formed = round.own(part) + round.memory.own_formed;
      for (int64_t index = 0; index < round.num_groups; ++index) form(index, formed);
      return formed;
    };
    const auto multiply = [&](const Group& group, const std::byte* formed, float* result,
                              int64_t begin, int64_t end, int part) {
      down.dot(group.expert, formed + group.hidden, group.count,
               bias(round, down_bias_place(), group.expert, down.n), result, result_stride, begin,
               end, round.own(part));
    };
    const Range own = own_columns(round, down.n, down.grain());
    if (reads(round)) {
      float* results = round.at(round.memory.results);
      deal_columns(round, own, down.grain(), shared, [&](int part) {
        return [&, part, results, formed = formed_rows(part)](int64_t index, int64_t begin,
                                                              int64_t end) {
          const Group& group = round.groups()[static_cast<size_t>(index)];
          multiply(group, formed, results + group.first * result_stride, begin, end, part);
        };
      });
      exchange(round, results, round.num_pairs, down.n, result_stride, down.grain());
      // Few numbers compared with those of the matrices: the calling thread adds them up.
      for (const Group& group : round.groups()) {
        add_weighted(round, group, results + group.first * result_stride, 0, down.n);
      }
      return;
    }
    const int64_t columns = task_columns(round.context, own.end - own.begin, 1, down.grain());
    deal(round.context, ceil_div(own.end - own.begin, columns), shared, [&](int part) {
      auto* result = reinterpret_cast<float*>(round.own(part) + round.memory.own_result);
      return [&, part, result, formed = formed_rows(part)](int64_t task) {
        const int64_t begin = own.begin + task * columns, end = std::min(own.end, begin + columns);
        for (const Group& group : round.groups()) {
          multiply(group, formed, result, begin, end, part);
          add_weighted(round, group, result, begin, end);
        }
      };
    });
    const Operand& out = round.context.operands[0];
    exchange(round, out.floats(), out.shape[0], down.n, out.strides[0], down.grain());
  }

  // Adds the results of a group's rows to those of out.
  void add_weighted(const Round& round, const Group& group, float* result, int64_t begin,
                    int64_t end) const {
    const Operand& out = round.context.operands[0];
    for (int64_t i = 0; i < group.count; ++i) {
      float* own = result + i * padded(down_->n) + begin;
      if (!node_.weights_scale_input) {
        elements_.unary(kernels::UnaryOp::Linear, own, own, end - begin, round.weights_of(group)[i],
                        0);
      }
      float* sum = out.floats() + round.rows_of(group)[i] * out.strides[0] + begin;
      elements_.binary(kernels::BinaryOp::Add, sum, 1, own, 1, sum, end - begin);
    }
  }

  const ExpertsNode& node_;
  std::unique_ptr<const ExpertMatrices> gate_, up_, down_;
  const kernels::RowsKernels& rows_;
  const kernels::ElementwiseKernels& elements_;
};

}  // namespace

StepPointer make_step_of(const ExpertsNode& node, const StepSource& source) {
  return std::make_unique<ExpertsStep>(node, source.options);
}

}  // namespace pippin::engine
