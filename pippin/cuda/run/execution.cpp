#include "pippin/cuda/run/execution.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/base/numbers/checked.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/cuda/run/queue_launch.h"

namespace pippin::cuda {
namespace {

constexpr size_t kMostPrograms = 32;  // of an execution
constexpr size_t kChoiceBytes = std::max(kLargestBytes, kRankBytes);

// All elements that are greater than the least, of which more may exist; or all of `count`. Empty
// if these are too few, or the largest is not finite.
std::vector<engine::RankedElement> complete_ones(std::span<const RankedNumber> ranked,
                                                 size_t count) {
  std::vector<engine::RankedElement> ones;
  float least = std::numeric_limits<float>::infinity(), largest = -least;
  for (const RankedNumber& one : ranked) {
    if (std::isnan(one.value)) return ones;
    least = std::min(least, one.value);
    largest = std::max(largest, one.value);
  }
  if (!std::isfinite(largest)) return ones;
  ones.reserve(ranked.size());
  for (const RankedNumber& one : ranked) {
    if (one.value > least || ranked.size() == count) ones.push_back({one.value, one.index});
  }
  if (ones.size() < std::min(count, engine::kLeastRanked)) ones.clear();
  return ones;
}

// The distance between two lanes' arenas. Rows of several lanes are read by one kernel: at large
// powers of two they would share a few banks.
uint64_t stride_of(const CudaPlan& plan) {
  return align_up<uint64_t>(plan.lane_bytes(), 4096) + 5 * 256;
}

}  // namespace

CudaExecution::CudaExecution(const CudaPlan& plan)
    : plan_(plan),
      timeline_([&] {
        plan.resources().gpu->enter();
        return std::make_shared<Timeline>(plan.resources().gpu);
      }()),
      lane_stride_(stride_of(plan)),
      sent_(plan.resources().gpu) {
  CudaExecution::reserve_lanes(1);
}

CudaExecution::~CudaExecution() {
  timeline_->drain();
}

std::byte* CudaExecution::scratch(size_t lane) const {
  return memory_.data() + count_ * lane_stride_ + lane * scratch_stride_;
}
uint32_t* CudaExecution::failed(size_t lane) const {
  return reinterpret_cast<uint32_t*>(words_.data()) + lane * num_words();
}

void CudaExecution::reserve_lanes(size_t wanted) {
  if (wanted <= seats_.size()) return;
  gpu().enter();
  const auto held = timeline_->lock();
  const size_t count = std::bit_ceil(wanted);
  const uint64_t scratch_bytes = plan_.scratch_bytes(count);
  const auto bytes = checked_mul<uint64_t>(lane_stride_ + scratch_bytes + kChoiceBytes, count);
  if (!bytes) fail(ErrorCode::LimitExceeded, "{} sequences do not fit into memory", count);
  DeviceMemory memory(plan_.resources().gpu, *bytes, "working memory");
  PinnedMemory words(plan_.resources().gpu, count * num_words() * sizeof(uint32_t),
                     "results of kernels");
  timeline_->synchronize();
  check_failed();
  const uint64_t old = seats_.size() * lane_stride_;
  try {
    if (old > 0) timeline_->inside(memory.address(), memory_.address(), old);
    timeline_->fill(memory.address() + old, 0, *bytes - old);
    timeline_->synchronize();
  } catch (...) {
    timeline_->drain();
    throw;
  }
  programs_.clear();
  memory_ = std::move(memory);
  words_ = std::move(words);
  count_ = count;
  scratch_stride_ = scratch_bytes;
  for (size_t i = 0; i < seats_.size(); ++i) seats_[i]->move_to(arena(i), scratch(i), failed(i));
  seats_.reserve(count);
  while (seats_.size() < count) {
    const size_t i = seats_.size();
    seats_.push_back(std::make_unique<Seat>(plan_, arena(i), scratch(i), failed(i)));
  }
}

void CudaExecution::bind(const std::vector<std::vector<int64_t>>& shapes, engine::State& state,
                         size_t lane) {
  seat(lane).bind(shapes, state);
}

MutableByteSpan CudaExecution::input_bytes(size_t index, size_t lane) {
  gpu().enter();
  sent_.wait();
  return seat(lane).input_bytes(index);
}

bool CudaExecution::put_causal_mask(size_t index, int64_t past, size_t lane) {
  return seat(lane).put_causal_mask(index, past);
}

void CudaExecution::run(size_t lane, std::optional<engine::WantedRows> rows) {
  seat(lane).rows = rows;
  run_lanes({&lane, 1}, /*may_stop=*/false);
}
void CudaExecution::run_cancellable(size_t lane) {
  seat(lane).rows.reset();
  run_lanes({&lane, 1}, /*may_stop=*/true);
}
void CudaExecution::run_together(std::span<const size_t> lanes) {
  for (const size_t lane : lanes) seat(lane).rows.reset();
  if (plan_.resources().run.joins) return run_lanes(lanes, /*may_stop=*/false);
  for (const size_t& lane : lanes) run_lanes({&lane, 1}, /*may_stop=*/false);
}

void CudaExecution::run_lanes(std::span<const size_t> lanes, bool may_stop) {
  gpu().enter();
  for (const size_t lane : lanes) seat(lane).take_values();
  for (const size_t lane : lanes) {  // before the lock: it takes those of other timelines
    if (CudaState* const state = seat(lane).state; state != nullptr) state->move_to(timeline_);
  }
  const auto held = timeline_->lock();
  sent_.wait();
  if (may_stop && cancel_requested()) fail(ErrorCode::Cancelled, "cancelled");
  Program& program = program_of(lanes);
  program.prepare(*timeline_);
  copies_.clear();
  for (const size_t lane : lanes) {
    seat(lane).forget_outputs();
    seat(lane).add_copies(copies_);
  }
  last_lanes_.assign(lanes.begin(), lanes.end());
  program.run(*timeline_, copies_, sent_, may_stop);
}

Program& CudaExecution::program_of(std::span<const size_t> lanes) {
  auto& program = programs_[{lanes.begin(), lanes.end()}];
  if (program == nullptr) {
    std::vector<Seat*> seats;
    seats.reserve(lanes.size());
    for (const size_t lane : lanes) seats.push_back(&seat(lane));
    const JointMemory joint{scratch(0), seats[0]->failed};
    program = std::make_unique<Program>(plan_, std::move(seats), joint, varies_);
  }
  program->last_use = ++runs_;
  if (programs_.size() > kMostPrograms) {
    const auto oldest = std::min_element(
        programs_.begin(), programs_.end(),
        [](const auto& a, const auto& b) { return a.second->last_use < b.second->last_use; });
    timeline_->synchronize();
    programs_.erase(oldest);
  }
  return *program;
}

void CudaExecution::synchronize() const {
  timeline_->synchronize();
  check_failed();
}

void CudaExecution::check_failed() const {
  for (size_t lane = 0; lane < seats_.size(); ++lane) {
    uint32_t* const words = failed(lane);
    uint32_t* const refused =
        std::find_if(words, words + num_nodes(), [](uint32_t word) { return word != 0; });
    if (refused == words + num_nodes()) continue;
    const auto node = static_cast<size_t>(refused - words);
    std::memset(words_.data(), 0, words_.size());
    fail(ErrorCode::InvalidArgument, "{}: {} has no result for its data", plan_.name(),
         node_name(plan_.nodes().nodes[node]));
  }
}

ByteSpan CudaExecution::output_bytes(size_t index, size_t lane) const {
  return output_part(index, 0, byte_size(seat(lane).lane.output(index)), lane);
}

ByteSpan CudaExecution::output_part(size_t index, size_t begin, size_t size, size_t lane) const {
  Seat& one = seat(lane);
  const engine::Operand& operand = one.lane.output(index);
  Seat::Output& output = one.outputs.at(index);
  if (output.fetched.begin <= begin && begin + size <= output.fetched.end) {
    return {output.bytes.data() + begin, size};
  }
  const uint64_t all = byte_size(operand);
  if (begin > all || size > all - begin) {
    fail(ErrorCode::InvalidArgument, "bytes [{}, {}) of output {}, which has {}", begin,
         begin + size, index, all);
  }
  gpu().enter();
  const auto held = timeline_->lock();
  if (output.bytes.size() < all) output.bytes = engine::Memory(all, "an output");
  const Timeline::Piece piece{output.bytes.data() + begin, address_of(operand.data) + begin, size};
  timeline_->download({&piece, 1});
  check_failed();
  output.fetched = {begin, begin + size};
  return {output.bytes.data() + begin, size};
}

std::span<const int64_t> CudaExecution::output_shape(size_t index, size_t lane) const {
  const engine::Operand& operand = seat(lane).lane.output(index);
  return {operand.shape, static_cast<size_t>(operand.rank)};
}

std::optional<int32_t> CudaExecution::largest(size_t index, size_t begin, size_t count,
                                              size_t lane) const {
  const Seat::Choice* const made = choice(index, begin, count, /*is_ranked=*/false, lane);
  return made != nullptr ? made->largest : std::nullopt;
}

std::vector<engine::RankedElement> CudaExecution::largest_ones(size_t index, size_t begin,
                                                               size_t count, size_t lane) const {
  const Seat::Choice* const made = choice(index, begin, count, /*is_ranked=*/true, lane);
  return made != nullptr ? made->ranked : std::vector<engine::RankedElement>();
}

const Seat::Choice* CudaExecution::choice(size_t index, size_t begin, size_t count, bool is_ranked,
                                          size_t lane) const {
  const auto& known = seat(lane).choices[is_ranked ? 1 : 0];
  const Seat::Choice wanted{index, begin, count, is_ranked, {}, {}};
  if (known && known->answers(wanted)) return &*known;
  if (count == 0 || count > std::numeric_limits<int32_t>::max()) return nullptr;
  gpu().enter();
  const auto held = timeline_->lock();
  const bool is_of_last =
      std::find(last_lanes_.begin(), last_lanes_.end(), lane) != last_lanes_.end();
  choose(wanted, is_of_last ? last_lanes_ : std::vector<size_t>{lane});
  return known && known->answers(wanted) ? &*known : nullptr;
}

void CudaExecution::choose(const Seat::Choice& wanted, std::span<const size_t> lanes) const {
  std::vector<size_t> asked;
  const auto count = static_cast<int64_t>(wanted.count);
  for (const size_t lane : lanes) {
    const engine::Operand& output = seat(lane).lane.output(wanted.index);
    const auto size = static_cast<uint64_t>(output.size());
    if (output.storage != engine::Storage::F32 || wanted.begin > size ||
        wanted.count > size - wanted.begin) {
      continue;
    }
    made_.clear();
    std::byte* const memory =
        memory_.data() + count_ * (lane_stride_ + scratch_stride_) + lane * kChoiceBytes;
    uint32_t* const result = failed(lane) + num_nodes();
    const float* const numbers = output.floats() + wanted.begin;
    if (wanted.is_ranked) {
      add_rank(numbers, count, memory, reinterpret_cast<RankedNumber*>(result), made_);
    } else {
      add_largest(numbers, count, memory, reinterpret_cast<int32_t*>(result), made_);
    }
    for (const Launch& launch : made_) {
      const Start start = &launch == made_.data() ? Start::InOrder : Start::Early;
      queue_launch(*timeline_, plan_.resources().kernels, launch, start);
    }
    asked.push_back(lane);
  }
  synchronize();
  for (const size_t lane : asked) {
    auto& made = seat(lane).choices[wanted.is_ranked ? 1 : 0].emplace(wanted);
    const uint32_t* const result = failed(lane) + num_nodes();
    if (wanted.is_ranked) {
      const auto* const ranked = reinterpret_cast<const RankedNumber*>(result);
      made.ranked =
          complete_ones({ranked, std::min<size_t>(wanted.count, kMostRanked)}, wanted.count);
    } else if (const auto largest = static_cast<int32_t>(*result); largest >= 0) {
      made.largest = largest;
    }
  }
}

}  // namespace pippin::cuda
