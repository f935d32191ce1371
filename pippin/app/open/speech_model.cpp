#include "pippin/app/open/speech_model.h"

#include <utility>

#include "pippin/app/open/hub_model.h"
#include "pippin/app/open/speech_files.h"
#include "pippin/base/error.h"

namespace pippin::app {

OpenedSpeech open_speech(const ModelChoice& given) {
  const ModelChoice choice = resolve_choice(given);
  if (recognizes_frames(choice.path)) return open_frame_recognizer(choice);
  runtime::RunnableModel runnable = open_runnable(choice);
  const auto source = runnable.model->source();
  if (source && source->bins == 0) {
    return open_written_recognizer(std::move(runnable), find_speech_files(choice));
  }
  auto model = with_context(choice.path.empty() ? "the demo model" : choice.path, [&] {
    return std::make_unique<speech::SequenceModel>(runnable.model);
  });
  const SpeechFiles files = find_speech_files(choice);
  return OpenedWhisper{std::move(runnable), std::move(model), Tokenizer::open(files.tokenizer),
                       read_generation(files.folder), read_extractor(files.folder, *source)};
}

}  // namespace pippin::app
