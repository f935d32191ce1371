#include "pippin/python/core/compile.h"

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "pippin/mx/export/compile.h"
#include "pippin/python/core/errors.h"
#include "pippin/python/core/object.h"
#include "pippin/python/core/trees.h"
#include "pippin/python/interrupt.h"

namespace pippin::python::core {

namespace py = pybind11;

namespace {

// A text that identifies a call apart from the numbers in its arrays: the structure of its
// arguments, their constants, and the types and shapes of the arrays.
class Signature {
 public:
  void add(PyObject* tree) {
    const Deeper deeper;
    if (is_array(tree)) {
      arrays.push_back(value_of(tree));
      const mx::array& value = arrays.back();
      text += 'a';
      put(static_cast<int64_t>(value.dtype()));
      put(static_cast<int64_t>(value.ndim()));
      for (const int64_t size : value.shape()) put(size);
    } else if (PyList_Check(tree) != 0 || PyTuple_Check(tree) != 0) {
      text += PyList_Check(tree) != 0 ? '[' : '(';
      put(PySequence_Fast_GET_SIZE(tree));
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(tree); ++i) {
        add(PySequence_Fast_GET_ITEM(tree, i));
      }
    } else if (PyDict_Check(tree) != 0) {
      text += '{';
      put(PyDict_GET_SIZE(tree));
      PyObject *key = nullptr, *value = nullptr;
      for (Py_ssize_t place = 0; PyDict_Next(tree, &place, &key, &value) != 0;) {
        add_text(key);
        add(value);
      }
    } else {
      add_constant(tree);
    }
  }

  std::string text;
  std::vector<mx::array> arrays;

 private:
  void put(int64_t number) { text.append(reinterpret_cast<const char*>(&number), sizeof(number)); }
  void add_text(PyObject* object) {
    const std::string written = py::repr(object);
    put(static_cast<int64_t>(written.size()));
    text += written;
  }
  void add_constant(PyObject* object) {
    const bool is_plain = object == Py_None || PyBool_Check(object) != 0 ||
                          PyLong_Check(object) != 0 || PyFloat_Check(object) != 0 ||
                          PyUnicode_Check(object) != 0 || PyBytes_Check(object) != 0;
    if (!is_plain) {
      throw py::value_error(
          "[compile] Arguments have to be trees of arrays and constants (floats, "
          "ints, strings, or None), not a " +
          std::string(Py_TYPE(object)->tp_name) + ".");
    }
    text += 'c';
    add_text(py::type::of(object).ptr());
    add_text(object);
  }
};

class Compiled {
 public:
  Compiled(py::object function, py::object inputs, py::object outputs)
      : function_(std::move(function)), inputs_(std::move(inputs)), outputs_(std::move(outputs)) {}

  py::object operator()(const py::args& args, const py::kwargs& keywords) {
    if (!mx::is_compile_enabled()) return call_function(args, keywords);
    Signature call;
    call.add(args.ptr());
    call.add(keywords.ptr());
    if (!inputs_.is_none()) call.add(inputs_.ptr());
    const auto found = entries_.find(call.text);
    // Held because the function may be called again while it is recorded.
    const std::shared_ptr<const Entry> entry =
        found != entries_.end() ? found->second : record(call, args, keywords);
    std::vector<mx::array> results = (*entry->trace)(call.arrays);
    // The outputs' state first, then the result.
    auto next = results.begin();
    if (!outputs_.is_none()) {
      const py::object state = outputs_;
      size_t count = 0;
      collect_count(state, count);
      if (count != entry->num_outputs) {
        throw py::value_error("[compile] The outputs have " + std::to_string(count) +
                              " arrays, and had " + std::to_string(entry->num_outputs) +
                              " when the function was recorded.");
      }
      replace_arrays(state.ptr(), [&](const mx::array&) { return *next++; });
    }
    return map_leaves(entry->result.ptr(), [&](PyObject* leaf) {
      if (leaf != placeholder()) return py::reinterpret_borrow<py::object>(leaf);
      return py::reinterpret_steal<py::object>(give(*next++));
    });
  }

 private:
  static constexpr size_t kMostEntries = 1024;
  struct Entry {
    std::optional<mx::Trace> trace;
    size_t num_outputs = 0;
    py::object result;  // with placeholder() in place of arrays
  };

  // An object that occurs in no other tree.
  static PyObject* placeholder() {
    static PyObject* const object =
        PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type));
    return object;
  }

  static void collect_count(const py::object& tree, size_t& count) {
    visit_leaves(tree.ptr(), [&](PyObject* leaf) { count += is_array(leaf) ? 1 : 0; });
  }

  std::shared_ptr<const Entry> record(const Signature& call, const py::args& args,
                                      const py::kwargs& keywords) {
    std::vector<mx::array> inputs;
    for (const mx::array& each : call.arrays) {
      inputs.push_back(mx::Trace::placeholder(each.dtype(), each.shape()));
    }
    auto next = inputs.begin();
    const auto replaced = [&](PyObject* leaf) {
      if (!is_array(leaf)) return py::reinterpret_borrow<py::object>(leaf);
      return py::reinterpret_steal<py::object>(give(*next++));
    };
    const py::object traced_args = map_leaves(args.ptr(), replaced);
    const py::object traced_keywords = map_leaves(keywords.ptr(), replaced);
    // Restores the state when the function has been recorded or has failed.
    const State inputs_before(inputs_), outputs_before(outputs_);
    if (!inputs_.is_none()) {
      replace_arrays(inputs_.ptr(), [&](const mx::array&) { return *next++; });
    }
    const py::object given = call_function(traced_args, traced_keywords);

    auto entry = std::make_shared<Entry>();
    std::vector<mx::array> outputs;
    if (!outputs_.is_none()) collect_arrays(outputs_.ptr(), outputs);
    entry->num_outputs = outputs.size();
    entry->result = map_leaves(given.ptr(), [&](PyObject* leaf) {
      if (!is_array(leaf)) return py::reinterpret_borrow<py::object>(leaf);
      outputs.push_back(value_of(leaf));
      return py::reinterpret_borrow<py::object>(placeholder());
    });
    run_call(nullptr, [&] { entry->trace.emplace(inputs, outputs); });
    // Sizes may grow with every call, so the number of entries is limited.
    if (entries_.size() >= kMostEntries) entries_.clear();
    return entries_[call.text] = std::move(entry);
  }

  py::object call_function(const py::object& args, const py::object& keywords) const {
    PyObject* const result = PyObject_Call(function_.ptr(), args.ptr(), keywords.ptr());
    if (result == nullptr) throw py::error_already_set();
    return py::reinterpret_steal<py::object>(result);
  }

  // Saves the arrays of a tree and restores them in its destructor.
  class State {
   public:
    explicit State(const py::object& tree) : tree_(tree) {
      if (!tree_.is_none()) collect_arrays(tree_.ptr(), arrays_);
    }
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State() {
      if (tree_.is_none()) return;
      const py::error_scope error;
      size_t i = 0;
      guarded_status([&] {
        replace_arrays(tree_.ptr(), [&](const mx::array& now) {
          return i < arrays_.size() ? arrays_[i++] : now;
        });
      });
    }

   private:
    py::object tree_;
    std::vector<mx::array> arrays_;
  };

  py::object function_, inputs_, outputs_;
  std::unordered_map<std::string, std::shared_ptr<const Entry>> entries_;
};

}  // namespace

PyObject* compile(const Args& args) {
  const auto tree = [&](size_t i) {
    return args.has(i) ? py::reinterpret_borrow<py::object>(args.raw(i)) : py::object(py::none());
  };
  const py::object function = tree(0);
  if (PyCallable_Check(function.ptr()) == 0) args.refuse(0, "a function");
  const py::object made = py::cast(Compiled(function, tree(1), tree(2)));
  return py::module_::import("functools").attr("update_wrapper")(made, function).release().ptr();
}

void bind_compiled(py::module_& module) {
  py::class_<Compiled>(module, "_Compiled", "A function that is recorded once and run again.",
                       py::dynamic_attr())
      .def("__call__", &Compiled::operator());
}

}  // namespace pippin::python::core
