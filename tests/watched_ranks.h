// For tests: transports of ranks that are threads, which count what passes, hold rank 1 back until
// rank 0 is ahead, and put Errors in the place of values.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "pippin/pipeline/commands.h"
#include "pippin/pipeline/wire.h"
#include "tests/on_ranks.h"

namespace pippin::on_ranks {

// The values from rank 0 to rank 1, numbered from 0: one message for each run.
class Course {
 public:
  // From now on, rank 1 takes `count` messages only when rank 0 has sent the message and
  // `ahead` - 1 further ones, or after kPatience: then has_waited_in_vain().
  void hold_back(int64_t count, int64_t ahead) {
    const std::lock_guard lock(mutex_);
    held_from_ = sent_;
    held_to_ = sent_ + count;
    ahead_ = ahead;
  }
  // Replaces the n-th message from now on (0: the next) by an Error.
  void fail_later(int64_t n) {
    const std::lock_guard lock(mutex_);
    failing_.insert(sent_ + n);
  }
  bool has_waited_in_vain() const {
    const std::lock_guard lock(mutex_);
    return has_waited_;
  }
  int64_t sent() const {
    const std::lock_guard lock(mutex_);
    return sent_;
  }
  // The commands that the last rank has received.
  std::vector<pipeline::Command> commands() const {
    const std::lock_guard lock(mutex_);
    return commands_;
  }

  void note_sent() {
    const std::lock_guard lock(mutex_);
    ++sent_;
    changed_.notify_all();
  }
  void note_command(pipeline::Command command) {
    const std::lock_guard lock(mutex_);
    commands_.push_back(command);
  }
  // Whether the next message is to be replaced.
  bool wait_to_receive() {
    std::unique_lock lock(mutex_);
    const int64_t own = received_++;
    if (own >= held_from_ && own < held_to_ && !has_waited_) {
      has_waited_ = !changed_.wait_for(lock, kPatience, [&] { return sent_ >= own + ahead_; });
    }
    return failing_.contains(own);
  }

  static constexpr const char* kFault = "rank 0 has no values";

 private:
  static constexpr std::chrono::seconds kPatience{60};
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  int64_t sent_ = 0, received_ = 0, held_from_ = 0, held_to_ = 0, ahead_ = 0;
  std::set<int64_t> failing_;
  std::vector<pipeline::Command> commands_;
  bool has_waited_ = false;
};

class WatchedTransport final : public pipeline::Transport {
 public:
  WatchedTransport(const Exchange& exchange, int rank, std::shared_ptr<Course> course)
      : inner_(exchange, rank), course_(std::move(course)) {}

  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  void send(int to, pipeline::Channel channel, pipeline::Message message) override {
    inner_.send(to, channel, std::move(message));
    if (rank() == 0 && channel == pipeline::Channel::Values) course_->note_sent();
  }
  pipeline::Message receive(int from, pipeline::Channel channel) override {
    const bool is_value = from == 0 && channel == pipeline::Channel::Values;
    const bool is_replaced = is_value && course_->wait_to_receive();
    pipeline::Message message = inner_.receive(from, channel);
    if (rank() == size() - 1 && channel == pipeline::Channel::Command) {
      course_->note_command(static_cast<pipeline::Command>(message.at(0)));
    }
    if (!is_replaced) return message;
    pipeline::Writer fault;
    pipeline::put_error(fault, Error(ErrorCode::Internal, Course::kFault));
    return fault.take();
  }
  bool has_message(int from, pipeline::Channel channel) override {
    return inner_.has_message(from, channel);
  }
  [[noreturn]] void end_job(const std::string& line) override { inner_.end_job(line); }

 private:
  pipeline::LocalTransport inner_;
  const std::shared_ptr<Course> course_;
};

inline Setting watched(const std::shared_ptr<Course>& course) {
  Setting setting;
  setting.transport = [course](const Exchange& exchange, int rank) {
    return std::make_unique<WatchedTransport>(exchange, rank, course);
  };
  return setting;
}

}  // namespace pippin::on_ranks
