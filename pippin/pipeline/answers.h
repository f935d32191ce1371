// The answers of other ranks to questions of rank 0, which may be taken later than they arrive.
//
// A rank answers in the order of the questions. Taking one answer therefore receives those before
// it, which are kept until they are taken.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "pippin/pipeline/transport.h"

namespace pippin::pipeline {

// An answer that was or will be received.
class Answer {
 public:
  explicit Answer(int rank) : rank_(rank) {}

 private:
  friend class Answers;
  const int rank_;
  std::optional<Message> message_;
};

// May be used by several threads at a time.
class Answers {
 public:
  explicit Answers(Transport& transport) : transport_(transport) {}

  // Call right after sending the question, before another one is sent to that rank.
  std::shared_ptr<Answer> expect(int rank);
  // Waits for the answer and returns it; once. Throws its Error, and those of
  // Transport::receive().
  Message take(Answer& answer);
  // Receives all answers that were not taken.
  void receive_all();

 private:
  // Of one rank.
  struct Line {
    std::mutex receiving;
    std::deque<std::shared_ptr<Answer>> expected;  // guarded by mutex_
  };
  Line& line(int rank);
  bool receive_next(int rank, Line& line);

  Transport& transport_;
  std::mutex mutex_;
  std::map<int, Line> lines_;
};

}  // namespace pippin::pipeline
