#include "pippin/model_output/answer_part.h"

#include <algorithm>

namespace pippin::model_output {

void Answer::add(const AnswerParts& parts) {
  for (const AnswerPart& part : parts) {
    switch (part.kind) {
      case AnswerPart::Kind::Thoughts:
        thoughts += part.text;
        break;
      case AnswerPart::Kind::Content:
        content += part.text;
        break;
      case AnswerPart::Kind::CallBegin:
        calls.push_back({.index = part.index, .id = part.id, .name = part.text});
        break;
      case AnswerPart::Kind::Arguments:
        calls.back().arguments += part.text;
        break;
      case AnswerPart::Kind::CallEnd:
        calls.back().is_complete = true;
        break;
      case AnswerPart::Kind::CallBroken:
        calls.pop_back();
        content += part.text;
        break;
    }
  }
}

}  // namespace pippin::model_output
