// Ranks that are threads of one process, for tests.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "pippin/base/error.h"
#include "pippin/pipeline/transport.h"

namespace pippin::pipeline {

// The queues between `size` ranks, and what they carried.
class LocalExchange {
 public:
  explicit LocalExchange(int size) : size_(size) {}

  int size() const { return size_; }
  void put(int from, int to, Channel channel, Message message) {
    const std::lock_guard lock(mutex_);
    queues_[{from, to, channel}].push_back(std::move(message));
    arrived_.notify_all();
  }
  bool has(int from, int to, Channel channel) {
    const std::lock_guard lock(mutex_);
    return !queues_[{from, to, channel}].empty();
  }
  Message take(int from, int to, Channel channel) {
    std::unique_lock lock(mutex_);
    auto& queue = queues_[{from, to, channel}];
    arrived_.wait(lock, [&] { return !queue.empty(); });
    Message message = std::move(queue.front());
    queue.pop_front();
    return message;
  }

 private:
  const int size_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::map<std::tuple<int, int, Channel>, std::deque<Message>> queues_;
};

class LocalTransport final : public Transport {
 public:
  LocalTransport(std::shared_ptr<LocalExchange> exchange, int rank)
      : exchange_(std::move(exchange)), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return exchange_->size(); }
  void send(int to, Channel channel, Message message) override {
    exchange_->put(rank_, to, channel, std::move(message));
  }
  Message receive(int from, Channel channel) override {
    return exchange_->take(from, rank_, channel);
  }
  bool has_message(int from, Channel channel) override {
    return exchange_->has(from, rank_, channel);
  }
  [[noreturn]] void end_job(const std::string& line) override {
    fail(ErrorCode::Device, "{}", line);
  }

 private:
  const std::shared_ptr<LocalExchange> exchange_;
  const int rank_;
};

}  // namespace pippin::pipeline
