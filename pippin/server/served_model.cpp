#include "pippin/server/served_model.h"

#include <utility>

#include "pippin/app/prompt_tokens.h"
#include "pippin/model_output/read_syntax.h"
#include "pippin/server/thinking.h"

namespace pippin::server {

ServedModel::ServedModel(std::string called, runtime::LoadedModel opened,
                         const scheduling::SchedulerOptions& options)
    : name(std::move(called)),
      loaded(std::move(opened)),
      end_ids(app::end_tokens(loaded, false)),
      chat_end_ids(app::end_tokens(loaded, true)),
      forms(std::make_unique<app::FormCompiler>(loaded.tokenizer)) {
  if (loaded.chat_template) {
    template_source = loaded.chat_template->source();
    auto marks = model_output::find_reasoning(*loaded.chat_template, &loaded.tokenizer);
    if (marks) reasoning = std::make_shared<model_output::ReasoningMarks>(std::move(*marks));
    thinking_switch = find_thinking_switch(*loaded.chat_template);
    takes_tools = model_output::takes_tools(*loaded.chat_template);
    auto syntax = model_output::read_call_syntax(*loaded.chat_template);
    if (syntax) calls = std::make_shared<model_output::CallSyntax>(std::move(*syntax));
  }
  scheduler = std::make_unique<scheduling::Scheduler>(loaded.model, loaded.tokenizer, options);
}

}  // namespace pippin::server
