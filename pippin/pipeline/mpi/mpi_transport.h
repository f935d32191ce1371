// The ranks of an MPI job, by the plugin (plugin.h).
//
// A thread of each rank tells the others twice a second that it is there. If one has not been heard
// of for kPatience, because its machine, its network or the process is gone, the job ends with a
// line that names it.
//
// MPI counts bytes of a message in an int. A message of kMostPart bytes or more is sent as parts of
// that size and a smaller one, perhaps empty, which is the last.
#pragma once

#include <condition_variable>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "pippin/base/threads/thread.h"
#include "pippin/pipeline/mpi/plugin.h"
#include "pippin/pipeline/mpi/signs.h"
#include "pippin/pipeline/transport.h"

namespace pippin::pipeline {

class MpiTransport final : public Transport {
 public:
  static constexpr size_t kMostPart = size_t{1} << 30;

  // Throws Unsupported if MPI cannot be used by several threads in turn. All ranks have the same
  // `most_part`.
  explicit MpiTransport(const PippinMpi& mpi, size_t most_part = kMostPart);
  ~MpiTransport() override;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void send(int to, Channel channel, Message message) override;
  Message receive(int from, Channel channel) override;
  std::vector<Message> exchange(std::span<const int> others, const Message& own) override;
  bool has_message(int from, Channel channel) override;
  [[noreturn]] void end_job(const std::string& line) override;

 private:
  // Returns whether all has left.
  bool begin_sending(int to, Channel channel, const Message& message);
  // In the background, since MPI sends the parts of a large message only while it is called.
  void keep_sending();
  // Looks that often before it sleeps between.
  Message receive(int from, Channel channel, int quick_looks);
  // Appends the next part to the message. Returns whether it is the last one.
  bool receive_part(int from, Channel channel, int quick_looks, Message& message);
  template <typename Body>
  void each_neighbour(const Body& body) const;
  void watch();
  void look(Signs::Clock::time_point now, bool tells);
  void end_if_lost(Signs::Clock::time_point now);

  const PippinMpi& mpi_;
  const size_t most_part_;
  int rank_ = 0, size_ = 1;
  std::mutex mutex_;  // of MPI
  Signs signs_;
  std::mutex sleep_;
  std::condition_variable wakes_;
  bool ends_ = false, is_sending_ = false;
  Thread watcher_;
};

}  // namespace pippin::pipeline
