/*
 * Native tests of the helpers in belay.h, with the little of a host that they need:
 *   cc -std=c11 -g -O1 -fsanitize=address,undefined -Wall -Wextra -o t belay_test.c && ./t ../abi/testdata/commands.json
 */
#include "belay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every piece has its own end, so that the sanitizer sees one byte too many. */
void *belay_alloc(uint32_t n) {
  void *p = malloc(n ? n : 1);
  if (!p) abort();
  return p;
}

static int failures;

static void same(const char *what, belay_text got, const char *want) {
  if (got.p && got.n == strlen(want) && memcmp(got.p, want, got.n) == 0) return;
  printf("%s: got \"%.*s\", want \"%s\"\n", what, (int)got.n, got.p ? got.p : "(none)", want);
  failures++;
}

static void number(const char *what, int64_t got, int64_t want) {
  if (got == want) return;
  printf("%s: got %lld, want %lld\n", what, (long long)got, (long long)want);
  failures++;
}

static belay_text T(const char *s) { return (belay_text){s, (uint32_t)strlen(s)}; }

static void examples(void) {
  same("plain", belay_json_text(T("\"abc\"")), "abc");
  same("escapes", belay_json_text(T("\"a\\n\\\"\\\\\\/\\u00e9\\ud83d\\ude00\\t\"")), "a\n\"\\/\xc3\xa9\xf0\x9f\x98\x80\t");
  number("no string", belay_some(belay_json_text(T("12"))), 0);
  number("half a string", belay_some(belay_json_text(T("\"12"))), 0);

  belay_text doc = T(" {\"a\" : [1, \"]\\\"\", {\"b\":{}}], \"c\":-2.5e1, \"a\\/b\": null} ");
  doc.p++, doc.n--;
  same("array", belay_json_member(doc, T("a")), "[1, \"]\\\"\", {\"b\":{}}]");
  same("number", belay_json_member(doc, T("c")), "-2.5e1");
  same("escaped name", belay_json_member(doc, T("a/b")), "null");
  number("absent member", belay_some(belay_json_member(doc, T("x"))), 0);
  int count = 0;
  for (belay_json_each e = belay_json_in(belay_json_member(doc, T("a"))); belay_json_next(&e);) count++;
  number("elements", count, 3);

  number("int", belay_int(T("-42"), 7), -42);
  number("no int", belay_int(T("4.2"), 7), 7);
  number("empty", belay_int(T(""), 7), 7);
  number("sign alone", belay_int(T("-"), 7), 7);
  number("too long", belay_int(T("99999999999999999999"), 7), 7);

  belay_buf b = {0};
  belay_put_string(&b, (belay_text){"a\"\\\n\t\0\x1f\xc3\xa9", 9});
  same("put_string", belay_done(&b), "\"a\\\"\\\\\\n\\t\\u0000\\u001f\xc3\xa9\"");
  belay_buf n = {0};
  belay_put_int(&n, INT64_MIN);
  belay_put_char(&n, ' ');
  belay_put_int(&n, 0);
  same("put_int", belay_done(&n), "-9223372036854775808 0");
  same("pointer", belay_at(belay_child(T("/args"), T("a/b~c")), 12), "/args/a~1b~0c/12");
  number("find", belay_find(T("abcabd"), T("abd")), 3);
  number("find nothing", belay_find(T("ab"), T("abc")), -1);
  number("prefix", belay_has_prefix(T("ab"), T("abc")), 0);
}

/* A host for one call: what it answers, and the document beside that. */
static int32_t answer;
static const char *document;
int32_t belay_v1_request_tool_call(const char *p, uint32_t n) {
  (void)p, (void)n;
  return answer;
}
int32_t belay_v1_reply_read(void *d, uint32_t c) {
  uint32_t n = (uint32_t)strlen(document);
  if (n <= c) memcpy(d, document, n);
  return (int32_t)n;
}

/* What the host says beside an errno reaches the author. */
static void answers(void) {
  answer = 12, document = "{\"result\":1}";
  belay_answer a = belay_request_tool_call(T("{}"));
  number("answered", a.ok && a.code == 0, 1);
  same("answer", a.reply, document);
  number("no reason for an answer", belay_some(belay_reason(a)), 0);
  answer = BELAY_PENDING, document = "{\"approval\":{\"reason\":\"no\"},\"reason\":\"a \\\"person\\\" has to approve it\"}";
  a = belay_request_tool_call(T("{}"));
  number("refused", a.ok, 0);
  number("pending", a.code, BELAY_PENDING);
  same("document", a.reply, document);
  same("reason", belay_reason(a), "a \"person\" has to approve it");
  answer = BELAY_DENIED, document = "{\"error\":\"wider than its parent\"}";
  same("error", belay_reason(belay_request_tool_call(T("{}"))), "wider than its parent");
  answer = BELAY_BUDGET, document = "";
  a = belay_request_tool_call(T("{}"));
  number("no document", belay_some(a.reply), 0);
  number("no reason", belay_some(belay_reason(a)), 0);
}

/* Every member of a shell_parse reply reaches its field, and what is not there is told apart. */
static void shell(void) {
  belay_command c = belay_read_command(T(
      "{\"name\":\"f\",\"words\":[{\"text\":\"f\",\"known\":true}],\"raw\":\"f x\",\"pipe\":2,\"stdin_from\":0,\"parent\":3,"
      "\"assigns\":[{\"name\":\"A\",\"value\":{\"text\":\"1\",\"known\":true}}],"
      "\"redirects\":[{\"op\":\">\",\"fd\":1,\"target\":{\"text\":\"~/*\",\"known\":true,\"glob\":true,\"tilde\":true}}],"
      "\"via\":[\"sudo\"],\"context\":[\"background\"],\"cwd\":{\"text\":\"/d\",\"known\":true},"
      "\"stdin\":{\"text\":\"$X\",\"known\":false,\"from\":[0,3]},"
      "\"function\":true,\"recursive\":true,\"remote\":true,\"args_open\":true}"));
  same("name", c.name, "f");
  same("raw", c.raw, "f x");
  same("words", c.words, "[{\"text\":\"f\",\"known\":true}]");
  same("via", c.via, "[\"sudo\"]");
  same("context", c.context, "[\"background\"]");
  same("stdin", c.stdin_text.text, "$X");
  same("from", c.stdin_text.from, "[0,3]");
  number("stdin is not known", c.stdin_text.known, 0);
  same("cwd", c.cwd.text, "/d");
  number("cwd is known", c.cwd.known, 1);
  number("pipe", c.pipe, 2);
  number("stdin_from", c.stdin_from, 0);
  number("parent", c.parent, 3);
  number("flags", c.function && c.recursive && c.remote && c.args_open, 1);
  belay_json_each e = belay_json_in(c.assigns);
  number("assigns", belay_json_next(&e), 1);
  same("assign", belay_read_assign(e.value).name, "A");
  same("value", belay_read_assign(e.value).value.text, "1");
  e = belay_json_in(c.redirects);
  number("redirects", belay_json_next(&e), 1);
  belay_redirect r = belay_read_redirect(e.value);
  same("op", r.op, ">");
  number("fd", r.fd, 1);
  same("target", r.target.text, "~/*");
  number("glob and tilde", r.target.known && r.target.glob && r.target.tilde, 1);

  c = belay_read_command(T("{\"name\":\"a\",\"words\":[]}"));
  number("no parent", c.parent, -1);
  number("no stdin_from", c.stdin_from, -1);
  number("no pipe", c.pipe, 0);
  number("no stdin, no cwd", belay_some(c.stdin_text.text) || belay_some(c.cwd.text), 0);
  number("no flags", c.function || c.recursive || c.remote || c.args_open || c.cwd.known, 0);

  belay_unknown u = belay_read_unknown(T("{\"what\":\"code\",\"raw\":\"sh\",\"command\":1,\"partial\":true}"));
  same("what", u.what, "code");
  same("its raw", u.raw, "sh");
  number("its command", u.command, 1);
  number("partial", u.partial, 1);
  u = belay_read_unknown(T("{\"what\":\"name\",\"raw\":\"$X\"}"));
  number("no command", u.command, -1);
  number("complete", u.partial, 0);

  belay_program p = belay_read_program(T(
      "{\"what\":\"program\",\"language\":\"awk\",\"text\":\"$X\",\"file\":\"x.awk\",\"raw\":\"awk $X\",\"command\":1,\"partial\":true}"));
  same("language", p.language, "awk");
  same("program", p.text, "$X");
  same("file", p.file, "x.awk");
  same("program's raw", p.raw, "awk $X");
  number("program's command", p.command, 1);
  number("program's parts", p.partial, 1);
}

/* The input of the host below: reads of it by pointer, without escapes. */
static belay_text input;

static belay_text value_at(const char *p, uint32_t n) {
  belay_text v = input;
  for (uint32_t i = 0; i < n && belay_some(v);) {
    uint32_t from = ++i;
    while (i < n && p[i] != '/') i++;
    v = belay_json_member(v, (belay_text){p + from, i - from});
  }
  return v;
}

int32_t belay_v1_input_kind(const char *p, uint32_t n) {
  belay_text v = value_at(p, n);
  if (!belay_some(v)) return BELAY_ABSENT;
  switch (v.p[0]) {
    case '"': return BELAY_STRING;
    case '[': return BELAY_ARRAY;
    case '{': return BELAY_OBJECT;
    case 'n': return BELAY_NULL;
    case 't': case 'f': return BELAY_BOOL;
  }
  return BELAY_NUMBER;
}

int32_t belay_v1_input_get(const char *p, uint32_t n, void *d, uint32_t c) {
  belay_text v = value_at(p, n);
  if (!belay_some(v)) return BELAY_ABSENT;
  if (v.p[0] == '"') v = belay_json_text(v);
  if (v.n && v.n <= c) memcpy(d, v.p, v.n);
  return (int32_t)v.n;
}

static belay_text file(const char *path) {
  static char text[1 << 16];
  FILE *f = fopen(path, "rb");
  size_t n = f ? fread(text, 1, sizeof text, f) : 0;
  if (n == 0 || n == sizeof text) {
    printf("%s: cannot be read, or is longer than this test expects\n", path);
    exit(1);
  }
  fclose(f);
  return (belay_text){text, (uint32_t)n};
}

/* What a call would run, by the vectors that all SDKs share. */
static void commands(const char *path) {
  int vectors = 0;
  for (belay_json_each v = belay_json_in(file(path)); belay_json_next(&v); vectors++) {
    input = belay_json_member(v.value, T("document"));
    belay_text want = belay_json_text(belay_json_member(v.value, T("command"))), got = belay_input_command();
    if (!belay_eq(got, want)) printf("%.*s: command \"%.*s\"\n", (int)input.n, input.p, (int)got.n, got.p), failures++;

    belay_text lines = belay_json_member(v.value, T("lines"));
    belay_lines found;
    bool any = belay_input_lines(&found);
    bool same = any == (lines.p[0] == '{');
    if (same && any) {
      uint32_t n = 0;
      for (belay_json_each e = belay_json_in(belay_json_member(lines, T("lines"))); same && belay_json_next(&e); n++)
        same = n < found.n && belay_eq(found.at[n].text, belay_json_text(belay_json_member(e.value, T("text")))) &&
               found.at[n].code == belay_json_true(belay_json_member(e.value, T("code")));
      same = same && n == found.n && found.foreign == belay_json_true(belay_json_member(lines, T("foreign"))) &&
             found.more == belay_json_true(belay_json_member(lines, T("more")));
    }
    if (!same) printf("%.*s: lines, want %.*s\n", (int)input.n, input.p, (int)lines.n, lines.p), failures++;
  }
  number("vectors were found", vectors >= 20, 1);
}

static uint64_t seed = 88172645463325252u;
static uint32_t draw(uint32_t n) {
  seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
  return (uint32_t)(seed >> 11) % n;
}

static uint64_t seen; /* so that every byte handed out is read */
static void touch(belay_text t) {
  for (uint32_t i = 0; i < t.n; i++) seen += (unsigned char)t.p[i];
}

static void walk(belay_text raw, int depth) {
  if (depth == 50) return;
  for (belay_json_each e = belay_json_in(raw); belay_json_next(&e);) {
    touch(e.key);
    touch(belay_json_text(e.value));
    touch(belay_json_member(e.value, T("a")));
    walk(e.value, depth + 1);
  }
}

/* On anything that is no JSON the walkers end, and stay inside. */
static void garbage(void) {
  static const char alphabet[] = "{}[]\",:\\u0a19dDfn t1\"\"\\";
  for (int round = 0; round < 200000; round++) {
    uint32_t n = draw(40);
    char *p = belay_alloc(n);
    for (uint32_t i = 0; i < n; i++) p[i] = draw(10) ? alphabet[draw(sizeof alphabet - 1)] : (char)draw(256);
    belay_text t = {p, n};
    walk(t, 0);
    touch(belay_json_text(t));
    for (uint32_t i = 0; i < n; i++)
      if (belay_json_skip(t, i) > n) number("skip beyond the end", 1, 0);
    seen += (uint64_t)belay_int(t, 5);
    free(p);
  }
}

int main(int argc, char **argv) {
  if (argc != 2) return printf("which file of vectors?\n"), 2;
  examples();
  commands(argv[1]);
  answers();
  shell();
  garbage();
  printf("%s (%llu)\n", failures ? "FAIL" : "ok", (unsigned long long)seen);
  return failures != 0;
}
