// Runs a model's default function once, on zeros, and prints its inputs and outputs.
#include <pippin.h>
#include <stdio.h>

// Ends the program with an error: one line with the problem, its place and the expected value.
static int fail(pippin_error* error) {
  fprintf(stderr, "%s\n", pippin_error_message(error));
  pippin_error_free(error);
  return 1;
}

static int predict(const pippin_function* function, pippin_call* call) {
  pippin_error* error;
  pippin_tensor* tensor;
  for (int64_t i = 0; i < pippin_function_feature_count(function, PIPPIN_INPUT); ++i) {
    const pippin_feature* input = pippin_function_feature(function, PIPPIN_INPUT, i);
    printf("%s: %s\n", pippin_feature_name(input), pippin_feature_text(input));
    if (pippin_tensor_new(pippin_feature_type(input), pippin_feature_rank(input),
                          pippin_feature_shape(input), &tensor, &error) != PIPPIN_OK) {
      return fail(error);
    }
    pippin_code code = pippin_call_set_input(call, pippin_feature_name(input), tensor, &error);
    pippin_tensor_free(tensor);
    if (code != PIPPIN_OK) return fail(error);
  }

  if (pippin_call_run(call, NULL, &error) != PIPPIN_OK) return fail(error);

  for (int64_t i = 0; i < pippin_function_feature_count(function, PIPPIN_OUTPUT); ++i) {
    const char* name = pippin_feature_name(pippin_function_feature(function, PIPPIN_OUTPUT, i));
    pippin_tensor *output, *floats;
    if (pippin_call_output(call, name, &output, &error) != PIPPIN_OK) return fail(error);
    pippin_code code = pippin_tensor_convert(output, PIPPIN_FLOAT32, &floats, &error);
    pippin_tensor_free(output);
    if (code != PIPPIN_OK) return fail(error);
    const float* values = pippin_tensor_const_data(floats);
    printf("%s:", name);
    for (int64_t k = 0; k < pippin_tensor_size(floats); ++k) printf(" %g", values[k]);
    printf("\n");
    pippin_tensor_free(floats);
  }
  return 0;
}

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s MODEL\n", argv[0]);
    return 2;
  }
  pippin_error* error;
  pippin_model* model;
  if (pippin_model_load(argv[1], NULL, &model, &error) != PIPPIN_OK) return fail(error);
  pippin_function* function = NULL;
  pippin_call* call = NULL;
  int status;
  if (pippin_function_open(model, NULL, &function, &error) != PIPPIN_OK ||
      pippin_call_new(function, &call, &error) != PIPPIN_OK) {
    status = fail(error);
  } else {
    status = predict(function, call);
  }
  pippin_call_free(call);
  pippin_function_free(function);
  pippin_model_free(model);
  return status;
}
