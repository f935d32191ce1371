// The family `coreml-llm`: CoreML-LLM's bundle of Gemma 4 (families/coreml_llm.h). Each token runs
// through all chunks; the model chooses the most likely next token itself.
#pragma once

#include <memory>

#include "pippin/base/threads/thread_pool.h"
#include "pippin/runtime/coreml_llm/files.h"
#include "pippin/runtime/load_options.h"
#include "pippin/runtime/model.h"
#include "pippin/runtime/package/folder.h"

namespace pippin::runtime {

// `folder` is that of the chunks; `pool` must outlive the result. Throws NotFound (a missing file),
// InvalidFile for parts that do not fit together, Unsupported for options that such a model does
// not have, and the errors of reading packages.
std::shared_ptr<Model> make_coreml_llm_model(PackageFolder folder, const CoreMlLlmFiles& files,
                                             ThreadPool& pool, const LoadOptions& options = {});

}  // namespace pippin::runtime
