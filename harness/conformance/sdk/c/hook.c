// Does what /args/do says, by belay.h. The hooks in Go and Rust do the same; see ../../behaviours.yaml.
#include "belay.h"

static bool wanted(belay_text what, belay_text name) { return belay_eq(what, name); }
#define IF(name) if (wanted(what, BELAY_T(name)))

static void say(int64_t n) {
  belay_buf b = {0};
  belay_put_int(&b, n);
  belay_log(BELAY_LOG_INFO, belay_done(&b));
}

/* Appends the letters whose value is true. */
static void flags(belay_buf *b, const char *letters, int n, const bool *set) {
  for (int i = 0; i < n; i++)
    if (set[i]) belay_put_char(b, letters[i]);
}
#define FLAGS(b, letters, ...) flags(b, letters, (int)(sizeof letters - 1), (const bool[]){__VA_ARGS__})

static void put(belay_buf *b, belay_text t) { belay_put(b, t), belay_put_char(b, '|'); }

static void put_word(belay_buf *b, belay_word w) {
  belay_put(b, w.text), belay_put_char(b, ':');
  FLAGS(b, "kgt", w.known, w.glob, w.tilde);
  for (belay_json_each e = belay_json_in(w.from); belay_json_next(&e);) belay_put(b, e.value);
}

/* For each entry of a list: a blank between two of them. */
#define EACH(b, list) \
  for (belay_json_each e = belay_json_in(list); belay_json_next(&e) && (e.value.p == list.p + 1 || (belay_put_char(b, ' '), true));)

static void put_texts(belay_buf *b, belay_text list) {
  EACH(b, list) belay_put(b, belay_json_text(e.value));
  belay_put_char(b, '|');
}

static void log_command(belay_command c) {
  belay_buf b = {0};
  put(&b, c.name), put(&b, c.raw);
  EACH(&b, c.words) put_word(&b, belay_read_word(e.value));
  belay_put_char(&b, '|');
  EACH(&b, c.assigns) {
    belay_assign a = belay_read_assign(e.value);
    belay_put(&b, a.name), belay_put_char(&b, '='), put_word(&b, a.value);
  }
  belay_put_char(&b, '|');
  EACH(&b, c.redirects) {
    belay_redirect r = belay_read_redirect(e.value);
    belay_put_int(&b, r.fd), belay_put(&b, r.op), put_word(&b, r.target);
  }
  belay_put_char(&b, '|');
  put_texts(&b, c.via), put_texts(&b, c.context);
  if (belay_some(c.stdin_text.text)) put_word(&b, c.stdin_text);
  belay_put_char(&b, '|');
  if (belay_some(c.cwd.text)) belay_put(&b, c.cwd.text), belay_put_char(&b, ':'), FLAGS(&b, "k", c.cwd.known);
  belay_put_char(&b, '|');
  belay_put_int(&b, c.pipe), belay_put_char(&b, '|');
  belay_put_int(&b, c.stdin_from), belay_put_char(&b, '|');
  belay_put_int(&b, c.parent), belay_put_char(&b, '|');
  FLAGS(&b, "frmo", c.function, c.recursive, c.remote, c.args_open);
  belay_log(BELAY_LOG_INFO, belay_done(&b));
}

static void log_shell(belay_text shell) {
  for (belay_json_each e = belay_json_in(belay_json_member(shell, BELAY_T("commands"))); belay_json_next(&e);)
    log_command(belay_read_command(e.value));
  for (belay_json_each e = belay_json_in(belay_json_member(shell, BELAY_T("unknown"))); belay_json_next(&e);) {
    belay_unknown u = belay_read_unknown(e.value);
    belay_buf b = {0};
    put(&b, u.what), put(&b, u.raw), belay_put_int(&b, u.command), belay_put_char(&b, '|'), FLAGS(&b, "p", u.partial);
    belay_log(BELAY_LOG_INFO, belay_done(&b));
  }
  for (belay_json_each e = belay_json_in(belay_json_member(shell, BELAY_T("unknown_programs"))); belay_json_next(&e);) {
    belay_program p = belay_read_program(e.value);
    belay_buf b = {0};
    put(&b, p.language), put(&b, p.text), put(&b, p.file), put(&b, p.raw);
    belay_put_int(&b, p.command), belay_put_char(&b, '|'), FLAGS(&b, "p", p.partial);
    belay_log(BELAY_LOG_INFO, belay_done(&b));
  }
}

BELAY_PHASE(pre_tool) {
  belay_text what = belay_input_text(BELAY_T("/args/do"));
  IF("block") belay_block(BELAY_T("no"));
  IF("fail") {
    belay_block(BELAY_T("dropped"));
    return belay_fail(BELAY_T("on purpose"));
  }
  IF("ask") belay_ask(BELAY_T("why \"now\"?"), 60);
  IF("rewrite") {
    belay_rewrite_text(BELAY_T("/args/a"), BELAY_T("x\n"));
    belay_rewrite_json(BELAY_T("/args/b"), BELAY_T("[1]"));
    belay_remove(BELAY_T("/args/c"));
  }
  IF("redact") belay_redact(BELAY_T("/args/a"), BELAY_T("label"));
  IF("annotate") belay_annotate_text(BELAY_T("k"), BELAY_T("v\n"));
  IF("context") belay_add_context(BELAY_T("text"));
  IF("clamp") belay_clamp_json(BELAY_T("{\"fs_read\":[\"/w/**\"],\"net\":[]}"));
  IF("read") belay_log(BELAY_LOG_INFO, belay_input_text(BELAY_T("/args/s")));
  IF("long") say(belay_input_text(BELAY_T("/args/s")).n);
  IF("absent") {
    if (!belay_some(belay_input_get(BELAY_T("/args/none")))) belay_log(BELAY_LOG_INFO, BELAY_T("absent"));
  }
  IF("config") belay_log(BELAY_LOG_INFO, belay_config_text(BELAY_T("/t")));
  IF("state") {
    belay_log(BELAY_LOG_INFO, belay_state(BELAY_T("k")));
    belay_state_put(BELAY_T("k"), BELAY_T("new"));
  }
  IF("time") say(belay_time_now());
  IF("random") {
    unsigned char b[2];
    belay_v1_random((char *)b, 2);
    say(b[0]);
    say(b[1]);
  }
  IF("call") {
    belay_answer a = belay_request_tool_call(BELAY_T("{\"tool\":\"t\"}"));
    belay_log(BELAY_LOG_INFO, belay_some(a.reply) ? a.reply : BELAY_T(""));
    if (!a.ok) {
      belay_buf b = {0};
      if (a.code == BELAY_PENDING) belay_put_lit(&b, "waits for a person");
      if (a.code == BELAY_DENIED) belay_put_lit(&b, "not granted, or not legal in this phase");
      if (belay_some(belay_reason(a))) belay_put_lit(&b, ": "), belay_put(&b, belay_reason(a));
      return belay_fail(belay_done(&b));
    }
  }
  IF("shell") {
    belay_text shell = belay_shell_parse(belay_input_text(BELAY_T("/args/command")));
    if (!belay_some(shell)) return belay_fail(BELAY_T("no reply"));
    log_shell(shell);
  }
  IF("panic") __builtin_trap();
  IF("refused") belay_rewrite_json(BELAY_T("/args/no/parent"), BELAY_T("1"));
  return BELAY_OK;
}
