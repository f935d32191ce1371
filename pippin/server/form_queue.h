// Compiles the forms of answers in separate threads: an untrusted form may take all the time that
// it is allowed, and other requests continue meanwhile.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "pippin/app/answer_form.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/http/server.h"
#include "pippin/server/workers.h"

namespace pippin::server {

class FormQueue {
 public:
  // `limit`: the time for each form.
  explicit FormQueue(std::chrono::milliseconds limit);
  FormQueue(const FormQueue&) = delete;
  FormQueue& operator=(const FormQueue&) = delete;
  ~FormQueue();  // drops waiting tasks, cancels running ones

  // Runs `task`, which must not throw, in a thread of the queue. Returns false if too many tasks
  // wait.
  bool add(std::function<void()> task) { return workers_.add(std::move(task)); }
  // Call it in such a thread. It ends when the time is over, the client disconnects or the server
  // stops. Throws ApiError with `param`, the request's field of the form.
  std::shared_ptr<constrain::Constraint> compile(app::FormCompiler& compiler,
                                                 const app::AnswerForm& form,
                                                 const http::Reply& reply,
                                                 const std::string& param) const;

 private:
  const std::chrono::milliseconds limit_;
  CancelToken is_stopping_;
  Workers workers_;
};

}  // namespace pippin::server
