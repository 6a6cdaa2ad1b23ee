// Clamps what a tool call or a child agent may touch, by default to files in the project directory.
#include "belay.h"

// Appends a directory as a pattern can begin with it: without empty steps and ".", and nothing for "/" itself. Reports
// failure for what is not absolute, for "*", which a pattern would take for more, and for "..": where that leads only
// the file system knows, once there are links.
static bool put_directory(belay_buf *out, belay_text dir) {
  if (dir.n == 0 || dir.p[0] != '/') return false;
  for (uint32_t i = 0; i < dir.n;) {
    uint32_t from = ++i; // behind the '/'
    for (; i < dir.n && dir.p[i] != '/'; i++)
      if (dir.p[i] == '*' || dir.p[i] == 0) return false;
    belay_text step = {dir.p + from, i - from};
    if (belay_eq(step, BELAY_T(".."))) return false;
    if (step.n == 0 || belay_eq(step, BELAY_T("."))) continue;
    belay_put_char(out, '/');
    belay_put(out, step);
  }
  return true;
}

// Appends a pattern as a JSON string; a leading ${cwd} stands for the working directory. Reports failure when there is
// no working directory to put in: clamping to a guess would be worse than stopping.
static bool put_pattern(belay_buf *out, belay_text pattern, belay_text cwd) {
  if (!belay_has_prefix(pattern, BELAY_T("${cwd}"))) {
    belay_put_string(out, pattern);
    return true;
  }
  belay_buf full = {0};
  if (!put_directory(&full, cwd)) return false;
  belay_put_bytes(&full, pattern.p + 6, pattern.n - 6);
  belay_put_string(out, belay_done(&full));
  return true;
}

static int32_t clamp(void) {
  belay_text config = belay_config();
  if (belay_config_kind(BELAY_T("")) != BELAY_OBJECT || belay_eq(belay_config_keys(BELAY_T("")), BELAY_T("[]")))
    config = BELAY_T("{\"fs_read\":[\"${cwd}/**\"],\"fs_write\":[\"${cwd}/**\"]}");
  belay_text cwd = belay_input_text(BELAY_T("/cwd"));
  belay_buf scopes = {0};
  belay_put_char(&scopes, '{');
  for (belay_json_each set = belay_json_in(config); belay_json_next(&set);) {
    if (scopes.n > 1) belay_put_char(&scopes, ',');
    belay_put_string(&scopes, set.key);
    belay_put_lit(&scopes, ":[");
    bool first = true;
    for (belay_json_each e = belay_json_in(set.value); belay_json_next(&e); first = false) {
      if (!first) belay_put_char(&scopes, ',');
      if (!put_pattern(&scopes, belay_json_text(e.value), cwd))
        return belay_fail(BELAY_T("${cwd} is configured, but the invocation has no working directory that can be put in"));
    }
    belay_put_char(&scopes, ']');
  }
  belay_put_char(&scopes, '}');
  belay_clamp_json(belay_done(&scopes));
  return BELAY_OK;
}

BELAY_PHASE(pre_tool) { return clamp(); }
BELAY_PHASE(spawn) { return clamp(); }
