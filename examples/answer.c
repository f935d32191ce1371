// Answers a message as it is written, token by token; Ctrl-C ends the answer.
//
//   answer MESSAGE [MODEL]     a package, a folder, org/name on the Hub; without it the demo model
#include <pippin.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pippin_cancel* cancel;

static void stop_answer(int number) {
  (void)number;
  pippin_cancel_trigger(cancel);
}

static pippin_error* error;

// Whether a call whose last argument is &error worked; what it said else goes to stderr.
static int worked(pippin_code code) {
  if (code != PIPPIN_OK) fprintf(stderr, "%s\n", pippin_error_message(error));
  pippin_error_free(error);
  error = NULL;
  return code == PIPPIN_OK;
}

static int32_t show(void* user, const pippin_token* token) {
  (void)user;
  fwrite(token->text, 1, (size_t)token->bytes, stdout);
  return fflush(stdout) == 0;
}

// The conversation as JSON, for the caller to free(); NULL without memory.
static char* conversation_of(const char* message) {
  static const char begin[] = "[{\"role\": \"user\", \"content\": \"", end[] = "\"}]";
  char* json = malloc(sizeof begin + 6 * strlen(message) + sizeof end);
  if (json == NULL) return NULL;
  char* to = json + sprintf(json, "%s", begin);
  for (const unsigned char* at = (const unsigned char*)message; *at != 0; ++at) {
    if (*at < 0x20 || *at == '"' || *at == '\\') {
      to += sprintf(to, "\\u%04x", (unsigned)*at);
    } else {
      *to++ = (char)*at;
    }
  }
  strcpy(to, end);
  return json;
}

static int answer(const pippin_language_model* model, const char* message) {
  pippin_session* session = NULL;
  pippin_options* options = NULL;
  pippin_completion* completion = NULL;
  char* prompt = NULL;
  int32_t* ids = NULL;
  int64_t count = 0;
  char* json = conversation_of(message);
  const int done =
      worked(pippin_session_open(model, &session, &error)) &&
      worked(pippin_options_new(&options, &error)) &&
      worked(pippin_options_set(options, "max_tokens", "256", &error)) &&
      worked(pippin_language_model_render(model, json, &prompt, NULL, &error)) &&
      worked(pippin_language_model_encode(model, prompt, -1, 0, &ids, &count, &error)) &&
      worked(
          pippin_generate(session, ids, count, options, show, NULL, cancel, &completion, &error));
  if (done) {
    double speed = 0;
    pippin_completion_number(completion, "tokens_per_second", &speed);
    printf("\n");
    fprintf(stderr, "[%.1f tokens per second]\n", speed);
  }
  free(json);
  pippin_free(prompt);
  pippin_free(ids);
  pippin_completion_free(completion);
  pippin_options_free(options);
  pippin_session_free(session);
  return done;
}

int main(int argc, char** argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: %s MESSAGE [MODEL]\n", argv[0]);
    return 2;
  }
  pippin_language_model* model = NULL;
  if (!worked(pippin_cancel_new(&cancel, &error))) return 1;
  signal(SIGINT, stop_answer);
  const char* name = argc > 2 ? argv[2] : "demo";
  const int done = worked(pippin_language_model_load(name, NULL, cancel, &model, &error)) &&
                   answer(model, argv[1]);
  pippin_language_model_free(model);
  signal(SIGINT, SIG_DFL);
  pippin_cancel_free(cancel);
  return done ? 0 : 1;
}
