// Messages between the ranks of a pipeline: processes on one machine or several that run the layers
// of one model together. mpi/ has the one over Open MPI, local_transport.h one for tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace pippin::pipeline {

using Message = std::vector<std::byte>;

// Messages of one sender and channel arrive in the order in which they were sent.
enum class Channel : uint8_t {
  Command,  // from rank 0
  Reply,    // to rank 0
  Values,   // from a rank to the one with the next nodes
  Parts,    // of results, between the ranks of a group
};

// May be used by several threads at a time.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // Returns at once; the message is sent later.
  virtual void send(int to, Channel channel, Message message) = 0;
  // Waits for the next message. Throws Error(Device) if the rank is lost.
  virtual Message receive(int from, Channel channel) = 0;
  // Sends `own` to each of the other ranks, and returns what they send, in their order. They call
  // it at the same time, so that waiting may take all of a core for a moment.
  virtual std::vector<Message> exchange(std::span<const int> others, const Message& own) {
    for (const int other : others) send(other, Channel::Parts, own);
    std::vector<Message> theirs;
    theirs.reserve(others.size());
    for (const int other : others) theirs.push_back(receive(other, Channel::Parts));
    return theirs;
  }
  // Whether receive() would return at once.
  virtual bool has_message(int from, Channel channel) = 0;
  // Ends all ranks with this line.
  [[noreturn]] virtual void end_job(const std::string& line) = 0;
};

}  // namespace pippin::pipeline
