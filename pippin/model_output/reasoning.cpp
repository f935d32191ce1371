#include "pippin/model_output/reasoning.h"

#include <algorithm>
#include <array>

#include "pippin/base/exception.h"
#include "pippin/model_output/marks.h"

namespace pippin::model_output {
namespace {

using chat::Dict;
using chat::Value;

// Marks in templates that extract thoughts from a message's text, or drop them.
constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kKnownThoughts = {{
    {"<think>", "</think>"},
    {"[THINK]", "[/THINK]"},
    {"<|START_THINKING|>", "<|END_THINKING|>"},
    {"<seed:think>", "</seed:think>"},
    {"<thought>", "</thought>"},
    {"<thinking>", "</thinking>"},
    {"<reasoning>", "</reasoning>"},
    {"<|inner_prefix|>", "<|inner_suffix|>"},
    {"<|channel>thought", "<channel|>"},
    {"Here are my reasoning steps:", "[BEGIN FINAL RESPONSE]"},
}};

std::string_view trimmed_end(std::string_view text) {
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

Mark tokens_of(std::string_view text, const Tokenizer* tokenizer) {
  Mark mark{.text = std::string(mark_of(text))};
  if (tokenizer == nullptr) return mark;
  const std::vector<int32_t> ids = tokenizer->encode(mark.text, false);
  if (std::any_of(ids.begin(), ids.end(), [&](int32_t id) { return tokenizer->is_special(id); })) {
    mark.ids = ids;
  }
  return mark;
}

// Returns the text that the template writes before and after an answer's thoughts.
std::optional<std::pair<std::string, std::string>> read_off(const ChatTemplate& chat) {
  const std::string thought = "Thought7331", answer = "Answer7331";
  const Dict question{{"role", "user"}, {"content", "Question7331"}};
  try {
    const std::string prompt =
        chat.render(Dict{{"messages", std::vector<Value>{question}}}, PromptEnd::Generation);
    const std::string text = chat.render(
        Dict{{"messages", std::vector<Value>{question, Dict{{"role", "assistant"},
                                                            {"content", answer},
                                                            {"reasoning_content", thought},
                                                            {"reasoning", thought},
                                                            {"thinking", thought}}}}},
        PromptEnd::Conversation);
    const size_t at = text.find(thought);
    const size_t after = at == std::string::npos ? at : text.find(answer, at);
    if (after == std::string::npos) return std::nullopt;
    // The prompt itself may open the thoughts.
    const size_t common = static_cast<size_t>(
        std::mismatch(prompt.begin(), prompt.end(), text.begin(), text.end()).first -
        prompt.begin());
    std::string begin = text.substr(std::min(common, at), at - std::min(common, at));
    if (mark_of(begin).empty()) {
      const size_t line = text.find_last_not_of(kBlanks, at - 1);
      const size_t start = line == std::string::npos ? 0 : text.find_last_of("\n>]", line - 1) + 1;
      begin = text.substr(start, at - start);
    }
    std::string end = text.substr(at + thought.size(), after - at - thought.size());
    if (mark_of(begin).empty() || mark_of(end).empty()) return std::nullopt;
    return std::pair(std::move(begin), std::move(end));
  } catch (const Error&) {  // the template rejects such a conversation
    return std::nullopt;
  }
}

}  // namespace

std::optional<ReasoningMarks> find_reasoning(const ChatTemplate& chat, const Tokenizer* tokenizer) {
  // If a template keeps only thoughts that it finds in a text, its source contains the marks.
  for (const auto& [begin, end] : kKnownThoughts) {
    if (chat.source().find(end) == std::string_view::npos) continue;
    return ReasoningMarks{tokens_of(begin, tokenizer), tokens_of(end, tokenizer)};
  }
  const auto found = read_off(chat);
  if (!found) return std::nullopt;
  return ReasoningMarks{tokens_of(found->first, tokenizer), tokens_of(found->second, tokenizer)};
}

bool begins_thinking(const ReasoningMarks& marks, std::string_view prompt) {
  const size_t begin = prompt.rfind(marks.begin.text);
  if (begin == std::string_view::npos) return false;
  // Only blanks may follow, because a question may contain such words, too.
  return mark_of(prompt.substr(begin + marks.begin.text.size())).empty();
}

std::string_view behind_thoughts(std::string_view text) {
  size_t begin = 0;
  for (const auto& marks : kKnownThoughts) {
    const size_t end = text.rfind(marks.second);
    if (end != std::string_view::npos) begin = std::max(begin, end + marks.second.size());
  }
  return text.substr(begin);
}

ReasoningSplitter::ReasoningSplitter(std::shared_ptr<const ReasoningMarks> marks, bool is_thinking,
                                     bool keeps_marks)
    : marks_(std::move(marks)),
      keeps_marks_(keeps_marks),
      state_(marks_ == nullptr ? State::Content
             : is_thinking     ? State::Thinking
                               : State::Start),
      is_at_begin_(is_thinking) {}

// Returns the mark that would change the state; thoughts can only come first.
const Mark* ReasoningSplitter::awaited() const {
  if (state_ == State::Content) return nullptr;
  return state_ == State::Start ? &marks_->begin : &marks_->end;
}

ReasoningSplitter::Parts ReasoningSplitter::push(int32_t id, std::string_view piece) {
  Parts parts;
  steps_.push_back({id, std::string(piece)});
  while (!steps_.empty()) {
    const Mark* mark = awaited();
    if (mark != nullptr && !mark->ids.empty()) {
      const size_t size = std::min(steps_.size(), mark->ids.size());
      const bool fits = std::equal(
          steps_.begin(), steps_.begin() + static_cast<ptrdiff_t>(size), mark->ids.begin(),
          [](const Step& step, int32_t wanted) { return step.id == wanted; });
      if (fits && size < mark->ids.size()) return parts;
      if (fits) {
        // The first token's text belongs before the mark.
        take_text(steps_.front().piece, parts);
        steps_.erase(steps_.begin(), steps_.begin() + static_cast<ptrdiff_t>(size));
        pass(parts);
        continue;
      }
    }
    take_text(steps_.front().piece, parts);
    steps_.pop_front();
  }
  return parts;
}

ReasoningSplitter::Parts ReasoningSplitter::finish(std::string_view rest) {
  Parts parts;
  for (const Step& step : steps_) take_text(step.piece, parts);
  steps_.clear();
  take_text(rest, parts);
  give(std::exchange(held_, {}), parts);
  if (state_ == State::Start) parts.content += std::exchange(blanks_, {});
  return parts;
}

void ReasoningSplitter::take_text(std::string_view text, Parts& parts) {
  const Mark* mark = awaited();
  if (mark == nullptr || !mark->ids.empty()) return give(text, parts);
  held_ += text;
  const size_t at = held_.find(mark->text);
  if (at != std::string::npos &&
      (state_ == State::Thinking || mark_of(std::string_view(held_).substr(0, at)).empty())) {
    const std::string rest = held_.substr(at + mark->text.size());
    const std::string before = held_.substr(0, at);
    held_.clear();
    give(before, parts);
    pass(parts);
    return take_text(rest, parts);
  }
  size_t sure = held_.size();
  for (size_t size = std::min(mark->text.size() - 1, held_.size()); size > 0; --size) {
    if (!held_.ends_with(std::string_view(mark->text).substr(0, size))) continue;
    sure = held_.size() - size;
    break;
  }
  // Hold back blanks before the first mark.
  if (state_ == State::Start && mark_of(std::string_view(held_).substr(0, sure)).empty()) return;
  const std::string given = held_.substr(0, sure);
  held_.erase(0, sure);
  give(given, parts);
}

void ReasoningSplitter::give(std::string_view text, Parts& parts) {
  if (state_ == State::Content) {
    if (is_at_begin_) {
      text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
      is_at_begin_ = text.empty();
    }
    parts.content += text;
    return;
  }
  // Blanks at the ends of thoughts are dropped; before an answer without thoughts they are kept.
  if (keeps_marks_ && state_ == State::Thinking) {
    parts.reasoning += text;
    return;
  }
  const size_t last = text.find_last_not_of(kBlanks);
  if (last == std::string_view::npos) {
    blanks_ += text;
    return;
  }
  if (state_ == State::Start) {
    state_ = State::Content;
    parts.content += std::exchange(blanks_, {}).append(text).append(std::exchange(held_, {}));
    return;
  }
  if (std::exchange(is_at_begin_, false)) {
    blanks_.clear();
    text.remove_prefix(text.find_first_not_of(kBlanks));
  }
  parts.reasoning += std::exchange(blanks_, {}).append(trimmed_end(text));
  blanks_ = text.substr(trimmed_end(text).size());
}

void ReasoningSplitter::pass(Parts& parts) {
  give(std::exchange(held_, {}), parts);
  if (keeps_marks_) parts.reasoning += blanks_ + awaited()->text;
  blanks_.clear();
  state_ = state_ == State::Start ? State::Thinking : State::Content;
  is_at_begin_ = !keeps_marks_;
}

}  // namespace pippin::model_output
