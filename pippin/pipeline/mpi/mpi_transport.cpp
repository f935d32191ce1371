#include "pippin/pipeline/mpi/mpi_transport.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include "pippin/base/error.h"

namespace pippin::pipeline {
namespace {

using Clock = Signs::Clock;

constexpr int kSignsOfLife = static_cast<int>(Channel::Parts) + 1;
constexpr auto kInterval = std::chrono::milliseconds(500);
constexpr auto kLook = std::chrono::milliseconds(50);  // at processes on this machine
// A look takes about a microsecond. Peers differ by a fraction of a step's time.
constexpr int kQuickLooks = 200, kLooksOfAnExchange = 5000;
constexpr useconds_t kWhileSending = 100, kAfterRank1 = 1500000;

// Joins the job, before anything else of the transport exists.
Signs start(const PippinMpi& mpi, int& rank, int& size) {
  std::array<char, 256> error{};
  if (mpi.start(&rank, &size, error.data(), error.size()) != 0) {
    fail(ErrorCode::Unsupported, "{}", error.data());
  }
  std::array<char, 256> name{};
  mpi.machine(name.data(), name.size());
  return {Sign::of_this_process(name.data()), size, Clock::now()};
}

}  // namespace

MpiTransport::MpiTransport(const PippinMpi& mpi, size_t most_part)
    : mpi_(mpi), most_part_(most_part), signs_(start(mpi, rank_, size_)) {
  watcher_ = Thread([this] { watch(); });
}

MpiTransport::~MpiTransport() {
  {
    const std::lock_guard lock(sleep_);
    ends_ = true;
  }
  wakes_.notify_all();
  watcher_ = Thread();
  {
    // mpirun ends the other ranks of a lost one with SIGTERM, perhaps before the watcher saw it.
    const std::lock_guard lock(mutex_);
    look(Clock::now(), false);
    end_if_lost(Clock::now());
  }
  // The last messages must leave, and signs of other ranks must be taken.
  const auto end = Clock::now() + kPatience;
  while (Clock::now() < end) {
    {
      const std::lock_guard lock(mutex_);
      look(Clock::now(), false);
      if (mpi_.is_idle() != 0) break;
    }
    ::usleep(200);
  }
  ::alarm(static_cast<unsigned>(std::chrono::seconds(kPatience).count()));  // if a rank is lost
  mpi_.finish();
  ::alarm(0);
}

void MpiTransport::send(int to, Channel channel, Message message) {
  if (!begin_sending(to, channel, message)) keep_sending();
}

bool MpiTransport::begin_sending(int to, Channel channel, const Message& message) {
  const std::lock_guard lock(mutex_);
  for (size_t begin = 0; begin <= message.size(); begin += most_part_) {
    const size_t size = std::min(most_part_, message.size() - begin);
    const int error = mpi_.send(to, static_cast<int>(channel), message.data() + begin, size);
    if (error != 0) {
      fail(ErrorCode::Device, "rank {} cannot send {} of {} bytes to rank {} (MPI error {})", rank_,
           size, message.size(), to, error);
    }
  }
  return mpi_.is_idle() != 0;
}

void MpiTransport::keep_sending() {
  {
    const std::lock_guard lock(sleep_);
    is_sending_ = true;
  }
  wakes_.notify_all();
}

Message MpiTransport::receive(int from, Channel channel) {
  return receive(from, channel, kQuickLooks);
}

Message MpiTransport::receive(int from, Channel channel, int quick_looks) {
  Message message;
  while (!receive_part(from, channel, quick_looks, message)) {
  }
  return message;
}

std::vector<Message> MpiTransport::exchange(std::span<const int> others, const Message& own) {
  for (const int other : others) begin_sending(other, Channel::Parts, own);
  std::vector<Message> theirs;
  theirs.reserve(others.size());
  for (const int other : others) {
    theirs.push_back(receive(other, Channel::Parts, kLooksOfAnExchange));
  }
  // The others wait for the rest of a large message.
  for (int look = 0; look < kQuickLooks; ++look) {
    {
      const std::lock_guard lock(mutex_);
      if (mpi_.is_idle() != 0) return theirs;
    }
    ::sched_yield();
  }
  keep_sending();
  return theirs;
}

bool MpiTransport::receive_part(int from, Channel channel, int quick_looks, Message& message) {
  constexpr useconds_t kLongest = 250;
  useconds_t pause = 10;
  const size_t begin = message.size();
  void* taken = nullptr;
  int state = 0;
  for (int attempt = 0;; ++attempt) {
    {
      // A large message takes its time, in which signs of life must pass.
      const std::lock_guard lock(mutex_);
      int source = from;
      if (taken == nullptr) {
        const long long size = mpi_.waiting(&source, static_cast<int>(channel));
        if (size >= 0) {
          message.resize(begin + static_cast<size_t>(size));
          taken = mpi_.receive(source, static_cast<int>(channel), message.data() + begin,
                               static_cast<size_t>(size));
          state = taken == nullptr ? -1 : 0;
        }
      }
      if (taken != nullptr) state = mpi_.received(taken);
      if (state > 0) return message.size() - begin < most_part_;
      if (state < 0) {
        fail(ErrorCode::Device, "rank {} cannot receive from rank {}", rank_, from);
      }
    }
    if (attempt < quick_looks) {
      ::sched_yield();
    } else {
      ::usleep(pause);
      pause = std::min(pause * 2, kLongest);
    }
  }
}

// Rank 0 hears all others, and these hear rank 0.
template <typename Body>
void MpiTransport::each_neighbour(const Body& body) const {
  for (int other = 0; other < size_; ++other) {
    if (other != rank_ && (rank_ == 0 || other == 0)) body(other);
  }
}

void MpiTransport::watch() {
  std::unique_lock sleep(sleep_);
  auto looked = Clock::now(), told = looked - kInterval;
  for (;;) {
    if (is_sending_) {  // MPI sends the parts of a large message only while it is called
      sleep.unlock();
      ::usleep(kWhileSending);
      sleep.lock();
    } else {
      wakes_.wait_for(sleep, kLook, [&] { return ends_ || is_sending_; });
    }
    if (ends_) return;
    const std::lock_guard lock(mutex_);
    if (is_sending_) is_sending_ = mpi_.is_idle() == 0;
    const auto now = Clock::now();
    if (now - looked < kLook) continue;
    const bool was_stopped = now - looked > kPatience / 2;
    looked = now;
    const bool tells = now - told >= kInterval;
    if (tells) told = now;
    if (was_stopped) signs_.forgive(now);
    look(now, tells);
    end_if_lost(now);
  }
}

void MpiTransport::end_if_lost(Clock::time_point now) {
  each_neighbour([&](int other) {
    const std::string reason = signs_.why_lost(other, now);
    if (reason.empty()) return;
    if (rank_ > 1) ::usleep(kAfterRank1);  // one rank tells that rank 0 is lost
    end_job(fmt::format("rank {} of {} is lost{}: {}; the job ends", other, size_,
                        signs_.place(other), reason));
  });
}

void MpiTransport::look(Clock::time_point now, bool tells) {
  const std::string own = signs_.own().text();
  each_neighbour([&](int other) {
    if (tells) mpi_.send(other, kSignsOfLife, own.data(), own.size());
    int source = other;
    for (long long size = mpi_.waiting(&source, kSignsOfLife); size >= 0;
         size = mpi_.waiting(&source, kSignsOfLife)) {
      std::string text(static_cast<size_t>(size), ' ');
      void* const taken = mpi_.receive(other, kSignsOfLife, text.data(), text.size());
      if (taken == nullptr) return;
      while (mpi_.received(taken) == 0) {  // a sign is a few bytes, which are there
      }
      signs_.hear(other, text, now);
    }
  });
}

bool MpiTransport::has_message(int from, Channel channel) {
  const std::lock_guard lock(mutex_);
  return mpi_.waiting(&from, static_cast<int>(channel)) >= 0;
}

// May be called with MPI's lock: what other threads do with it does not matter any more.
void MpiTransport::end_job(const std::string& line) {
  std::fputs(fmt::format("pippin: {}\n", line).c_str(), stderr);
  ::alarm(1);  // if MPI cannot end it
  mpi_.abort(1);
  std::_Exit(1);
}

}  // namespace pippin::pipeline
