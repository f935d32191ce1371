#include "pippin/mx/ops/random.h"

#include <string>

#include "pippin/mx/core/index.h"
#include "pippin/python/core/convert.h"
#include "pippin/python/core/errors.h"
#include "pippin/python/core/families.h"
#include "pippin/python/core/function.h"
#include "pippin/python/core/object.h"

namespace pippin::python::core {

namespace py = pybind11;
namespace random = mx::random;

namespace {

// `random.state`: a list with the current key, so that compile() can use it as an input and an
// output.
PyObject* state = nullptr;

void set_state(mx::array key) {
  const auto object = py::reinterpret_steal<py::object>(give(std::move(key)));
  if (PyList_SetSlice(state, 0, PyList_GET_SIZE(state), py::list(0).ptr()) != 0 ||
      PyList_Append(state, object.ptr()) != 0) {
    throw py::error_already_set();
  }
}

mx::array next_key() {
  if (PyList_GET_SIZE(state) != 1 || !is_array(PyList_GET_ITEM(state, 0))) {
    throw py::value_error("random.state has to hold one key.");
  }
  const mx::array keys = random::split(value_of(PyList_GET_ITEM(state, 0)));
  set_state(mx::take(keys, 0, 0));
  return mx::take(keys, 1, 0);
}

mx::array key_of(const Args& args, size_t i) {
  return args.has(i) ? args.array(i) : next_key();
}

mx::Shape shape_or_none(const Args& args, size_t i) {
  return args.has(i) ? args.shape(i) : mx::Shape();
}
std::optional<mx::Shape> maybe_shape(const Args& args, size_t i) {
  return args.has(i) ? std::optional(args.shape(i)) : std::nullopt;
}

// A bound of the distribution, as an array of `dtype`.
mx::array bound(const Args& args, size_t i, double otherwise, mx::Dtype dtype) {
  if (!args.has(i)) return mx::array(otherwise, dtype);
  if (auto found = try_array(args.raw(i), dtype)) return *std::move(found);
  args.refuse(i, "an array or a number");
}
std::optional<mx::array> maybe_bound(const Args& args, size_t i, mx::Dtype dtype) {
  return args.has(i) ? std::optional(bound(args, i, 0, dtype)) : std::nullopt;
}

PyObject* permutation(const Args& args) {
  const mx::array key = key_of(args, 2);
  if (PyLong_Check(args.raw(0)) != 0) return give(random::permutation(args.small(0), key));
  return give(random::permutation(args.array(0), args.small(1, 0), key));
}

uint64_t seed_of(const Args& args, size_t i) {
  const int64_t value = args.integer(i);
  return static_cast<uint64_t>(value);
}

constexpr Definition kRandomFunctions[] = {
    {"seed", "seed",
     [](const Args& args) {
       set_state(random::key(seed_of(args, 0)));
       return give_none();
     }},
    {"key", "seed", [](const Args& args) { return give(random::key(seed_of(args, 0))); }},
    {"split", "key, num=2",
     [](const Args& args) { return give(random::split(args.array(0), args.small(1, 2))); }},
    {"bits", "shape=(), width=4, key=None",
     [](const Args& args) {
       return give(random::bits(shape_or_none(args, 0), args.small(1, 4), key_of(args, 2)));
     }},
    {"uniform", "low=0, high=1, shape=(), dtype=None, key=None",
     [](const Args& args) {
       const mx::Dtype dtype = args.dtype(3, mx::float32);
       return give(random::uniform(bound(args, 0, 0, dtype), bound(args, 1, 1, dtype),
                                   shape_or_none(args, 2), dtype, key_of(args, 4)));
     }},
    {"normal", "shape=(), dtype=None, loc=None, scale=None, key=None",
     [](const Args& args) {
       const mx::Dtype dtype = args.dtype(1, mx::float32);
       return give(random::normal(shape_or_none(args, 0), dtype, maybe_bound(args, 2, dtype),
                                  maybe_bound(args, 3, dtype), key_of(args, 4)));
     }},
    {"multivariate_normal", "mean, cov, shape=(), dtype=None, key=None",
     [](const Args& args) {
       return give(random::multivariate_normal(args.array(0), args.array(1), shape_or_none(args, 2),
                                               args.dtype(3, mx::float32), key_of(args, 4)));
     }},
    {"randint", "low, high, shape=(), dtype=None, key=None",
     [](const Args& args) {
       return give(random::randint(args.array(0), args.array(1), shape_or_none(args, 2),
                                   args.dtype(3, mx::int32), key_of(args, 4)));
     }},
    {"bernoulli", "p=0.5, shape=None, key=None",
     [](const Args& args) {
       return give(random::bernoulli(args.has(0) ? args.array(0) : mx::array(0.5),
                                     maybe_shape(args, 1), key_of(args, 2)));
     }},
    {"truncated_normal", "lower, upper, shape=None, dtype=None, key=None",
     [](const Args& args) {
       const mx::Dtype dtype = args.dtype(3, mx::float32);
       return give(random::truncated_normal(bound(args, 0, 0, dtype), bound(args, 1, 0, dtype),
                                            maybe_shape(args, 2), dtype, key_of(args, 4)));
     }},
    {"gumbel", "shape=(), dtype=None, key=None",
     [](const Args& args) {
       return give(
           random::gumbel(shape_or_none(args, 0), args.dtype(1, mx::float32), key_of(args, 2)));
     }},
    {"categorical", "logits, axis=-1, shape=None, num_samples=None, key=None",
     [](const Args& args) {
       return give(random::categorical(args.array(0), args.small(1, -1), maybe_shape(args, 2),
                                       args.maybe_small(3), key_of(args, 4)));
     }},
    {"laplace", "shape=(), dtype=None, loc=0.0, scale=1.0, key=None",
     [](const Args& args) {
       return give(random::laplace(shape_or_none(args, 0), args.dtype(1, mx::float32),
                                   static_cast<float>(args.number(2, 0)),
                                   static_cast<float>(args.number(3, 1)), key_of(args, 4)));
     }},
    {"permutation", "x, axis=0, key=None", &permutation},
};

}  // namespace

void bind_random(py::module_& module) {
  py::module_ own = module.def_submodule("random", "Random numbers from keys.");
  state = py::list().release().ptr();
  set_state(random::state());
  py::setattr(own, "state", state);
  define(own, "pippin.core.random", kRandomFunctions);
}

}  // namespace pippin::python::core
