#include "pippin/cuda/run/graph.h"

namespace pippin::cuda {

void CapturedGraph::begin(Timeline& timeline) {
  timeline.gpu().call<&Driver::begin_capture>(timeline.stream(), kCaptureThisThread);
}

void CapturedGraph::abandon(Timeline& timeline) noexcept {
  Graph graph = nullptr;
  timeline.gpu().release<&Driver::end_capture>(timeline.stream(), &graph);
  if (graph != nullptr) timeline.gpu().release<&Driver::destroy_graph>(graph);
}

CapturedGraph::CapturedGraph(Timeline& timeline) : gpu_(&timeline.gpu()) {
  Graph graph = nullptr;
  Result result = gpu_->driver().end_capture(timeline.stream(), &graph);
  std::string_view function = kSymbol<&Driver::end_capture>;
  if (result == 0) {
    result = gpu_->driver().instantiate(&executable_, graph, 0);
    function = kSymbol<&Driver::instantiate>;
  }
  if (graph != nullptr) gpu_->release<&Driver::destroy_graph>(graph);
  if (result != 0) gpu_->refuse(result, function);
}

CapturedGraph::~CapturedGraph() {
  if (executable_ != nullptr) gpu_->release<&Driver::destroy_executable>(executable_);
}

void CapturedGraph::launch(Timeline& timeline) const {
  gpu_->call<&Driver::launch_graph>(executable_, timeline.stream());
  timeline.mark_busy();
}

}  // namespace pippin::cuda
