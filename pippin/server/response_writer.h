// Writer of answers of OpenAI's Responses API: a response object, and the events of its stream.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "pippin/server/running_responses.h"
#include "pippin/server/text_job.h"

namespace pippin::server {

struct ResponseWriterOptions {
  std::string name;   // without its prefix ("resp_")
  std::string model;  // the name in the answer
  int64_t created = 0;
  std::string echo;  // echoed_request()
  bool streams = false, in_background = false, seals_thoughts = false;
  std::chrono::milliseconds silence{5000};
};

// Called with the response object before the client gets it.
struct ResponseKeeper {
  std::function<void(const std::string& response)> on_begin;
  // `is_answer`: the client can continue from it.
  std::function<void(const std::string& response, bool is_answer)> on_end;
};

std::unique_ptr<AnswerWriter> make_response_writer(std::shared_ptr<RunningResponse> reply,
                                                   ResponseWriterOptions options,
                                                   ResponseKeeper keeper);

}  // namespace pippin::server
