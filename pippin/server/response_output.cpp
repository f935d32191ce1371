#include "pippin/server/response_output.h"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "pippin/server/answer_json.h"
#include "pippin/server/response_items.h"

namespace pippin::server {
namespace {

using PartKind = model_output::AnswerPart::Kind;

constexpr std::array<std::string_view, 3> kPrefixes = {"rs", "msg", "fc"};  // by Kind
constexpr std::array<std::string_view, 3> kPartTypes = {"reasoning_text", "output_text", ""};
constexpr std::array<std::string_view, 3> kStatuses = {"in_progress", "completed", "incomplete"};

}  // namespace

// Adds the item's identity to each of its events.
template <typename Write>
void ResponseOutput::emit(std::string_view type, Write&& write) {
  if (!emit_) return;
  JsonWriter event;
  event.begin_object();
  write(event);
  event.member("output_index", items_.size() - 1);
  emit_(type, event);
}

void ResponseOutput::write_part(JsonWriter& json, const Item& item, bool is_empty) const {
  json.begin_object().member("type", kPartTypes[static_cast<size_t>(item.kind)]);
  json.member("text", is_empty ? "" : item.text);
  if (item.kind == Kind::Message) {
    json.key("annotations").begin_array().end_array();
    json.key("logprobs").raw("[" + (is_empty ? "" : item.logprobs) + "]");
  }
  json.end_object();
}

void ResponseOutput::write_item(JsonWriter& json, const Item& item) const {
  const bool is_open = item.status == Status::InProgress;
  json.begin_object().member("id", item.id);
  if (item.kind == Kind::Call) {
    json.member("type", "function_call").member("call_id", item.call_id);
    json.member("name", item.tool).member("arguments", item.text);
  } else {
    const bool is_message = item.kind == Kind::Message;
    json.member("type", is_message ? "message" : "reasoning");
    if (is_message) json.member("role", "assistant");
    json.key("content").begin_array();
    if (!is_open) write_part(json, item, false);
    json.end_array();
    if (!is_message) {
      json.key("summary").begin_array().end_array();
      if (seals_thoughts_ && !is_open) json.member("encrypted_content", sealed_thoughts(item.text));
    }
  }
  json.member("status", kStatuses[static_cast<size_t>(item.status)]).end_object();
}

void ResponseOutput::open(Kind kind, const model_output::AnswerPart& part) {
  if (is_open()) end_item(Status::Completed);
  const std::string id =
      fmt::format("{}_{}_{}", kPrefixes[static_cast<size_t>(kind)], name_, items_.size());
  items_.push_back({kind, id, {}, part.id, part.text});
  const Item& item = items_.back();
  emit("response.output_item.added", [&](JsonWriter& event) {
    event.key("item");
    write_item(event, item);
  });
  if (kind == Kind::Call) return;
  emit("response.content_part.added", [&](JsonWriter& event) {
    event.member("item_id", item.id).member("content_index", 0).key("part");
    write_part(event, item, true);
  });
}

void ResponseOutput::extend(Kind kind, const std::string& text, const std::string& logprobs) {
  if (!is_open() || items_.back().kind != kind) open(kind);
  Item& item = items_.back();
  item.text += text;
  if (!logprobs.empty()) item.logprobs += (item.logprobs.empty() ? "" : ",") + logprobs;
  if (kind == Kind::Call) {
    emit("response.function_call_arguments.delta",
         [&](JsonWriter& event) { event.member("item_id", item.id).member("delta", text); });
    return;
  }
  const std::string_view part = kPartTypes[static_cast<size_t>(kind)];
  emit(fmt::format("response.{}.delta", part), [&](JsonWriter& event) {
    event.member("item_id", item.id).member("content_index", 0).member("delta", text);
    if (kind == Kind::Message) event.key("logprobs").raw("[" + logprobs + "]");
  });
}

void ResponseOutput::end_item(Status status) {
  Item& item = items_.back();
  item.status = status;
  if (item.kind == Kind::Call) {
    emit("response.function_call_arguments.done", [&](JsonWriter& event) {
      event.member("item_id", item.id).member("name", item.tool).member("arguments", item.text);
    });
  } else {
    const std::string_view part = kPartTypes[static_cast<size_t>(item.kind)];
    emit(fmt::format("response.{}.done", part), [&](JsonWriter& event) {
      event.member("item_id", item.id).member("content_index", 0).member("text", item.text);
      if (item.kind == Kind::Message) event.key("logprobs").raw("[" + item.logprobs + "]");
    });
    emit("response.content_part.done", [&](JsonWriter& event) {
      event.member("item_id", item.id).member("content_index", 0).key("part");
      write_part(event, item, false);
    });
  }
  emit("response.output_item.done", [&](JsonWriter& event) {
    event.key("item");
    write_item(event, item);
  });
}

// A stream cannot take back the call: it stays, marked incomplete.
void ResponseOutput::break_call(const model_output::AnswerPart& part) {
  if (!is_open() || items_.back().kind != Kind::Call) return;
  if (emit_) return end_item(Status::Incomplete);
  items_.pop_back();
  extend(Kind::Message, part.text, {});
}

void ResponseOutput::add(const Piece& piece) {
  if (piece.logprobs != nullptr) {
    JsonWriter token;
    write_logged(token, piece);
    waiting_logprobs_ += (waiting_logprobs_.empty() ? "" : ",") + token.text();
  }
  for (const model_output::AnswerPart& part : piece.parts) {
    // The logprobs of a message's tokens wait for the text of these tokens.
    const std::string logprobs = std::exchange(waiting_logprobs_, {});
    if (part.kind == PartKind::Thoughts) {
      extend(Kind::Reasoning, part.text, {});
    } else if (part.kind == PartKind::Content) {
      extend(Kind::Message, part.text, logprobs);
    } else if (part.kind == PartKind::CallBegin) {
      open(Kind::Call, part);
    } else if (part.kind == PartKind::Arguments) {
      extend(Kind::Call, part.text, {});
    } else if (part.kind == PartKind::CallEnd) {
      if (is_open()) end_item(Status::Completed);
    } else {
      break_call(part);
    }
  }
}

void ResponseOutput::close(bool is_cut) {
  if (items_.empty()) open(Kind::Message);
  if (!is_open()) return;
  if (!waiting_logprobs_.empty() && items_.back().kind == Kind::Message) {
    extend(Kind::Message, "", waiting_logprobs_);
  }
  end_item(is_cut ? Status::Incomplete : Status::Completed);
}

void ResponseOutput::abandon() {
  if (is_open()) end_item(Status::Incomplete);
}

void ResponseOutput::write(JsonWriter& json) const {
  json.begin_array();
  for (const Item& item : items_) write_item(json, item);
  json.end_array();
}

}  // namespace pippin::server
