#include <algorithm>
#include <atomic>
#include <bit>

#include "pippin/base/checked.h"
#include "pippin/base/error.h"
#include "pippin/engine/joint_steps.h"
#include "pippin/engine/memory.h"
#include "pippin/engine/output_rows.h"
#include "pippin/engine/plan_impl.h"
#include "pippin/engine/profile.h"
#include "pippin/engine/seat.h"

namespace pippin::engine {
namespace {

// From one seat's arena to the next. Rows of several seats meet in one kernel: at multiples of the
// page size they would all want the same places of the caches.
int64_t seat_stride(const PlanImpl& plan) {
  return align_up<int64_t>(std::max<int64_t>(plan.arena_size, 1), 4096) + 5 * 64;
}

}  // namespace

struct Execution::Impl {
  std::shared_ptr<const PlanImpl> plan;
  std::shared_ptr<const SeatLayout> layout;
  ThreadPool& pool;
  ThreadPool serial{1};  // for steps inside a thread that has a sequence to itself
  int64_t stride;
  Memory arenas;
  int64_t scratch_size;  // per thread
  Memory scratch;
  std::vector<Seat> seats;
  OutputRows output_rows;
  std::unique_ptr<JointSteps> joint;  // where there are several seats
  std::vector<const Seat*> together;
  std::vector<std::exception_ptr> errors;  // by seat of a run

  Impl(std::shared_ptr<const PlanImpl> made, ThreadPool& threads)
      : plan(std::move(made)),
        layout(std::make_shared<const SeatLayout>(plan)),
        pool(threads),
        stride(seat_stride(*plan)),
        arenas(plan->arena_bytes(), "working memory"),
        scratch_size(plan->scratch_size),
        output_rows(*plan) {
    reserve_scratch();
    seats.emplace_back(layout, arenas.data());
    errors.resize(1);
  }

  void reserve_scratch() {
    scratch =
        Memory(static_cast<uint64_t>(scratch_size) * static_cast<uint64_t>(pool.num_threads()),
               "scratch memory");
  }

  void reserve(size_t wanted) {
    if (wanted <= seats.size()) return;
    const size_t count = std::bit_ceil(wanted);
    const auto bytes = checked_mul<int64_t>(stride, static_cast<int64_t>(count));
    if (!bytes) fail(ErrorCode::LimitExceeded, "{} sequences do not fit into memory", count);
    Memory larger(static_cast<uint64_t>(*bytes), "working memory of several sequences");
    auto steps = std::make_unique<JointSteps>(*layout, count);
    seats.reserve(count);
    together.reserve(count);
    errors.resize(count);
    for (size_t i = 0; i < seats.size(); ++i) {
      std::byte* arena = larger.data() + static_cast<int64_t>(i) * stride;
      std::copy_n(arenas.data() + static_cast<int64_t>(i) * stride, plan->arena_size, arena);
      seats[i].move_to(arena);
    }
    arenas = std::move(larger);
    while (seats.size() < count) {
      seats.emplace_back(layout, arenas.data() + static_cast<int64_t>(seats.size()) * stride);
    }
    joint = std::move(steps);
    if (joint->scratch_bytes() > scratch_size) {
      scratch_size = joint->scratch_bytes();
      reserve_scratch();
    }
  }

  // One thread's scratch, or that of all from the first thread's on.
  std::byte* scratch_of(int thread) const { return scratch.data() + thread * scratch_size; }

  void run_step(size_t step, const Seat& seat, ThreadPool& threads, int thread,
                std::exception_ptr* error, Profile* profile) const {
    run_step(step, seat, seat.operands(step), threads, thread, error, profile);
  }
  void run_step(size_t step, const Seat& seat, std::span<const Operand> operands,
                ThreadPool& threads, int thread, std::exception_ptr* error,
                Profile* profile) const {
    const Step& what = *plan->steps[step];
    const StepContext context{operands, seat.scalars(step), threads, scratch_of(thread), error};
    if (profile == nullptr) return what.run(context);
    const auto begin = Profile::Clock::now();
    what.run(context);
    profile->add_step(what, context.operands, 1, thread, begin, Profile::Clock::now());
  }

  void run_joint(size_t step, Profile* profile) const {
    const auto begin = profile != nullptr ? Profile::Clock::now() : Profile::Clock::time_point();
    joint->run(step, together, pool, scratch.data());
    if (profile == nullptr) return;
    profile->add_step(*plan->steps[step], together[0]->operands(step),
                      static_cast<int64_t>(together.size()), 0, begin, Profile::Clock::now());
  }

  // The steps [begin, end) of every seat. Sequences go to threads as a whole; those that are left
  // over are computed by all threads one after another.
  void run_each(size_t begin, size_t end, Profile* profile) {
    const size_t count = together.size();
    const auto threads = static_cast<size_t>(pool.num_threads());
    const size_t whole = threads > 1 ? count / threads * threads : 0;
    if (whole > 0) {
      std::atomic<size_t> next{0};  // sequences differ in length
      pool.run([&](int part, int) {
        for (size_t i = next++; i < whole; i = next++) {
          for (size_t step = begin; step < end; ++step) {
            run_step(step, *together[i], serial, part, &errors[i], profile);
          }
        }
      });
    }
    for (size_t i = whole; i < count; ++i) {
      for (size_t step = begin; step < end; ++step) {
        run_step(step, *together[i], pool, 0, &errors[i], profile);
      }
    }
  }

  void take(std::span<const size_t> wanted) {
    together.clear();
    for (const size_t index : wanted) {
      Seat& seat = seats.at(index);
      const auto same = [&](const Seat* other) {
        const bool has_state = !plan->state_features.empty();
        return other == &seat || (has_state && other->state_id() == seat.state_id());
      };
      if (std::any_of(together.begin(), together.end(), same)) {
        fail(ErrorCode::InvalidArgument, "seat {} or its state is there twice", index);
      }
      seat.take_values();
      together.push_back(&seat);
    }
  }

  void rethrow() {
    std::exception_ptr first;
    for (std::exception_ptr& error : errors) {
      if (error && !first) first = error;
      error = nullptr;
    }
    if (first) std::rethrow_exception(first);
  }
};

Execution::Execution(std::shared_ptr<const Plan> plan, ThreadPool& pool)
    : impl_(std::make_unique<Impl>(std::static_pointer_cast<const PlanImpl>(std::move(plan)),
                                   pool)) {}
Execution::Execution(Execution&&) noexcept = default;
Execution::~Execution() = default;

const Plan& Execution::plan() const {
  return *impl_->plan;
}

void Execution::reserve_seats(size_t count) {
  impl_->reserve(count);
}

size_t Execution::seats() const {
  return impl_->seats.size();
}

void Execution::bind(const std::vector<std::vector<int64_t>>& shapes, State& state, size_t seat) {
  impl_->seats.at(seat).bind(shapes, state);
}

std::span<float> Execution::float_input(size_t index, size_t seat) {
  const Operand& operand = impl_->seats.at(seat).input(index);
  return {operand.floats(), static_cast<size_t>(operand.size())};
}

MutableByteSpan Execution::input_bytes(size_t index, size_t seat) {
  const Operand& operand = impl_->seats.at(seat).input(index);
  return {operand.data, static_cast<size_t>(operand.size() * element_size(operand.storage))};
}

std::span<int32_t> Execution::int_input(size_t index, size_t seat) {
  const auto floats = float_input(index, seat);  // both have 4 bytes
  return {reinterpret_cast<int32_t*>(floats.data()), floats.size()};
}

void Execution::run(size_t seat, std::optional<WantedRows> rows) {
  Impl& impl = *impl_;
  impl.seats.at(seat).take_values();
  Profile* profile = active_profile();
  const auto begin = profile != nullptr ? Profile::Clock::now() : Profile::Clock::time_point();
  const size_t steps = impl.plan->steps.size();
  for (size_t i = 0; i < steps; ++i) {
    std::span<const Operand> operands = impl.seats[seat].operands(i);
    if (rows && impl.output_rows.may_skip(i)) {
      operands = impl.output_rows.only(i, impl.seats[seat], *rows).value_or(operands);
      if (operands[0].shape[0] == 0) continue;
    }
    impl.run_step(i, impl.seats[seat], operands, impl.pool, 0, impl.errors.data(), profile);
  }
  if (profile != nullptr) profile->add_span(impl.plan->name(), begin, Profile::Clock::now());
  if (impl.errors[0]) impl.rethrow();
}

void Execution::run_together(std::span<const size_t> seats) {
  if (seats.empty()) return;
  if (seats.size() == 1) return run(seats[0]);
  Impl& impl = *impl_;
  impl.take(seats);
  Profile* profile = active_profile();
  const auto begin = profile != nullptr ? Profile::Clock::now() : Profile::Clock::time_point();
  const size_t steps = impl.plan->steps.size();
  for (size_t i = 0; i < steps;) {
    if (impl.joint->joins(i)) {
      impl.run_joint(i++, profile);
      continue;
    }
    size_t end = i + 1;
    // A large product of one sequence's rows with weights wants all threads.
    const bool alone = impl.plan->steps[i]->row_axis() >= 0;
    while (!alone && end < steps && impl.plan->steps[end]->row_axis() < 0) ++end;
    if (alone) {
      for (size_t k = 0; k < seats.size(); ++k) {
        impl.run_step(i, *impl.together[k], impl.pool, 0, &impl.errors[k], profile);
      }
    } else {
      impl.run_each(i, end, profile);
    }
    i = end;
  }
  if (profile != nullptr) profile->add_span(impl.plan->name(), begin, Profile::Clock::now());
  impl.rethrow();
}

std::span<const float> Execution::float_output(size_t index, size_t seat) const {
  const Operand& operand = impl_->seats.at(seat).output(index);
  return {operand.floats(), static_cast<size_t>(operand.size())};
}

std::span<const int32_t> Execution::int_output(size_t index, size_t seat) const {
  const auto floats = float_output(index, seat);
  return {reinterpret_cast<const int32_t*>(floats.data()), floats.size()};
}

std::vector<int64_t> Execution::output_shape(size_t index, size_t seat) const {
  const Operand& operand = impl_->seats.at(seat).output(index);
  return {operand.shape, operand.shape + operand.rank};
}

}  // namespace pippin::engine
