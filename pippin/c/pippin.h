// Pippin's interface for C, and for languages that call C: Core ML models with named tensors, and
// language models.
//
//   pippin_model* model;
//   pippin_error* error;
//   if (pippin_model_load("X.mlpackage", NULL, &model, &error) != PIPPIN_OK) {
//     fprintf(stderr, "%s\n", pippin_error_message(error));
//     pippin_error_free(error);
//   }
//
// Rules for all functions:
//
// Objects. An object returned through an argument `T** t` belongs to the caller, who frees it with
// pippin_T_free(); after an error *t is NULL. An object keeps the objects that it needs alive, so
// they may be freed in any order. NULL may be freed. A returned pointer is borrowed: it is valid as
// long as the object that it came from, or as its comment says.
//
// Errors. A function that can fail returns a pippin_code: PIPPIN_OK or an error code. `error`, the
// last argument, may be NULL; otherwise *error is set to NULL or to an error that the caller frees.
// NULL in place of a required object, name or memory is PIPPIN_ERROR_INVALID_ARGUMENT, naming the
// argument. Functions that cannot fail return 0 or NULL for NULL and for absent things. The library
// never prints anything or ends the process.
//
// Threads. Models, functions, options that are no longer changed, and errors may be used by any
// number of threads; a state, a call, a session, a sampler and a tensor's elements by one at a
// time. Callbacks run on the thread of the call.
//
// Texts are UTF-8 and end with a zero byte; sizes are int64_t and count elements, or bytes where
// stated.
//
// Within libpippin.so.0 the interface only grows: symbols have versions, and numbers keep their
// meaning.
#ifndef PIPPIN_H
#define PIPPIN_H

#include <stddef.h>
#include <stdint.h>

// Marks functions that the shared library exports.
#define PIPPIN_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

// An error of a call: a code and a line of text.
typedef struct pippin_error pippin_error;
typedef struct pippin_cancel pippin_cancel;      // a switch that cancels calls from outside
typedef struct pippin_options pippin_options;    // options by name
typedef struct pippin_model pippin_model;        // a loaded model
typedef struct pippin_function pippin_function;  // a function of a model, ready to predict
// The declaration of an input, an output or a state; borrowed, never freed.
typedef struct pippin_feature pippin_feature;
typedef struct pippin_tensor pippin_tensor;  // an array of numbers or texts
typedef struct pippin_state pippin_state;    // a model's memory between predictions
typedef struct pippin_call pippin_call;      // a repeated prediction
// A loaded language model with its tokenizer.
typedef struct pippin_language_model pippin_language_model;
typedef struct pippin_session pippin_session;        // a sequence of tokens in a language model
typedef struct pippin_sampler pippin_sampler;        // chooses tokens
typedef struct pippin_completion pippin_completion;  // a generated text
// A loaded model that writes the texts of recordings.
typedef struct pippin_transcriber pippin_transcriber;
typedef struct pippin_transcription pippin_transcription;  // the text of a recording

// --- versions ---

// Returns the number in the version of the newest symbols, which increases when the interface
// grows.
PIPPIN_API uint32_t pippin_abi_version(void);
PIPPIN_API const char* pippin_version(void);  // returns the version: "0.1.0"

// --- errors ---

typedef int32_t pippin_code;  // PIPPIN_OK or an error code
// The values of pippin_code.
enum {
  PIPPIN_OK = 0,
  PIPPIN_ERROR_INVALID_FILE = 1,  // a file's contents violate its format
  PIPPIN_ERROR_UNSUPPORTED = 2,   // valid, but Pippin cannot do it
  PIPPIN_ERROR_INVALID_ARGUMENT = 3,
  PIPPIN_ERROR_NOT_FOUND = 4,
  PIPPIN_ERROR_LIMIT_EXCEEDED = 5,  // for example, memory
  PIPPIN_ERROR_IO = 6,
  PIPPIN_ERROR_NETWORK = 7,
  PIPPIN_ERROR_CANCELLED = 8,
  PIPPIN_ERROR_DEVICE = 9,  // an accelerator failed while computing
  PIPPIN_ERROR_INTERNAL = 10
};

// Returns the error's code; PIPPIN_OK for NULL.
PIPPIN_API pippin_code pippin_error_code(const pippin_error* error);
// Returns one line that states the error, the place and the numbers; "" for NULL.
PIPPIN_API const char* pippin_error_message(const pippin_error* error);
PIPPIN_API void pippin_error_free(pippin_error* error);  // frees an error

// --- functions without an object ---

// Frees memory returned as `char**` or `int32_t**`.
PIPPIN_API void pippin_free(void* memory);

// Levels of log lines; OFF: none.
enum { PIPPIN_LOG_DEBUG = 0, PIPPIN_LOG_INFO = 1, PIPPIN_LOG_WARN = 2, PIPPIN_LOG_OFF = 4 };
// Receives one line without its line break, from any thread, one at a time. Must not call Pippin.
typedef void (*pippin_log_function)(void* user, int32_t level, const char* line);
// Sets the receiver of lines of this level and above, for calls of any thread that begin later;
// NULL, the initial value: none. `user` must stay valid during such calls. Errors: INVALID_ARGUMENT
// for another level.
PIPPIN_API pippin_code pippin_set_log(pippin_log_function log, void* user, int32_t level,
                                      pippin_error** error);

// --- cancelling ---

// Makes an object that cancels the calls that it is passed to, from outside, with
// PIPPIN_ERROR_CANCELLED. It must outlive them.
PIPPIN_API pippin_code pippin_cancel_new(pippin_cancel** cancel, pippin_error** error);
// Frees the object; no call may be using it.
PIPPIN_API void pippin_cancel_free(pippin_cancel* cancel);
// Cancels. May be called from any thread and from a signal handler. It stays triggered until it is
// reset.
PIPPIN_API void pippin_cancel_trigger(pippin_cancel* cancel);
PIPPIN_API void pippin_cancel_reset(pippin_cancel* cancel);  // makes it ready for other calls
// Returns 1 if it is triggered, otherwise 0.
PIPPIN_API int32_t pippin_cancel_is_triggered(const pippin_cancel* cancel);

// --- options ---

// Makes an empty list of options by name, as text. It may be passed to any function with options:
// each uses the options that concern it. NULL in place of it means none.
PIPPIN_API pippin_code pippin_options_new(pippin_options** options, pippin_error** error);
PIPPIN_API void pippin_options_free(pippin_options* options);  // frees the options
// Sets an option, replacing an earlier value. Errors: NOT_FOUND for an unknown name,
// INVALID_ARGUMENT for an invalid value.
PIPPIN_API pippin_code pippin_options_set(pippin_options* options, const char* name,
                                          const char* value, pippin_error** error);
PIPPIN_API int64_t pippin_option_count(void);  // returns the number of options that exist
// Returns the name of an option, for index 0 to pippin_option_count() - 1; always valid.
PIPPIN_API const char* pippin_option_name(int64_t index);
// Returns a description of an option and its values, for index 0 to pippin_option_count() - 1;
// always valid.
PIPPIN_API const char* pippin_option_help(int64_t index);

// --- tensors ---

typedef int32_t pippin_type;  // an element type
// The values of pippin_type.
enum {
  PIPPIN_BOOL = 0,  // a byte, 0 or 1
  PIPPIN_INT8 = 1,
  PIPPIN_UINT8 = 2,
  PIPPIN_INT16 = 3,
  PIPPIN_UINT16 = 4,
  PIPPIN_INT32 = 5,
  PIPPIN_UINT32 = 6,
  PIPPIN_INT64 = 7,
  PIPPIN_UINT64 = 8,
  PIPPIN_FLOAT16 = 9,
  PIPPIN_FLOAT32 = 10,
  PIPPIN_FLOAT64 = 11,
  PIPPIN_STRING = 12
};

// Makes a tensor of zeros, row-major without gaps. `shape` has `rank` sizes, at most 64; it may be
// NULL if rank is 0. Errors: INVALID_ARGUMENT for negative sizes and PIPPIN_STRING, LIMIT_EXCEEDED.
PIPPIN_API pippin_code pippin_tensor_new(pippin_type type, int32_t rank, const int64_t* shape,
                                         pippin_tensor** tensor, pippin_error** error);
// Makes a tensor of PIPPIN_STRING: copies as many texts as the shape has elements. Errors:
// INVALID_ARGUMENT, LIMIT_EXCEEDED.
PIPPIN_API pippin_code pippin_tensor_new_strings(int32_t rank, const int64_t* shape,
                                                 const char* const* strings, pippin_tensor** tensor,
                                                 pippin_error** error);
// Wraps the caller's memory, of any alignment, without copying. `data` is the first element;
// `strides`, which may be NULL without gaps, are the bytes from one element to the next
// along each axis and may be negative or 0. The memory must stay valid until `release`, which may
// be NULL, is called with `user`: once, by the thread that frees the last object using it. It is
// not called after an error. Errors: INVALID_ARGUMENT for strings and for NULL with elements,
// LIMIT_EXCEEDED if an address overflows.
PIPPIN_API pippin_code pippin_tensor_wrap(pippin_type type, int32_t rank, const int64_t* shape,
                                          const int64_t* strides, void* data,
                                          void (*release)(void* user), void* user,
                                          pippin_tensor** tensor, pippin_error** error);
// As pippin_tensor_wrap(), for read-only memory.
PIPPIN_API pippin_code pippin_tensor_wrap_const(pippin_type type, int32_t rank,
                                                const int64_t* shape, const int64_t* strides,
                                                const void* data, void (*release)(void* user),
                                                void* user, pippin_tensor** tensor,
                                                pippin_error** error);
// Makes a new tensor with the elements in another type, row-major without gaps. Floats are rounded
// to narrower ones. Errors: INVALID_ARGUMENT for any other conversion that is not exact, and for
// strings.
PIPPIN_API pippin_code pippin_tensor_convert(const pippin_tensor* tensor, pippin_type type,
                                             pippin_tensor** converted, pippin_error** error);
// Exchange memory with other libraries through DLPack's structure of this name (not the versioned
// one), in main memory. An imported tensor's deleter is called when the last object using it is
// freed, and not after an error; an exported one must be released by its deleter, from any thread.
// UNSUPPORTED: other devices and types, strings, const memory, strides that are not multiples of
// the element size.
struct DLManagedTensor;
// Imports memory of another library through DLPack's structure of this name (not the versioned
// one), in main memory. Its deleter is called when the last object using it is freed, and not after
// an error. Errors: UNSUPPORTED for other devices and types.
PIPPIN_API pippin_code pippin_tensor_from_dlpack(struct DLManagedTensor* managed,
                                                 pippin_tensor** tensor, pippin_error** error);
// Exports a tensor through DLPack. The result must be released by its deleter, from any thread.
// Errors: UNSUPPORTED for strings, const memory, and strides that are not multiples of the element
// size.
PIPPIN_API pippin_code pippin_tensor_to_dlpack(const pippin_tensor* tensor,
                                               struct DLManagedTensor** managed,
                                               pippin_error** error);
// Frees a tensor. Memory used by calls stays valid until they are freed too.
PIPPIN_API void pippin_tensor_free(pippin_tensor* tensor);

// Returns the element type; -1 for NULL.
PIPPIN_API pippin_type pippin_tensor_type(const pippin_tensor* tensor);
// Returns the number of axes.
PIPPIN_API int32_t pippin_tensor_rank(const pippin_tensor* tensor);
// Returns the sizes of the axes.
PIPPIN_API const int64_t* pippin_tensor_shape(const pippin_tensor* tensor);
// Returns the bytes from one element to the next along each axis.
PIPPIN_API const int64_t* pippin_tensor_strides(const pippin_tensor* tensor);
// Returns the number of elements.
PIPPIN_API int64_t pippin_tensor_size(const pippin_tensor* tensor);
// Returns the first element, for reading and writing; NULL for strings and const memory.
PIPPIN_API void* pippin_tensor_data(pippin_tensor* tensor);
// Returns the first element, for reading; NULL for strings.
PIPPIN_API const void* pippin_tensor_const_data(const pippin_tensor* tensor);
// Returns an element of a tensor of PIPPIN_STRING, counted in row-major order; NULL for other
// types.
PIPPIN_API const char* pippin_tensor_string(const pippin_tensor* tensor, int64_t index);

// --- features: inputs, outputs and states, as declared by a model ---

// The kinds of features.
enum {
  PIPPIN_KIND_MULTI_ARRAY = 0,
  PIPPIN_KIND_IMAGE = 1,       // a tensor [1, 3, height, width], or of one channel: 0 to 255
  PIPPIN_KIND_INT64 = 2,       // a tensor [1]
  PIPPIN_KIND_DOUBLE = 3,      // a tensor [1]
  PIPPIN_KIND_STRING = 4,      // a tensor [1]
  PIPPIN_KIND_DICTIONARY = 5,  // names or numbers with values; an input only in rows of JSON
  PIPPIN_KIND_SEQUENCE = 6,    // not supported as a value
  PIPPIN_KIND_STATE = 7
};

PIPPIN_API const char* pippin_feature_name(const pippin_feature* feature);  // returns the name
// Returns the author's description; may be "".
PIPPIN_API const char* pippin_feature_description(const pippin_feature* feature);
// Returns "float32 [1, 1..128]", as in error messages.
PIPPIN_API const char* pippin_feature_text(const pippin_feature* feature);
// Returns a PIPPIN_KIND; -1 for NULL.
PIPPIN_API int32_t pippin_feature_kind(const pippin_feature* feature);
// Returns the element type; -1 for NULL.
PIPPIN_API pippin_type pippin_feature_type(const pippin_feature* feature);
// Returns the number of axes of the default shape; 0 if none is declared, as for outputs whose
// shape depends on the input.
PIPPIN_API int32_t pippin_feature_rank(const pippin_feature* feature);
// Returns the sizes of the default shape.
PIPPIN_API const int64_t* pippin_feature_shape(const pippin_feature* feature);
// Sets the sizes allowed for an axis; `*upper` below 0: unlimited. Returns 0 and sets nothing if no
// range is declared; the arguments may be NULL.
PIPPIN_API int32_t pippin_feature_range(const pippin_feature* feature, int32_t axis, int64_t* lower,
                                        int64_t* upper);
// Returns the number of shapes that are allowed, if only some are; 0 otherwise.
PIPPIN_API int64_t pippin_feature_shape_count(const pippin_feature* feature);
// Returns one of the allowed shapes and sets its rank; NULL for an index out of range.
PIPPIN_API const int64_t* pippin_feature_enumerated_shape(const pippin_feature* feature,
                                                          int64_t index, int32_t* rank);
// Returns 1 for an input that may be omitted, otherwise 0.
PIPPIN_API int32_t pippin_feature_is_optional(const pippin_feature* feature);
// Returns the value of an omitted input, in the default shape.
PIPPIN_API double pippin_feature_default_value(const pippin_feature* feature);

// --- models ---

// Loads an .mlpackage, .mlmodelc or .mlmodel: an ML Program, or a pipeline of them. Errors:
// NOT_FOUND, INVALID_FILE, IO, UNSUPPORTED for any other kind of model.
PIPPIN_API pippin_code pippin_model_load(const char* path, const pippin_options* options,
                                         pippin_model** model, pippin_error** error);
PIPPIN_API void pippin_model_free(pippin_model* model);  // frees a model
// Returns the number of functions.
PIPPIN_API int64_t pippin_model_function_count(const pippin_model* model);
// Returns the name of a function; NULL for an index out of range.
PIPPIN_API const char* pippin_model_function_name(const pippin_model* model, int64_t index);
// Returns the name of the default function.
PIPPIN_API const char* pippin_model_default_function(const pippin_model* model);
// Returns the text of "author", "license", "version", "short_description", or a key of the model's
// own; NULL if absent.
PIPPIN_API const char* pippin_model_metadata(const pippin_model* model, const char* key);
// Returns the number of texts that the model has.
PIPPIN_API int64_t pippin_model_metadata_count(const pippin_model* model);
// Returns the key of a text; NULL for an index out of range.
PIPPIN_API const char* pippin_model_metadata_key(const pippin_model* model, int64_t index);

// Prepares a function to run, which takes time: keep it. `name` NULL: the default function. Errors:
// NOT_FOUND; UNSUPPORTED for an operation, with its name and opset; INVALID_FILE.
PIPPIN_API pippin_code pippin_function_open(const pippin_model* model, const char* name,
                                            pippin_function** function, pippin_error** error);
PIPPIN_API void pippin_function_free(pippin_function* function);  // frees a function
// Returns the name.
PIPPIN_API const char* pippin_function_name(const pippin_function* function);
// The roles of features.
enum { PIPPIN_INPUT = 0, PIPPIN_OUTPUT = 1, PIPPIN_STATE = 2 };
// Returns the number of features of a role.
PIPPIN_API int64_t pippin_function_feature_count(const pippin_function* function, int32_t role);
// Returns a feature; NULL for an index out of range.
PIPPIN_API const pippin_feature* pippin_function_feature(const pippin_function* function,
                                                         int32_t role, int64_t index);
// Returns the name of a classifier's output for the label; "" for other models.
PIPPIN_API const char* pippin_function_label_name(const pippin_function* function);
// Returns the name of a classifier's output for probabilities; "" for other models.
PIPPIN_API const char* pippin_function_probabilities_name(const pippin_function* function);
// Predicts from rows of JSON: an object from names of inputs to values, which are numbers, texts,
// nested lists for arrays and pictures ([height][width][3], or [height][width] of gray), and
// objects for dictionaries, or a list of such objects. NaN and Infinity are numbers; null is a
// missing value. Sets `*results` to the outputs in the same form, an object or a list of them, on
// one line each; the caller frees it with pippin_free(). `cancel` may be NULL. Errors: INVALID_FILE
// for text that is not JSON or has values of other types, INVALID_ARGUMENT for inputs that are
// unknown, missing or not as declared; both name the row. LIMIT_EXCEEDED, CANCELLED, DEVICE.
PIPPIN_API pippin_code pippin_function_predict_rows(const pippin_function* function,
                                                    const char* rows, const pippin_cancel* cancel,
                                                    char** results, pippin_error** error);
// Describes how the last prediction was computed; the caller frees it with pippin_free(). Empty
// without the option "trace". Waits for a prediction that is running.
PIPPIN_API pippin_code pippin_function_describe(const pippin_function* function, char** text,
                                                pippin_error** error);

// --- states: a model's memory between predictions, initially zeros ---

// Makes a state for this function, and for others of the model that declare no further states.
PIPPIN_API pippin_code pippin_state_new(const pippin_function* function, pippin_state** state,
                                        pippin_error** error);
// Makes a state for all functions; states of the same name are shared. Errors: UNSUPPORTED if two
// of them differ.
PIPPIN_API pippin_code pippin_state_new_for_model(const pippin_model* model, pippin_state** state,
                                                  pippin_error** error);
// Makes a copy with the same contents.
PIPPIN_API pippin_code pippin_state_clone(const pippin_state* state, pippin_state** clone,
                                          pippin_error** error);
PIPPIN_API void pippin_state_free(pippin_state* state);  // frees a state
// Returns the number of arrays.
PIPPIN_API int64_t pippin_state_feature_count(const pippin_state* state);
// Returns the declaration of an array; NULL for an index out of range.
PIPPIN_API const pippin_feature* pippin_state_feature(const pippin_state* state, int64_t index);
// Sets all arrays to zeros.
PIPPIN_API pippin_code pippin_state_reset(pippin_state* state, pippin_error** error);
// Copies all elements of an array out, row-major without gaps, in its declared type. `bytes` must
// be their exact size. Errors: NOT_FOUND, INVALID_ARGUMENT for another size.
PIPPIN_API pippin_code pippin_state_read(const pippin_state* state, const char* name, void* data,
                                         int64_t bytes, pippin_error** error);
// Copies all elements of an array in, row-major without gaps, in its declared type. `bytes` must be
// their exact size. Errors: NOT_FOUND, INVALID_ARGUMENT for another size.
PIPPIN_API pippin_code pippin_state_write(pippin_state* state, const char* name, const void* data,
                                          int64_t bytes, pippin_error** error);
// Writes all arrays to an .npz file, completely or not at all. Errors: IO.
PIPPIN_API pippin_code pippin_state_save(const pippin_state* state, const char* path,
                                         pippin_error** error);
// Reads all arrays from an .npz file. Errors: NOT_FOUND, IO, INVALID_FILE, or INVALID_ARGUMENT if
// names, shapes or values do not fit; nothing is changed then.
PIPPIN_API pippin_code pippin_state_load(pippin_state* state, const char* path,
                                         pippin_error** error);

// --- calls: repeated predictions ---

// Makes a call of a function. It keeps its inputs, outputs and state; set those that change and run
// it again.
PIPPIN_API pippin_code pippin_call_new(const pippin_function* function, pippin_call** call,
                                       pippin_error** error);
PIPPIN_API void pippin_call_free(pippin_call* call);  // frees a call
// Sets an input. Each run reads the current contents of the tensor's memory. The tensor is checked
// against the declaration when the call runs.
PIPPIN_API pippin_code pippin_call_set_input(pippin_call* call, const char* name,
                                             const pippin_tensor* tensor, pippin_error** error);
// Sets the tensor that runs write an output to; it must have the declared type and the shape of the
// result. Once one is set, outputs that are not set are dropped. If all are set and the function
// can be planned, runs allocate nothing from the second one on.
PIPPIN_API pippin_code pippin_call_set_output(pippin_call* call, const char* name,
                                              pippin_tensor* tensor, pippin_error** error);
// Sets the state that runs read and write. NULL, the initial value: each run starts with zeros.
PIPPIN_API pippin_code pippin_call_set_state(pippin_call* call, pippin_state* state,
                                             pippin_error** error);
// Removes inputs, outputs and state.
PIPPIN_API pippin_code pippin_call_clear(pippin_call* call, pippin_error** error);
// Predicts. Predictions of one model wait for each other. `cancel` may be NULL. Errors before
// running: INVALID_ARGUMENT for inputs that are unknown, missing or not as declared, for outputs
// and states that do not fit, and for a call that another thread is using. During the run:
// LIMIT_EXCEEDED, CANCELLED, INVALID_FILE if an operation rejects its data, DEVICE; outputs are
// then unchanged, and the state's contents undefined.
PIPPIN_API pippin_code pippin_call_run(pippin_call* call, const pippin_cancel* cancel,
                                       pippin_error** error);
// Returns the result of the last run, or the tensor that was set; of a dictionary, its values. It
// keeps its elements when the call runs again, unless it was set. Errors: NOT_FOUND if the name is
// not an output or was dropped.
PIPPIN_API pippin_code pippin_call_output(const pippin_call* call, const char* name,
                                          pippin_tensor** tensor, pippin_error** error);
// Returns the keys of a dictionary, as pippin_call_output(). Errors: also INVALID_ARGUMENT if the
// output is not a dictionary.
PIPPIN_API pippin_code pippin_call_output_keys(const pippin_call* call, const char* name,
                                               pippin_tensor** tensor, pippin_error** error);

// --- language models ---

// Loads a package, a folder of packages, a Hugging Face folder, org/name on the Hub (from the cache
// or downloaded into it), or "demo", the model inside Pippin. `cancel` may be NULL. Errors:
// NOT_FOUND, INVALID_FILE, NETWORK, UNSUPPORTED for a model that is not a language model.
PIPPIN_API pippin_code pippin_language_model_load(const char* model, const pippin_options* options,
                                                  const pippin_cancel* cancel,
                                                  pippin_language_model** loaded,
                                                  pippin_error** error);
// Frees a language model.
PIPPIN_API void pippin_language_model_free(pippin_language_model* model);
// Returns the maximum number of tokens in a session.
PIPPIN_API int64_t pippin_language_model_context(const pippin_language_model* model);
// Returns the number of tokens in the vocabulary, and of logits.
PIPPIN_API int64_t pippin_language_model_vocab_size(const pippin_language_model* model);
// Returns 1 if pippin_language_model_render() works, otherwise 0.
PIPPIN_API int32_t pippin_language_model_has_chat_template(const pippin_language_model* model);
// Returns 1 if the token ends a text or an answer, otherwise 0.
PIPPIN_API int32_t pippin_language_model_is_end(const pippin_language_model* model, int32_t id);

// The caller frees the results of the following functions with pippin_free(); *count and *bytes,
// which may be NULL, are their sizes. `bytes` of an input text: -1 if it ends with a zero byte.
//
// The tokens of a text; `add_special` not 0: including those that begin or end it.
PIPPIN_API pippin_code pippin_language_model_encode(const pippin_language_model* model,
                                                    const char* text, int64_t bytes,
                                                    int32_t add_special, int32_t** ids,
                                                    int64_t* count, pippin_error** error);
// The text of tokens; skips ids that are not in the vocabulary and, with `skip_special` not 0,
// special ones. A zero byte follows it.
PIPPIN_API pippin_code pippin_language_model_decode(const pippin_language_model* model,
                                                    const int32_t* ids, int64_t count,
                                                    int32_t skip_special, char** text,
                                                    int64_t* bytes, pippin_error** error);
// The text that the model's chat template makes of a conversation in JSON: a list of messages
// ({"role": ..., "content": ...}) or an object with "messages" and other values that the template
// uses ("tools", "add_generation_prompt" ...). It ends where the answer begins; its tokens are
// those of pippin_language_model_encode() without special ones. Errors: INVALID_FILE for invalid
// JSON, INVALID_ARGUMENT without a template or if the template rejects the conversation.
PIPPIN_API pippin_code pippin_language_model_render(const pippin_language_model* model,
                                                    const char* conversation, char** text,
                                                    int64_t* bytes, pippin_error** error);

// Returns 1 if pippin_session_prompt() takes images, otherwise 0.
PIPPIN_API int32_t pippin_language_model_takes_images(const pippin_language_model* model);

// --- sessions: a sequence of tokens and the model's state for it ---

// Makes an empty session. Errors: LIMIT_EXCEEDED, UNSUPPORTED for a second session of a model that
// can have only one.
PIPPIN_API pippin_code pippin_session_open(const pippin_language_model* model,
                                           pippin_session** session, pippin_error** error);
PIPPIN_API void pippin_session_free(pippin_session* session);  // frees a session
// Returns the number of tokens.
PIPPIN_API int64_t pippin_session_position(const pippin_session* session);
// Returns the tokens; the caller frees them with pippin_free(), and `count` may be NULL.
PIPPIN_API pippin_code pippin_session_tokens(pippin_session* session, int32_t** ids, int64_t* count,
                                             pippin_error** error);
// Appends tokens. `cancel` may be NULL. Errors: INVALID_ARGUMENT for ids that are not in the
// vocabulary, LIMIT_EXCEEDED beyond the context, CANCELLED between pieces of many tokens: earlier
// pieces stay, see pippin_session_position().
PIPPIN_API pippin_code pippin_session_feed(pippin_session* session, const int32_t* ids,
                                           int64_t count, const pippin_cancel* cancel,
                                           pippin_error** error);
// An image file: PNG, JPEG, WebP, GIF, BMP ...
typedef struct pippin_image {
  uint32_t size;     // sizeof(pippin_image) in the program
  const char* path;  // of the file; NULL: its content is `data`
  const void* data;  // the content; NULL if there is a path
  int64_t bytes;     // of `data`
} pippin_image;

// Prepares a session for the answer to a conversation, in JSON as for
// pippin_language_model_render(), with images: a message's content may be a list of parts,
// {"type": "text", "text": ...} and {"type": "image"}; each image is the next of `image_count`
// images. The session keeps the longest common prefix of its tokens and the conversation's, as far
// as the model can go back. *ids, which the caller frees with pippin_free(), are the others, at
// least one: they have to be fed next, by pippin_session_feed() or pippin_generate(). Rows of
// images have negative ids. `count`, which may be NULL, is set to their number; `cancel` may be
// NULL. Errors: as pippin_language_model_render(); INVALID_ARGUMENT for another number of images
// and for parts of other types; UNSUPPORTED if the model takes text only or an image's format is
// not supported; NOT_FOUND, IO; INVALID_FILE for a damaged image; LIMIT_EXCEEDED for more rows than
// the context holds. The session is unchanged then.
PIPPIN_API pippin_code pippin_session_prompt(pippin_session* session, const char* conversation,
                                             const pippin_image* images, int64_t image_count,
                                             const pippin_cancel* cancel, int32_t** ids,
                                             int64_t* count, pippin_error** error);
// The logits after the last token that was fed, one number per token of the vocabulary, valid until
// the next call; NULL before the first and after pippin_session_next().
PIPPIN_API const float* pippin_session_logits(const pippin_session* session, int64_t* count);
// Chooses the next token and appends it. It is computed when the following one is requested.
// `sampler` NULL: always the most likely one. End tokens do not stop it: see
// pippin_language_model_is_end().
PIPPIN_API pippin_code pippin_session_next(pippin_session* session, pippin_sampler* sampler,
                                           const pippin_cancel* cancel, int32_t* id,
                                           pippin_error** error);
// The text that a token adds to those passed since the last pippin_session_feed(), valid until the
// next call: whole characters, often "". `id` -1: the text held back.
PIPPIN_API pippin_code pippin_session_text(pippin_session* session, int32_t id, const char** text,
                                           int64_t* bytes, pippin_error** error);
// Removes all tokens.
PIPPIN_API pippin_code pippin_session_reset(pippin_session* session, pippin_error** error);
// Keeps the first `count` tokens; feed another one before choosing the next. INVALID_ARGUMENT for
// more than there are, UNSUPPORTED if the model cannot go back that far.
PIPPIN_API pippin_code pippin_session_truncate(pippin_session* session, int64_t count,
                                               pippin_error** error);
// A second session with the same tokens, for two continuations.
PIPPIN_API pippin_code pippin_session_fork(pippin_session* session, pippin_session** fork,
                                           pippin_error** error);
// Writes the tokens and the computed state to a file. Errors: UNSUPPORTED if the model cannot, IO.
PIPPIN_API pippin_code pippin_session_save(pippin_session* session, const char* path,
                                           pippin_error** error);
// Reads the tokens and the computed state from a file; feed another token before choosing the next.
// Errors: NOT_FOUND, INVALID_FILE for a damaged file, UNSUPPORTED for another version,
// INVALID_ARGUMENT for one of another model or context; nothing is changed then.
PIPPIN_API pippin_code pippin_session_restore(pippin_session* session, const char* path,
                                              pippin_error** error);

// Makes an object that chooses tokens for one session, by the sampling options and otherwise the
// model's own settings. It has its own random numbers: the same seed gives the same tokens. Errors:
// INVALID_ARGUMENT for an option out of range.
PIPPIN_API pippin_code pippin_sampler_new(const pippin_language_model* model,
                                          const pippin_options* options, pippin_sampler** sampler,
                                          pippin_error** error);
PIPPIN_API void pippin_sampler_free(pippin_sampler* sampler);  // frees a sampler

// --- texts ---

// A token of a generated text. `size` is sizeof(pippin_token) in the library: later versions append
// members.
typedef struct pippin_token {
  uint32_t size;     // sizeof(pippin_token) in the library
  int32_t id;        // -1 at the end, with the text held back
  const char* text;  // the text it adds: whole characters, often ""; valid during the callback
  int64_t bytes;     // of the text
} pippin_token;
// Returning 0 ends the text.
typedef int32_t (*pippin_token_function)(void* user, const pippin_token* token);

// Reasons for the end of a text.
enum {
  PIPPIN_STOP_END_OF_TEXT = 0,
  PIPPIN_STOP_MAX_TOKENS = 1,
  PIPPIN_STOP_CONTEXT_FULL = 2,
  PIPPIN_STOP_STRING = 3,    // a string of the option "stop"
  PIPPIN_STOP_CALLBACK = 4,  // the callback returned 0
  PIPPIN_STOP_CANCELLED = 5
};

// Appends `prompt`, at least one token, and a generated text. `options`, `on_token` and `cancel`
// may be NULL. Cancelling is not an error: the result has the text up to then. Errors:
// LIMIT_EXCEEDED for a prompt that does not fit; INVALID_ARGUMENT for an option out of range.
PIPPIN_API pippin_code pippin_generate(pippin_session* session, const int32_t* prompt,
                                       int64_t count, const pippin_options* options,
                                       pippin_token_function on_token, void* user,
                                       const pippin_cancel* cancel, pippin_completion** completion,
                                       pippin_error** error);
PIPPIN_API void pippin_completion_free(pippin_completion* completion);  // frees a completion
// Returns the text; `bytes`, which may be NULL, is set to its size.
PIPPIN_API const char* pippin_completion_text(const pippin_completion* completion, int64_t* bytes);
// Returns the tokens without the one that ended the text; `count`, which may be NULL, is set.
PIPPIN_API const int32_t* pippin_completion_ids(const pippin_completion* completion,
                                                int64_t* count);
// Returns the reason for the end of the text, a PIPPIN_STOP; -1 for NULL.
PIPPIN_API int32_t pippin_completion_reason(const pippin_completion* completion);
// Sets `*number` to a number of this name: "prompt_tokens" (of the whole session), "cached_tokens"
// (of these, those already computed), "prompt_seconds", "first_token_seconds", "generate_seconds",
// "prompt_tokens_per_second", "tokens_per_second". Returns 0 and sets nothing for another name.
PIPPIN_API int32_t pippin_completion_number(const pippin_completion* completion, const char* name,
                                            double* number);

// --- recordings ---

// Opens a model of speech: a folder as on the Hub, a package, or org/name. Of the options, those of
// models and "tokenizer" apply. `cancel` may be NULL. Errors: NOT_FOUND, INVALID_FILE, NETWORK,
// UNSUPPORTED for a model that does not take sound.
PIPPIN_API pippin_code pippin_transcriber_open(const char* model, const pippin_options* options,
                                               const pippin_cancel* cancel,
                                               pippin_transcriber** transcriber,
                                               pippin_error** error);
PIPPIN_API void pippin_transcriber_free(pippin_transcriber* transcriber);  // frees a transcriber
// Returns the rate of the samples that the model takes.
PIPPIN_API int64_t pippin_transcriber_sampling_rate(const pippin_transcriber* transcriber);
// Returns 1 if the option "word_timestamps" is possible, otherwise 0.
PIPPIN_API int32_t pippin_transcriber_finds_words(const pippin_transcriber* transcriber);

// A segment of a recording. `size` is sizeof(pippin_segment) in the library: later versions append
// members.
typedef struct pippin_segment {
  uint32_t size;     // sizeof(pippin_segment) in the library
  int32_t id;        // its number, from 0
  double start;      // in seconds
  double end;        // in seconds
  const char* text;  // with the space before it; valid during the callback, or as its transcription
  int64_t bytes;     // of the text
} pippin_segment;
// Returning 0 cancels the transcription.
typedef int32_t (*pippin_segment_function)(void* user, const pippin_segment* segment);

// Transcribes `count` mono samples from -1 to 1, which are resampled if necessary. `options`,
// `on_segment`, which gets each segment as it is recognized, and `cancel` may be NULL. Recordings
// of several threads take turns. Errors: INVALID_ARGUMENT for an option out of range, or that
// the model does not take, and for samples that are not finite; UNSUPPORTED for words of a model
// that does not find them and for rates out of range; CANCELLED.
PIPPIN_API pippin_code pippin_transcriber_run(const pippin_transcriber* transcriber,
                                              const float* samples, int64_t count,
                                              int64_t sampling_rate, const pippin_options* options,
                                              pippin_segment_function on_segment, void* user,
                                              const pippin_cancel* cancel,
                                              pippin_transcription** transcription,
                                              pippin_error** error);
// Transcribes a file: WAV, FLAC, Ogg, MP3, AIFF, AU or CAF. As pippin_transcriber_run(). Errors:
// also NOT_FOUND, IO, INVALID_FILE, UNSUPPORTED if libsndfile or mpg123 is needed and not
// installed, LIMIT_EXCEEDED for more than 8 hours.
PIPPIN_API pippin_code pippin_transcriber_run_file(const pippin_transcriber* transcriber,
                                                   const char* path, const pippin_options* options,
                                                   pippin_segment_function on_segment, void* user,
                                                   const pippin_cancel* cancel,
                                                   pippin_transcription** transcription,
                                                   pippin_error** error);
// Frees a transcription.
PIPPIN_API void pippin_transcription_free(pippin_transcription* transcription);
// Returns the whole text; `bytes`, which may be NULL, is set to its size.
PIPPIN_API const char* pippin_transcription_text(const pippin_transcription* transcription,
                                                 int64_t* bytes);
// Returns the code of the language, "en"; "" if none was given and there was nothing to decode.
PIPPIN_API const char* pippin_transcription_language(const pippin_transcription* transcription);
// Returns the length of the recording in seconds.
PIPPIN_API double pippin_transcription_duration(const pippin_transcription* transcription);
// Returns the number of segments.
PIPPIN_API int64_t pippin_transcription_segment_count(const pippin_transcription* transcription);
// Returns a segment; NULL for an index out of range.
PIPPIN_API const pippin_segment* pippin_transcription_segment(
    const pippin_transcription* transcription, int64_t index);
// Returns it as a file: "json" (verbose_json of OpenAI's API, with scores, tokens and words),
// "txt", "srt", "vtt", "tsv" or "lrc". The caller frees the text with pippin_free(); `bytes` may be
// NULL. Errors: NOT_FOUND for another format.
PIPPIN_API pippin_code pippin_transcription_write(const pippin_transcription* transcription,
                                                  const char* format, char** text, int64_t* bytes,
                                                  pippin_error** error);

#ifdef __cplusplus
}
#endif

#endif
