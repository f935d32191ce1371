// Runs a plan's steps on the CPU.
#include <algorithm>
#include <atomic>
#include <bit>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/base/numbers/checked.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/engine/device_execution.h"
#include "pippin/engine/run/batched_steps.h"
#include "pippin/engine/run/cpu_plan.h"
#include "pippin/engine/run/host_state.h"
#include "pippin/engine/run/lane.h"
#include "pippin/engine/run/memory.h"
#include "pippin/engine/run/output_rows.h"
#include "pippin/engine/run/profile.h"

namespace pippin::engine {
namespace {

// The distance between two lanes' arenas. Rows of several lanes are read by one kernel: at
// multiples of the page size they would share a few cache sets.
int64_t lane_stride(const CpuPlan& plan) {
  return align_up<int64_t>(std::max<int64_t>(plan.node_plan.arena_size, 1), 4096) + 5 * 64;
}

std::vector<OutputRows::Facts> row_facts(const CpuPlan& plan) {
  std::vector<OutputRows::Facts> facts;
  facts.reserve(plan.steps.size());
  for (const auto& step : plan.steps) facts.push_back({step->is_elementwise(), step->row_axis()});
  return facts;
}

std::byte* state_address(State& state, size_t index) {
  return state.memory<HostState>(HostState::kDevice).here(index).data();
}

class CpuExecution final : public DeviceExecution {
 public:
  CpuExecution(const CpuPlan& plan, ThreadPool& pool)
      : plan_(plan),
        layout_(std::make_shared<const LaneLayout>(plan.node_plan, LaneMemory{state_address, {}})),
        pool_(pool),
        stride_(lane_stride(plan)),
        arenas_(plan.arena_bytes(), "working memory"),
        scratch_size_(plan.scratch_size),
        output_rows_(plan.node_plan, row_facts(plan)) {
    reserve_scratch();
    lanes_.emplace_back(layout_, arenas_.data());
    errors_.resize(1);
  }

  void reserve_lanes(size_t wanted) override {
    if (wanted <= lanes_.size()) return;
    const size_t count = std::bit_ceil(wanted);
    const auto bytes = checked_mul<int64_t>(stride_, static_cast<int64_t>(count));
    if (!bytes) fail(ErrorCode::LimitExceeded, "{} sequences do not fit into memory", count);
    Memory larger(static_cast<uint64_t>(*bytes), "working memory of several sequences");
    auto steps = std::make_unique<BatchedSteps>(plan_, count);
    lanes_.reserve(count);
    together_.reserve(count);
    errors_.resize(count);
    for (size_t i = 0; i < lanes_.size(); ++i) {
      std::byte* arena = larger.data() + static_cast<int64_t>(i) * stride_;
      std::copy_n(arenas_.data() + static_cast<int64_t>(i) * stride_, plan_.node_plan.arena_size,
                  arena);
      lanes_[i].move_to(arena);
    }
    arenas_ = std::move(larger);
    while (lanes_.size() < count) {
      lanes_.emplace_back(layout_, arenas_.data() + static_cast<int64_t>(lanes_.size()) * stride_);
    }
    joint_ = std::move(steps);
    if (joint_->scratch_bytes() > scratch_size_) {
      scratch_size_ = joint_->scratch_bytes();
      reserve_scratch();
    }
  }

  size_t lanes() const override { return lanes_.size(); }

  void bind(const std::vector<std::vector<int64_t>>& shapes, State& state, size_t lane) override {
    lanes_.at(lane).bind(shapes, state);
  }

  MutableByteSpan input_bytes(size_t index, size_t lane) override {
    lanes_.at(lane).lend(index, nullptr);
    const Operand& operand = lanes_[lane].input(index);
    return {operand.data, byte_size(operand)};
  }

  bool lend_input(size_t index, ByteSpan bytes, size_t lane) override {
    const Operand& operand = lanes_.at(lane).input(index);
    const auto address = reinterpret_cast<uintptr_t>(bytes.data());
    const bool is_aligned = address % static_cast<uintptr_t>(element_size(operand.storage)) == 0;
    if (lanes_.size() > 1 || bytes.empty() || bytes.size() != byte_size(operand) || !is_aligned) {
      return false;
    }
    lanes_[lane].lend(index, bytes.data());
    return true;
  }

  ByteSpan output_bytes(size_t index, size_t lane) const override {
    const Operand& operand = lanes_.at(lane).output(index);
    return {operand.data, byte_size(operand)};
  }

  std::span<const int64_t> output_shape(size_t index, size_t lane) const override {
    const Operand& operand = lanes_.at(lane).output(index);
    return {operand.shape, static_cast<size_t>(operand.rank)};
  }

  void run(size_t lane, std::optional<WantedRows> rows) override { run_steps(lane, rows, false); }
  void run_cancellable(size_t lane) override { run_steps(lane, std::nullopt, true); }

  void run_together(std::span<const size_t> lanes) override {
    together_.clear();
    for (const size_t index : lanes) {
      take_values(lanes_.at(index));
      together_.push_back(&lanes_[index]);
    }
    Profile* profile = active_profile();
    const auto begin = profile != nullptr ? Profile::Clock::now() : Profile::Clock::time_point();
    const size_t steps = plan_.steps.size();
    for (size_t i = 0; i < steps;) {
      if (joint_->joins(i)) {
        run_joint(i++, profile);
        continue;
      }
      size_t end = i + 1;
      // A large product of one sequence's rows with weights needs all threads.
      const bool alone = plan_.steps[i]->row_axis() >= 0;
      while (!alone && end < steps && plan_.steps[end]->row_axis() < 0) ++end;
      if (alone) {
        for (size_t k = 0; k < lanes.size(); ++k) {
          run_step(i, *together_[k], {pool_, 0, plan_.peers.get()}, &errors_[k], profile);
        }
      } else {
        run_each(i, end, profile);
      }
      i = end;
    }
    if (profile != nullptr) profile->add_span(plan_.name(), begin, Profile::Clock::now());
    rethrow();
  }

 private:
  static size_t byte_size(const Operand& operand) {
    return static_cast<size_t>(operand.size() * element_size(operand.storage));
  }

  static void take_values(Lane& lane) {
    lane.take_values(
        [&](size_t input, size_t element) { return lane.input(input).ints()[element]; });
  }

  void reserve_scratch() {
    scratch_ =
        Memory(static_cast<uint64_t>(scratch_size_) * static_cast<uint64_t>(pool_.num_threads()),
               "scratch memory");
  }

  void run_steps(size_t lane, const std::optional<WantedRows>& rows, bool may_stop) {
    take_values(lanes_.at(lane));
    Profile* profile = active_profile();
    const auto begin = profile != nullptr ? Profile::Clock::now() : Profile::Clock::time_point();
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      if (may_stop && cancel_requested()) stop();
      std::span<const Operand> operands = lanes_[lane].operands(i);
      if (rows && output_rows_.may_skip(i)) {
        const auto some = output_rows_.only(i, lanes_[lane], *rows);
        if (some && rows->begin == rows->end) continue;
        operands = some.value_or(operands);
      }
      run_step(i, lanes_[lane], operands, {pool_, 0, plan_.peers.get()}, errors_.data(), profile);
    }
    if (profile != nullptr) profile->add_span(plan_.name(), begin, Profile::Clock::now());
    if (errors_[0]) rethrow();
  }

  [[noreturn]] void stop() {
    errors_[0] = nullptr;
    fail(ErrorCode::Cancelled, "cancelled");
  }

  // The scratch of one thread, or of all threads, starting with the first.
  std::byte* scratch_of(int thread) const { return scratch_.data() + thread * scratch_size_; }

  // The threads of a step, whose first has that number in the scratch memory, and peers. Steps of
  // several lanes at once are computed without peers, which would need one order of exchanges.
  struct Workers {
    ThreadPool& threads;
    int thread = 0;
    Peers* peers = nullptr;
  };
  void run_step(size_t step, const Lane& lane, const Workers& workers, std::exception_ptr* error,
                Profile* profile) const {
    run_step(step, lane, lane.operands(step), workers, error, profile);
  }
  void run_step(size_t step, const Lane& lane, std::span<const Operand> operands,
                const Workers& workers, std::exception_ptr* error, Profile* profile) const {
    const Step& what = *plan_.steps[step];
    const StepContext context{operands,        lane.scalars(step),
                              workers.threads, scratch_of(workers.thread),
                              error,           workers.peers};
    if (profile == nullptr) return what.run(context);
    const auto begin = Profile::Clock::now();
    what.run(context);
    profile->add_step(what, context.operands, 1, workers.thread, begin, Profile::Clock::now());
  }

  void run_joint(size_t step, Profile* profile) {
    const auto begin = profile != nullptr ? Profile::Clock::now() : Profile::Clock::time_point();
    joint_->run(step, together_, pool_, scratch_.data(), joint_error_);
    if (profile == nullptr) return;
    profile->add_step(*plan_.steps[step], together_[0]->operands(step),
                      static_cast<int64_t>(together_.size()), 0, begin, Profile::Clock::now());
  }

  // The steps [begin, end) of every lane. Whole sequences are distributed to threads; the remaining
  // ones are computed by all threads one after another.
  void run_each(size_t begin, size_t end, Profile* profile) {
    const size_t count = together_.size();
    const auto threads = static_cast<size_t>(pool_.num_threads());
    const size_t whole = threads > 1 ? count / threads * threads : 0;
    if (whole > 0) {
      std::atomic<size_t> next{0};  // sequences differ in length
      pool_.run([&](int part, int) {
        for (size_t i = next++; i < whole; i = next++) {
          pool_.begin_piece();
          for (size_t step = begin; step < end; ++step) {
            run_step(step, *together_[i], {serial_, part}, &errors_[i], profile);
          }
        }
      });
    }
    for (size_t i = whole; i < count; ++i) {
      for (size_t step = begin; step < end; ++step) {
        run_step(step, *together_[i], {pool_}, &errors_[i], profile);
      }
    }
  }

  void rethrow() {
    std::exception_ptr first = std::exchange(joint_error_, nullptr);
    for (std::exception_ptr& error : errors_) {
      if (error && !first) first = error;
      error = nullptr;
    }
    if (first) std::rethrow_exception(first);
  }

  const CpuPlan& plan_;
  std::shared_ptr<const LaneLayout> layout_;
  ThreadPool& pool_;
  ThreadPool serial_{1};  // for steps inside a thread that computes a sequence alone
  int64_t stride_;
  Memory arenas_;
  int64_t scratch_size_;  // per thread
  Memory scratch_;
  std::vector<Lane> lanes_;
  OutputRows output_rows_;
  std::unique_ptr<BatchedSteps> joint_;  // if there are several lanes
  std::vector<const Lane*> together_;
  std::vector<std::exception_ptr> errors_;  // by lane of a run
  std::exception_ptr joint_error_;          // of the steps that take several lanes at once
};

}  // namespace

std::unique_ptr<DeviceExecution> CpuPlan::make_execution(ThreadPool& pool) const {
  return std::make_unique<CpuExecution>(*this, pool);
}

}  // namespace pippin::engine
