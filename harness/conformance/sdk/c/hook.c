// Does what /args/do says, by belay.h. The hooks in Go and Rust do the same; see ../../behaviours.yaml.
#include "belay.h"

static bool wanted(belay_text what, belay_text name) { return belay_eq(what, name); }
#define IF(name) if (wanted(what, BELAY_T(name)))

static void say(int64_t n) {
  belay_buf b = {0};
  belay_put_int(&b, n);
  belay_log(BELAY_LOG_INFO, belay_done(&b));
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
  IF("panic") __builtin_trap();
  IF("refused") belay_rewrite_json(BELAY_T("/args/no/parent"), BELAY_T("1"));
  return BELAY_OK;
}
