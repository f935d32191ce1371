// Messages in parts, over a stand-in for MPI in which a rank sends to itself.
#include "pippin/pipeline/mpi/mpi_transport.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/testing.h"

namespace pippin::pipeline {
namespace {

// The messages on their way, by channel.
std::map<int, std::deque<std::vector<char>>>& in_flight() {
  static std::map<int, std::deque<std::vector<char>>> all;
  return all;
}
size_t failing_size = 0;  // 0: none

int start_alone(int* rank, int* size, char* /*error*/, size_t /*error_size*/) {
  *rank = 0;
  *size = 1;
  return 0;
}
int send_to_self(int /*to*/, int channel, const void* bytes, size_t size) {
  if (failing_size != 0 && size == failing_size) return 7;
  const auto* const begin = static_cast<const char*>(bytes);
  in_flight()[channel].emplace_back(begin, begin + size);
  return 0;
}
long long size_of_next(int* /*from*/, int channel) {
  const auto& queue = in_flight()[channel];
  return queue.empty() ? -1 : static_cast<long long>(queue.front().size());
}
void* take_next(int /*from*/, int channel, void* bytes, size_t size) {
  auto& queue = in_flight()[channel];
  if (queue.front().size() != size) return nullptr;
  if (size > 0) std::memcpy(bytes, queue.front().data(), size);
  queue.pop_front();
  return &queue;
}
int is_there(void* /*taken*/) {
  return 1;
}
int nothing_left() {
  return 1;
}
void finish_alone() {}
void abort_alone(int /*status*/) {}
void name_machine(char* name, size_t size) {
  std::snprintf(name, size, "here");
}

const PippinMpi& self() {
  static const PippinMpi functions = {PIPPIN_MPI_VERSION, start_alone, send_to_self, size_of_next,
                                      take_next,          is_there,    nothing_left, finish_alone,
                                      abort_alone,        name_machine};
  return functions;
}

TEST(MpiTransport, SendsLargeMessagesInParts) {
  constexpr size_t kPart = 16;
  MpiTransport transport(self(), kPart);
  const std::vector<size_t> sizes = {0, 1, kPart - 1, kPart, kPart + 1, 5 * kPart, 5 * kPart + 3};
  std::vector<Message> messages;
  uint8_t next = 0;
  for (const size_t size : sizes) {
    Message message(size);
    for (std::byte& byte : message) byte = static_cast<std::byte>(next++);
    transport.send(0, Channel::Values, message);
    messages.push_back(std::move(message));
  }
  std::vector<size_t> parts;
  for (const auto& part : in_flight()[static_cast<int>(Channel::Values)]) {
    parts.push_back(part.size());
  }
  EXPECT_EQ(parts, (std::vector<size_t>{0, 1, 15, 16, 0, 16, 1, 16, 16, 16, 16, 16, 0, 16, 16, 16,
                                        16, 16, 3}));
  for (const Message& message : messages) {
    EXPECT_TRUE(transport.has_message(0, Channel::Values));
    EXPECT_EQ(transport.receive(0, Channel::Values), message);
  }
  EXPECT_FALSE(transport.has_message(0, Channel::Values));
  EXPECT_FALSE(transport.has_message(0, Channel::Command));
}

TEST(MpiTransport, ExchangesMessagesOfAnySize) {
  MpiTransport transport(self(), 16);
  for (const size_t size : {0, 5, 16, 50}) {
    const Message own(size, std::byte{7});
    const std::vector<int> others = {0};
    EXPECT_EQ(transport.exchange(others, own), std::vector<Message>{own});
  }
}

TEST(MpiTransport, SaysWhichPartCannotBeSent) {
  MpiTransport transport(self(), 16);
  failing_size = 3;
  EXPECT_ERROR(transport.send(0, Channel::Reply, Message(35)), ErrorCode::Device,
               "rank 0 cannot send 3 of 35 bytes to rank 0 (MPI error 7)");
  failing_size = 0;
  in_flight().clear();
}

}  // namespace
}  // namespace pippin::pipeline
