#include "pippin/mx/ops/reduce.h"
#include "pippin/mx/ops/scan_sort.h"
#include "pippin/python/core/families.h"
#include "pippin/python/core/function.h"

namespace pippin::python::core {

namespace py = pybind11;

namespace {

constexpr const char* kReduction = "a, /, axis=None, keepdims=False";
constexpr const char* kScan = "a, /, axis=None, *, reverse=False, inclusive=True";
constexpr const char* kTypedScan = "a, /, axis=None, *, reverse=False, inclusive=True, dtype=None";

using Deviation = mx::array (*)(const mx::array&, const mx::Axes&, bool, int);
template <Deviation function>
PyObject* deviation(const Args& args) {
  return give(function(args.array(0), args.axes(1), args.flag(2, false), args.small(3, 0)));
}

using Place = mx::array (*)(const mx::array&, std::optional<int>, bool);
template <Place function>
PyObject* place(const Args& args) {
  return give(function(args.array(0), args.maybe_small(1), args.flag(2, false)));
}

using Scan = mx::array (*)(const mx::array&, std::optional<int>, bool, bool);
template <Scan function>
PyObject* scan(const Args& args) {
  return give(
      function(args.array(0), args.maybe_small(1), args.flag(2, false), args.flag(3, true)));
}
using TypedScan = mx::array (*)(const mx::array&, std::optional<int>, bool, bool,
                                std::optional<mx::Dtype>);
template <TypedScan function>
PyObject* typed_scan(const Args& args) {
  return give(function(args.array(0), args.maybe_small(1), args.flag(2, false), args.flag(3, true),
                       args.maybe_dtype(4)));
}

using Order = mx::array (*)(const mx::array&, std::optional<int>);
template <Order function>
PyObject* order(const Args& args) {
  return give(function(args.array(0), args.axis(1, -1)));
}
using Selection = mx::array (*)(const mx::array&, int, std::optional<int>);
template <Selection function>
PyObject* selection(const Args& args) {
  return give(function(args.array(0), args.small(1), args.axis(2, -1)));
}

constexpr Definition kReductionsFunctions[] = {
    {"all", kReduction, &reduction<&mx::all>},
    {"any", kReduction, &reduction<&mx::any>},
    {"logsumexp", kReduction, &reduction<&mx::logsumexp>},
    {"max", kReduction, &reduction<&mx::max>},
    {"mean", kReduction, &reduction<&mx::mean>},
    {"median", kReduction, &reduction<&mx::median>},
    {"min", kReduction, &reduction<&mx::min>},
    {"prod", kReduction, &reduction<&mx::prod>},
    {"sum", kReduction, &reduction<&mx::sum>},
    {"count_nonzero", "a, /, *, axis=None, keepdims=False", &reduction<&mx::count_nonzero>},
    {"std", "a, /, axis=None, keepdims=False, ddof=0", &deviation<&mx::std>},
    {"var", "a, /, axis=None, keepdims=False, ddof=0", &deviation<&mx::var>},
    {"argmax", kReduction, &place<&mx::argmax>},
    {"argmin", kReduction, &place<&mx::argmin>},
    {"softmax", "a, /, axis=None, *, precise=False",
     [](const Args& args) {
       return give(mx::softmax(args.array(0), args.axes(1), args.flag(2, false)));
     }},

    {"cumsum", kTypedScan, &typed_scan<&mx::cumsum>},
    {"cumprod", kTypedScan, &typed_scan<&mx::cumprod>},
    {"cummax", kScan, &scan<&mx::cummax>},
    {"cummin", kScan, &scan<&mx::cummin>},
    {"logcumsumexp", kScan, &scan<&mx::logcumsumexp>},
    {"diff", "a, /, n=1, axis=-1",
     [](const Args& args) {
       return give(mx::diff(args.array(0), args.small(1, 1), args.small(2, -1)));
     }},

    {"sort", "a, /, axis=-1", &order<&mx::sort>},
    {"argsort", "a, /, axis=-1", &order<&mx::argsort>},
    {"partition", "a, /, kth, axis=-1", &selection<&mx::partition>},
    {"argpartition", "a, /, kth, axis=-1", &selection<&mx::argpartition>},
    {"topk", "a, /, k, axis=-1", &selection<&mx::topk>},
    {"searchsorted", "sorted_sequence, values, /, side='left'",
     [](const Args& args) {
       return give(mx::searchsorted(args.array(0), args.array(1), args.text(2, "left")));
     }},
};

}  // namespace

void bind_reductions(py::module_& module) {
  define(module, "pippin.core", kReductionsFunctions);
  alias(module, "cumulative_sum", "cumsum");
  alias(module, "cumulative_prod", "cumprod");
}

}  // namespace pippin::python::core
