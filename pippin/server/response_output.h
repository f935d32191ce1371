// The output of a response: items of reasoning, messages and calls, as they come, and the events of
// a stream that tell of them.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/io/json.h"
#include "pippin/server/text_job.h"

namespace pippin::server {

class ResponseOutput {
 public:
  // Gets the type of an event and a writer with its object, which stays open.
  using Emit = std::function<void(std::string_view type, JsonWriter& event)>;

  // `name` is that of the response without its prefix: items are named after it. An empty `emit`
  // is of an answer that is sent as a whole.
  ResponseOutput(std::string name, bool seals_thoughts, Emit emit)
      : name_(std::move(name)), seals_thoughts_(seals_thoughts), emit_(std::move(emit)) {}

  void add(const Piece& piece);
  // The end of an answer: there is an item then. `is_cut`: the last one is incomplete.
  void close(bool is_cut);
  // The end of an answer that failed.
  void abandon();

  // [...]
  void write(JsonWriter& json) const;

 private:
  enum class Kind : uint8_t { Reasoning, Message, Call };
  enum class Status : uint8_t { InProgress, Completed, Incomplete };
  struct Item {
    Kind kind;
    std::string id;
    std::string text;           // of calls: the arguments
    std::string call_id, tool;  // of calls
    std::string logprobs = {};  // of messages; JSON without brackets
    Status status = Status::InProgress;
  };

  void open(Kind kind, const answer::AnswerPart& part = {});
  void extend(Kind kind, const std::string& text, const std::string& logprobs);
  void break_call(const answer::AnswerPart& part);
  void end_item(Status status);
  void write_item(JsonWriter& json, const Item& item) const;
  void write_part(JsonWriter& json, const Item& item, bool is_empty) const;
  template <typename Write>
  void emit(std::string_view type, Write&& write);
  bool is_open() const { return !items_.empty() && items_.back().status == Status::InProgress; }

  const std::string name_;
  const bool seals_thoughts_;
  const Emit emit_;
  std::vector<Item> items_;
  std::string waiting_logprobs_;  // JSON without brackets
};

}  // namespace pippin::server
