#include "pippin/array/evaluator.h"

#include <mutex>

#include "pippin/array/builder.h"
#include "pippin/base/error.h"

namespace pippin::array {
namespace {

std::mutex mutex;
std::shared_ptr<Evaluator>& installed() {
  static std::shared_ptr<Evaluator> evaluator;
  return evaluator;
}

}  // namespace

void set_evaluator(std::shared_ptr<Evaluator> evaluator) {
  const std::lock_guard lock(mutex);
  installed() = std::move(evaluator);
}

mil::Tensor evaluate(const Array& value) {
  std::shared_ptr<Evaluator> evaluator;
  {
    const std::lock_guard lock(mutex);
    evaluator = installed();
  }
  if (evaluator == nullptr) fail(ErrorCode::Unsupported, "no evaluator is set: nothing can run");
  Builder builder;
  builder.output("result", value);
  mil::Program program;
  program.functions.emplace("main", builder.build());
  return evaluator->run(program).at(0);
}

}  // namespace pippin::array
