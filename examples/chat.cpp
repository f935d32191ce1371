// A conversation with a language model: each line of the input is answered.
//
//   chat [MODEL]       a package, a folder, org/name on the Hub; without it the demo model
#include <csignal>
#include <cstdio>
#include <iostream>
#include <string>

#include "pippin/api/llm.h"

namespace {

pippin::CancelToken cancel;

void stop_answer(int /*signal*/) {
  cancel.request();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    pippin::LanguageModelOptions options;
    options.progress = [](const std::string& repository, uint64_t done, uint64_t total) {
      std::fprintf(stderr, "\r%s: %llu of %llu bytes", repository.c_str(),
                   static_cast<unsigned long long>(done), static_cast<unsigned long long>(total));
    };
    const auto model = pippin::LanguageModel::load(argc > 1 ? argv[1] : "demo", options);

    pippin::TextSettings settings;
    settings.max_tokens = 256;
    pippin::Chat chat(model, settings);
    std::signal(SIGINT, stop_answer);  // Ctrl-C ends the answer, not the chat
    for (std::string line; std::getline(std::cin, line);) {
      cancel.reset();
      const pippin::CancelScope scope(cancel);
      const pippin::Completion answer = chat.send(line, [](std::string_view piece) {
        std::fwrite(piece.data(), 1, piece.size(), stdout);
        return std::fflush(stdout) == 0;
      });
      std::printf("\n");
      std::fprintf(stderr, "[%lld tokens read, %lld of them before; %zu written: %s]\n",
                   static_cast<long long>(answer.prompt_tokens),
                   static_cast<long long>(answer.cached_tokens), answer.ids.size(),
                   std::string(to_string(answer.reason)).c_str());
    }
  } catch (const pippin::Error& error) {  // one line: problem, place, expected value
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
