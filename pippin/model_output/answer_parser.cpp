#include "pippin/model_output/answer_parser.h"

#include <algorithm>
#include <utility>

namespace pippin::model_output {

AnswerParser::AnswerParser(AnswerParserOptions options)
    : splits_thoughts_(options.splits_thoughts),
      splitter_(options.reasoning, options.is_thinking, !options.splits_thoughts) {
  if (options.syntax == nullptr) return;
  CallParserOptions calls{std::move(options.syntax), std::move(options.tools),
                          std::move(options.make_id), options.is_parallel};
  if (calls.tools == nullptr) calls.tools = std::make_shared<const std::vector<Tool>>();
  if (calls.syntax->shape == CallSyntax::Shape::Channels) {
    const size_t start = options.prompt.rfind("<|start|>");
    channels_.emplace(std::move(calls),
                      start == std::string::npos ? "" : options.prompt.substr(start),
                      !options.splits_thoughts);
  } else {
    calls_.emplace(std::move(calls));
  }
}

void AnswerParser::add(ReasoningSplitter::Parts parts, AnswerParts& out) {
  add_part(out, splits_thoughts_ ? AnswerPart::Kind::Thoughts : AnswerPart::Kind::Content,
           parts.reasoning);
  if (calls_) {
    calls_->push(parts.content, out);
  } else {
    add_part(out, AnswerPart::Kind::Content, parts.content);
  }
}

AnswerParts AnswerParser::push(int32_t id, std::string_view piece) {
  AnswerParts parts;
  if (channels_) {
    channels_->push(piece, parts);
  } else {
    add(splitter_.push(id, piece), parts);
  }
  return parts;
}

AnswerParts AnswerParser::finish(std::string_view rest, bool was_cut) {
  AnswerParts parts;
  if (channels_) {
    channels_->push(rest, parts);
    channels_->finish(was_cut, parts);
    return parts;
  }
  add(splitter_.finish(rest), parts);
  if (calls_) calls_->finish(was_cut, parts);
  return parts;
}

bool AnswerParser::is_thinking() const {
  return channels_ ? channels_->is_thinking() : splitter_.is_thinking();
}

bool AnswerParser::is_over() const {
  return channels_ ? channels_->is_over() : calls_ && calls_->is_over();
}

std::vector<int32_t> shown_tokens(const CallSyntax& syntax, const Tokenizer& tokenizer) {
  std::vector<std::string_view> marks = {
      syntax.section_begin, syntax.call_begin, syntax.call_end, syntax.separator,
      syntax.section_end,   syntax.key_begin,  syntax.key_end,  syntax.key_end_other,
      syntax.value_end,     syntax.quote};
  for (const CallPiece& piece : syntax.pieces) marks.push_back(piece.text);
  if (syntax.shape == CallSyntax::Shape::Channels) {
    marks.assign(std::begin(kChannelMarks), std::end(kChannelMarks));
  }
  std::vector<int32_t> shown;
  for (const std::string_view mark : marks) {
    for (const int32_t id : tokenizer.encode(mark, false)) {
      if (tokenizer.is_special(id)) shown.push_back(id);
    }
  }
  std::sort(shown.begin(), shown.end());
  shown.erase(std::unique(shown.begin(), shown.end()), shown.end());
  return shown;
}

}  // namespace pippin::model_output
