// Runs a trial (pippin/coreml/trial.h) with the stand-in, like `pippin core-ml-trial`.
#include <cstdio>
#include <string>
#include <vector>

#include "pippin/coreml/device.h"
#include "pippin/coreml/trial.h"

int main(int count, char** arguments) {
  namespace coreml = pippin::coreml;
  coreml::TrialTask task;
  coreml::ErrorText error_text = coreml::parse_arguments({arguments + 1, arguments + count}, task);
  if (error_text.empty()) {
    error_text = coreml::run_trial(*coreml::system_framework(), task, [] { return true; });
  }
  if (!error_text.empty()) std::fprintf(stderr, "%s\n", error_text.c_str());
  return error_text.empty() ? 0 : 1;
}
