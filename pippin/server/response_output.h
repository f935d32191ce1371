// Output of a response: items of reasoning, messages and calls, in the order of generation, and the
// stream's events about them.
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
  // Gets the type of an event and a writer with its object, which is still open.
  using Emit = std::function<void(std::string_view type, JsonWriter& event)>;

  // `name` is the response's id without its prefix: items are named after it. `emit` is empty for
  // an answer that is sent whole.
  ResponseOutput(std::string name, bool seals_thoughts, Emit emit)
      : name_(std::move(name)), seals_thoughts_(seals_thoughts), emit_(std::move(emit)) {}

  void add(const Piece& piece);
  // Ends an answer, which then has at least one item. `is_cut`: the last item is incomplete.
  void close(bool is_cut);
  // Ends an answer that failed.
  void abandon();

  // Writes the list of items.
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

  void open(Kind kind, const model_output::AnswerPart& part = {});
  void extend(Kind kind, const std::string& text, const std::string& logprobs);
  void break_call(const model_output::AnswerPart& part);
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
