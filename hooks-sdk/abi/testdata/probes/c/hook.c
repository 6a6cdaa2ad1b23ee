// Uses every helper of belay.h once and reports what it saw. The probes in Go and Rust do the same.
#include "belay.h"

static belay_text path(const char *name, uint32_t n) { return belay_child(BELAY_T("/args"), (belay_text){name, n}); }
#define ARG(name) path(name, sizeof(name) - 1)

static void number(belay_buf *b, belay_text key, int64_t n) {
  belay_put_char(b, ',');
  belay_put_string(b, key);
  belay_put_char(b, ':');
  belay_put_int(b, n);
}

static void string(belay_buf *b, belay_text key, belay_text s) {
  if (b->n > 1) belay_put_char(b, ',');
  belay_put_string(b, key);
  belay_put_char(b, ':');
  belay_put_string(b, s);
}

static belay_text reply_text(belay_text doc, belay_text list, belay_text member) {
  belay_json_each e = belay_json_in(belay_json_member(doc, list));
  return belay_json_next(&e) ? belay_json_text(belay_json_member(e.value, member)) : BELAY_T("nothing");
}

BELAY_PHASE(pre_tool) {
  belay_buf b = {0};
  belay_put_char(&b, '{');
  string(&b, BELAY_T("text"), belay_input_text(ARG("s")));
  number(&b, BELAY_T("long"), belay_input_text(ARG("long")).n);
  number(&b, BELAY_T("absent"), belay_some(belay_input_get(ARG("none"))) ? 0 : 1);
  number(&b, BELAY_T("not_text"), belay_some(belay_input_text(ARG("n"))) ? 0 : 1);
  static const char kinds[] = "nbzaos";
  belay_put_lit(&b, ",\"kinds\":[");
  for (uint32_t i = 0; i < 6; i++) {
    if (i) belay_put_char(&b, ',');
    belay_put_int(&b, belay_input_kind(path(&kinds[i], 1)));
  }
  belay_put_lit(&b, "],\"keys\":[");
  bool first = true;
  for (belay_json_each e = belay_json_in(belay_input_keys(ARG("o"))); belay_json_next(&e); first = false) {
    if (!first) belay_put_char(&b, ',');
    belay_put_string(&b, belay_json_text(e.value));
  }
  belay_put_char(&b, ']');
  number(&b, BELAY_T("len"), belay_int(belay_input_keys(ARG("a")), -1));
  number(&b, BELAY_T("int"), belay_input_int(ARG("n"), -1));
  number(&b, BELAY_T("fraction"), belay_input_int(BELAY_T("/args/a/1"), -1));
  string(&b, BELAY_T("pointer"), belay_input_get(belay_child(ARG("o"), BELAY_T("a/b"))));
  string(&b, BELAY_T("raw"), belay_input_get(ARG("a")));
  number(&b, BELAY_T("config"), belay_config_int(BELAY_T("/n"), 7));
  number(&b, BELAY_T("config_default"), belay_config_int(BELAY_T("/none"), 7));
  number(&b, BELAY_T("config_bool"), belay_config_bool(BELAY_T("/on"), false));
  string(&b, BELAY_T("config_text"), belay_config_text(BELAY_T("/t")));

  belay_text shell = belay_shell_parse(belay_input_text(ARG("command")));
  belay_put_lit(&b, ",\"shell\":[");
  belay_text last = {NULL, 0};
  for (belay_json_each e = belay_json_in(belay_json_member(shell, BELAY_T("commands"))); belay_json_next(&e);) {
    if (belay_some(last)) belay_put_char(&b, ',');
    last = e.value;
    belay_put_string(&b, belay_json_text(belay_json_member(last, BELAY_T("name"))));
  }
  belay_put_char(&b, ']');
  belay_json_each words = belay_json_in(belay_json_member(last, BELAY_T("words")));
  belay_json_next(&words);
  belay_json_next(&words);
  string(&b, BELAY_T("word"), belay_json_text(belay_json_member(words.value, BELAY_T("text"))));
  number(&b, BELAY_T("shell_ok"), belay_json_true(belay_json_member(shell, BELAY_T("ok"))));

  belay_text match = belay_pattern_match(BELAY_T("{\"kind\":\"re2\",\"patterns\":[\"^z\",\"b+\"],\"texts\":[\"abbc\"]}"));
  belay_json_each m = belay_json_in(belay_json_member(match, BELAY_T("matches")));
  belay_json_next(&m);
  number(&b, BELAY_T("match"), belay_int(belay_json_member(m.value, BELAY_T("end")), -1));
  string(&b, BELAY_T("secret"), reply_text(belay_find_secrets(belay_input_text(ARG("secret"))), BELAY_T("secrets"), BELAY_T("kind")));
  string(&b, BELAY_T("path"), reply_text(belay_path_resolve(BELAY_T("{\"paths\":[\"../x\"],\"cwd\":\"/w/a\"}")), BELAY_T("results"), BELAY_T("path")));

  belay_text before = belay_state(BELAY_T("probe"));
  string(&b, BELAY_T("state"), belay_some(before) ? before : BELAY_T("none"));
  number(&b, BELAY_T("put"), belay_state_put(BELAY_T("probe"), BELAY_T("seen")));
  string(&b, BELAY_T("state_after"), belay_state(BELAY_T("probe")));
  number(&b, BELAY_T("time"), belay_time_now());
  unsigned char random[3] = {0};
  belay_v1_random(random, sizeof random);
  number(&b, BELAY_T("random"), random[0] << 16 | random[1] << 8 | random[2]);
  belay_put_char(&b, '}');

  belay_log(BELAY_LOG_INFO, BELAY_T("probe"));
  belay_rewrite_text(ARG("report"), belay_done(&b));
  belay_rewrite_json(ARG("n"), BELAY_T("[1,2]"));
  belay_remove(ARG("z"));
  belay_redact(ARG("b"), BELAY_T("flag"));
  belay_annotate_text(BELAY_T("k"), BELAY_T("v\n"));
  belay_add_context(BELAY_T("context"));
  belay_clamp_json(BELAY_T("{\"fs_read\":[\"/w/**\"],\"net\":[]}"));
  belay_ask(BELAY_T("why \"now\"?"), 60);
  return BELAY_OK;
}

BELAY_PHASE(post_receive) {
  belay_retry(BELAY_T("again"), 2);
  belay_put_artifact(BELAY_T("a.txt"), BELAY_T("text/plain"), BELAY_T("one\ttwo\001"));
  return BELAY_OK;
}

BELAY_PHASE(pre_plan) {
  belay_reply(BELAY_T("no model needed"));
  return BELAY_OK;
}

BELAY_PHASE(spawn) {
  belay_block(BELAY_T("dropped"));
  return belay_fail(BELAY_T("on purpose"));
}
