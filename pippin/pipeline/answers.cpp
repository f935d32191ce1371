#include "pippin/pipeline/answers.h"

#include <utility>

#include "pippin/base/bytes.h"
#include "pippin/base/error.h"
#include "pippin/pipeline/wire.h"

namespace pippin::pipeline {

Answers::Line& Answers::line(int rank) {
  const std::lock_guard lock(mutex_);
  return lines_[rank];
}

std::shared_ptr<Answer> Answers::expect(int rank) {
  auto answer = std::make_shared<Answer>(rank);
  const std::lock_guard lock(mutex_);
  lines_[rank].expected.push_back(answer);
  return answer;
}

// Returns false if none is expected. The caller holds the line's `receiving`.
bool Answers::receive_next(int rank, Line& line) {
  std::shared_ptr<Answer> next;
  {
    const std::lock_guard lock(mutex_);
    if (line.expected.empty()) return false;
    next = line.expected.front();
  }
  next->message_ = transport_.receive(rank, Channel::Reply);
  const std::lock_guard lock(mutex_);
  line.expected.pop_front();
  return true;
}

Message Answers::take(Answer& answer) {
  Line& own = line(answer.rank_);
  const std::lock_guard receiving(own.receiving);
  while (!answer.message_) receive_next(answer.rank_, own);
  const Message message = std::exchange(answer.message_, Message()).value();
  ByteReader reader(message, "a rank's reply");
  if (const auto error = read_error(reader)) throw Error(*error);
  const ByteSpan content = reader.take(reader.remaining());
  return {content.begin(), content.end()};
}

void Answers::receive_all() {
  for (auto& [rank, own] : lines_) {
    const std::lock_guard receiving(own.receiving);
    while (receive_next(rank, own)) {
    }
  }
}

}  // namespace pippin::pipeline
