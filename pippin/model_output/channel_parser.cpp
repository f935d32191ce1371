#include "pippin/model_output/channel_parser.h"

#include <algorithm>
#include <utility>

#include "pippin/model_output/marks.h"

namespace pippin::model_output {
namespace {

constexpr std::string_view kMessage = "<|message|>";
constexpr std::string_view kFunctions = "functions.";
// Marks that end a message; some of them begin the next header.
constexpr std::string_view kEnds[] = {"<|end|>", "<|call|>", "<|return|>", "<|start|>",
                                      "<|channel|>"};

// Returns the word after the last `mark` in a header.
std::string_view word_behind(std::string_view header, std::string_view mark) {
  const size_t at = header.rfind(mark);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = header.substr(skip_blanks(header, at + mark.size()));
  return rest.substr(0, rest.find_first_of(" \t\r\n<"));
}

}  // namespace

ChannelParser::ChannelParser(CallParserOptions options, std::string header, bool keeps_marks)
    : options_(std::move(options)), keeps_marks_(keeps_marks), header_(std::move(header)) {
  AnswerParts none;
  if (const size_t at = header_.find(kMessage); at != std::string::npos) {
    header_.resize(at);
    begin_message(none);
  }
}

void ChannelParser::push(std::string_view text, AnswerParts& parts) {
  text_ += text;
  while (!is_over_ && step(false, parts)) continue;
}

void ChannelParser::finish(bool was_cut, AnswerParts& parts) {
  while (!is_over_ && step(true, parts)) continue;
  if (state_ == State::Call && !was_cut) broken(parts);
}

void ChannelParser::give(std::string_view text, AnswerParts& parts) {
  if (kind_ != AnswerPart::Kind::Thoughts) return add_part(parts, kind_, text);
  if (keeps_marks_) return add_part(parts, AnswerPart::Kind::Content, text);
  // Blanks at the ends of thoughts are dropped.
  if (std::exchange(is_at_begin_, false)) text.remove_prefix(skip_blanks(text, 0));
  is_at_begin_ = is_at_begin_ || text.empty();
  const size_t size = text.find_last_not_of(kBlanks) + 1;
  if (size > 0) add_part(parts, kind_, std::exchange(blanks_, {}).append(text.substr(0, size)));
  blanks_ += text.substr(size);
}

void ChannelParser::begin_message(AnswerParts& parts) {
  const std::string_view to = word_behind(header_, "to=");
  state_ = State::Body;
  kind_ = word_behind(header_, "<|channel|>") == "analysis" ? AnswerPart::Kind::Thoughts
                                                            : AnswerPart::Kind::Content;
  if (to.starts_with(kFunctions)) {
    const auto tool =
        std::find_if(options_.tools->begin(), options_.tools->end(),
                     [&](const Tool& one) { return one.name == to.substr(kFunctions.size()); });
    if (tool != options_.tools->end()) {
      state_ = State::Call;
      scanner_ = {};
      raw_.clear();
      parts.push_back({.kind = AnswerPart::Kind::CallBegin,
                       .text = tool->name,
                       .index = num_calls_,
                       .id = options_.make_id()});
    } else {
      kind_ = AnswerPart::Kind::Content;
    }
  } else if (!to.empty() && to != "user" && to != "assistant") {
    kind_ = AnswerPart::Kind::Content;
  }
  is_at_begin_ = true;
  if (keeps_marks_ && is_thinking()) give("<|channel|>analysis<|message|>", parts);
  header_.clear();
}

void ChannelParser::end_message(AnswerParts& parts) {
  if (keeps_marks_ && is_thinking()) give("<|end|>", parts);
  blanks_.clear();
  state_ = State::Header;
}

void ChannelParser::broken(AnswerParts& parts) {
  parts.push_back({.kind = AnswerPart::Kind::CallBroken,
                   .text = std::exchange(raw_, {}),
                   .index = num_calls_++});
  state_ = State::Body;
  kind_ = AnswerPart::Kind::Content;
}

bool ChannelParser::step(bool is_all, AnswerParts& parts) {
  if (text_.empty()) return false;
  const std::string_view text = text_;
  if (state_ == State::Header) {
    const size_t at = text.find(kMessage);
    if (at == std::string_view::npos) {
      // A header that never ends is ignored.
      if (is_all) text_.clear();
      return false;
    }
    header_ += text.substr(0, at);
    text_.erase(0, at + kMessage.size());
    begin_message(parts);
    return true;
  }
  if (state_ == State::Call) {
    size_t end = 0;
    std::string json;
    const auto status = scanner_.push(text, end, json);
    add_part(parts, AnswerPart::Kind::Arguments, json, num_calls_);
    raw_ += text.substr(0, end);
    text_.erase(0, end);
    if (status == JsonScanner::Status::More) return false;
    if (status == JsonScanner::Status::Broken) {
      broken(parts);
      return true;
    }
    parts.push_back({.kind = AnswerPart::Kind::CallEnd, .index = num_calls_++});
    is_over_ = !options_.is_parallel;
    state_ = State::Header;
    return true;
  }
  size_t end = std::string_view::npos;
  std::string_view mark;
  size_t held = 0;
  for (const std::string_view one : kEnds) {
    held = std::max(held, held_back(text, one));
    const size_t at = text.find(one);
    if (at >= end) continue;
    end = at;
    mark = one;
  }
  if (end == std::string_view::npos) {
    const size_t size = text.size() - (is_all ? 0 : held);
    give(text.substr(0, size), parts);
    text_.erase(0, size);
    return false;
  }
  give(text.substr(0, end), parts);
  end_message(parts);
  // A mark that begins a header is part of it.
  const bool is_header = mark == "<|start|>" || mark == "<|channel|>";
  text_.erase(0, is_header ? end : end + mark.size());
  return true;
}

}  // namespace pippin::model_output
