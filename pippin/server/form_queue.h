// Compiles the forms of answers in threads of its own: an untrusted form may take all the time that
// it is allowed, and other requests go on meanwhile.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "pippin/app/answer_form.h"
#include "pippin/base/cancel.h"
#include "pippin/http/server.h"
#include "pippin/server/workers.h"

namespace pippin::server {

class FormQueue {
 public:
  // `limit`: for each form.
  explicit FormQueue(std::chrono::milliseconds limit);
  FormQueue(const FormQueue&) = delete;
  FormQueue& operator=(const FormQueue&) = delete;
  ~FormQueue();  // drops waiting tasks, cancels running ones

  // Runs `task`, which may not throw, in a thread of the queue. False if too many wait.
  bool add(std::function<void()> task) { return workers_.add(std::move(task)); }
  // Called in such a thread. Ends when the time is over, the client leaves or the server ends.
  // Throws ApiError with `param`, the form's field of the request.
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
