#include "pippin/cuda/emulate/emulate.h"

#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include <boost/context/detail/fcontext.hpp>

#include "pippin/base/error.h"

namespace pippin::cuda::emulate {
namespace {

// The functions below boost::context::fiber, whose templates libc++ rejects in C++20.
namespace context = boost::context::detail;

constexpr size_t kStackBytes = size_t{64} << 10;

// Where threads wait until all have come.
struct Meeting {
  unsigned come = 0;
  uint64_t round = 0;
};
struct Warp {
  Meeting meeting;
  // Exchanges alternate between two sets of slots, so that one meeting is enough: a set is written
  // again only after the next exchange, when all lanes have read it.
  alignas(16) unsigned char slots[2][32][32];
};
struct Copy {
  void* to;
  const void* from;
  size_t bytes, group;
};
struct Thread {
  context::fcontext_t context = nullptr;  // where it goes on
  Place place;
  Warp* warp = nullptr;
  uint64_t exchanges = 0;
  std::vector<Copy> copies;  // of copy_later()
  size_t copy_groups = 0, copied = 0;
  bool is_done = false;
};

struct Machine {
  std::vector<std::unique_ptr<std::byte[]>> stacks;  // by thread of a block
  const std::function<void()>* body = nullptr;
  Order order;
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  std::vector<unsigned char> shared;
  Meeting meeting;
  Thread* running = nullptr;
  context::fcontext_t scheduler = nullptr;  // the caller of run_block()
};
Machine& machine() {
  static thread_local Machine machine;
  return machine;
}

void hand_over() {
  Machine& all = machine();
  all.scheduler = context::jump_fcontext(all.scheduler, nullptr).fctx;
}

// The first function of each thread; never returns.
void enter(context::transfer_t caller) {
  machine().scheduler = caller.fctx;
  (*machine().body)();
  machine().running->is_done = true;
  hand_over();
}

void wait(Meeting& meeting, unsigned threads) {
  const uint64_t round = meeting.round;
  if (++meeting.come == threads) {
    meeting.come = 0;
    ++meeting.round;
    return;
  }
  while (meeting.round == round) hand_over();
}

void run_block(const Grid& grid, Index block, const std::function<void()>& body,
               std::mt19937& random) {
  Machine& all = machine();
  all.shared.assign(grid.shared_bytes + 127, 0xEE);
  all.meeting = {};
  all.warps.assign((grid.threads + 31) / 32, {});
  all.body = &body;
  all.threads.clear();
  all.threads.resize(grid.threads);
  for (unsigned i = 0; i < grid.threads; ++i) {
    Thread& thread = all.threads[i];
    thread.place = {{i, 0, 0}, block, {grid.threads, 1, 1}, grid.blocks};
    thread.warp = &all.warps[i / 32];
    if (all.stacks.size() <= i) all.stacks.push_back(std::make_unique<std::byte[]>(kStackBytes));
    thread.context = context::make_fcontext(all.stacks[i].get() + kStackBytes, kStackBytes, enter);
  }
  std::vector<unsigned> turns(grid.threads);
  std::iota(turns.begin(), turns.end(), 0U);
  if (all.order.kind == Order::Kind::Backward) std::reverse(turns.begin(), turns.end());
  for (size_t left = grid.threads; left > 0;) {
    if (all.order.kind == Order::Kind::Shuffled) std::shuffle(turns.begin(), turns.end(), random);
    const uint64_t before = all.meeting.round;
    uint64_t rounds = 0;
    for (const Warp& warp : all.warps) rounds += warp.meeting.round;
    const size_t left_before = left;
    for (const unsigned i : turns) {
      Thread& thread = all.threads[i];
      if (thread.is_done) continue;
      all.running = &thread;
      thread.context = context::jump_fcontext(thread.context, nullptr).fctx;
      if (thread.is_done) --left;
    }
    uint64_t rounds_now = 0;
    for (const Warp& warp : all.warps) rounds_now += warp.meeting.round;
    if (left == left_before && all.meeting.round == before && rounds_now == rounds) {
      fail(ErrorCode::Internal, "block {}: {} of {} threads wait for others that ended", block.x,
           left, grid.threads);
    }
  }
}

}  // namespace

const Place& place() {
  return machine().running->place;
}
unsigned char* shared_memory() {
  auto& bytes = machine().shared;
  return bytes.data() + (128 - reinterpret_cast<uintptr_t>(bytes.data()) % 128) % 128;
}
void barrier() {
  Machine& all = machine();
  wait(all.meeting, all.running->place.block_size.x);
}
void warp_barrier() {
  wait(machine().running->warp->meeting, 32);
}
Shown show(const void* bytes, size_t size) {
  Thread& thread = *machine().running;
  auto& slots = thread.warp->slots[thread.exchanges++ % 2];
  std::memcpy(slots[thread.place.thread.x % 32], bytes, size);
  wait(thread.warp->meeting, 32);
  return slots;
}

void set_order(Order order) {
  machine().order = order;
}

void run(const Grid& grid, const std::function<void()>& body) {
  if (grid.threads == 0 || grid.threads % 32 != 0 || grid.threads > 1024) {
    fail(ErrorCode::Internal, "a block of {} threads", grid.threads);
  }
  std::mt19937 random(machine().order.seed);
  for (unsigned z = 0; z < grid.blocks.z; ++z) {
    for (unsigned y = 0; y < grid.blocks.y; ++y) {
      for (unsigned x = 0; x < grid.blocks.x; ++x) run_block(grid, {x, y, z}, body, random);
    }
  }
}

}  // namespace pippin::cuda::emulate

namespace pippin::cuda {

void copy_later(void* shared, const void* global, size_t bytes) {
  emulate::Thread& thread = *emulate::machine().running;
  thread.copies.push_back({shared, global, bytes, thread.copy_groups});
}
void end_copy_group() {
  ++emulate::machine().running->copy_groups;
}
void wait_for_copies(size_t left) {
  emulate::Thread& thread = *emulate::machine().running;
  for (; thread.copied < thread.copies.size(); ++thread.copied) {
    const emulate::Copy& copy = thread.copies[thread.copied];
    if (copy.group + left >= thread.copy_groups) return;
    std::memcpy(copy.to, copy.from, copy.bytes);
  }
}

}  // namespace pippin::cuda
