#include "pippin/pipeline/read_ahead.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "pippin/pipeline/pipeline.h"

namespace pippin::pipeline {

std::vector<OutputPart> ReadAhead::start(size_t lane, uint64_t state,
                                         const std::function<size_t(size_t)>& size_of) {
  if (by_lane_.size() <= lane) by_lane_.resize(lane + 1);
  Questions& own = by_lane_[lane];
  for (Question& question : own.open) {
    std::erase(parts_, question.part);
    own.unread.push_back(std::move(question));
  }
  own.open.clear();
  std::erase_if(own.unread, [&](const Question& question) { return question.state != state; });
  std::vector<OutputPart> parts;
  std::copy_if(parts_.begin(), parts_.end(), std::back_inserter(parts),
               [&](const OutputPart& part) { return size_of(part.index) == part.whole; });
  return parts;
}

void ReadAhead::asked(size_t lane, uint64_t state, const OutputPart& part,
                      std::shared_ptr<Answer> answer) {
  by_lane_.at(lane).open.push_back({part, state, std::move(answer)});
}

std::optional<Message> ReadAhead::take(size_t lane, uint64_t state, const OutputPart& part) {
  if (by_lane_.size() <= lane) by_lane_.resize(lane + 1);
  Questions& own = by_lane_[lane];
  for (const Question& question : std::exchange(own.unread, {})) {
    if (question.state == state) pipeline_.answer_of(question.answer);
  }
  const auto found = std::find_if(own.open.begin(), own.open.end(),
                                  [&](const Question& question) { return question.part == part; });
  if (found == own.open.end()) {
    if (std::find(parts_.begin(), parts_.end(), part) == parts_.end()) parts_.push_back(part);
    return std::nullopt;
  }
  const auto answer = std::move(found->answer);
  own.open.erase(found);
  return pipeline_.answer_of(answer);
}

}  // namespace pippin::pipeline
