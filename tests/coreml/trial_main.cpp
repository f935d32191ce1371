// Runs a trial (pippin/coreml/trial.h) with the stand-in, like `pippin core-ml-trial`.
#include <cstdio>
#include <string>
#include <vector>

#include "pippin/coreml/device.h"
#include "pippin/coreml/trial.h"

int main(int count, char** arguments) {
  namespace coreml = pippin::coreml;
  coreml::TrialTask task;
  coreml::Trouble trouble = coreml::parse_arguments({arguments + 1, arguments + count}, task);
  if (trouble.empty()) {
    trouble = coreml::run_trial(*coreml::system_framework(), task, [] { return true; });
  }
  if (!trouble.empty()) std::fprintf(stderr, "%s\n", trouble.c_str());
  return trouble.empty() ? 0 : 1;
}
