// Clamps what a tool call or a child agent may touch, by default to files in the project directory.
#include "belay.h"

// Appends a pattern as a JSON string; a leading ${cwd} stands for the working directory. Reports failure when there is
// no working directory to put in: clamping to a guess would be worse than stopping.
static bool put_pattern(belay_buf *out, belay_text pattern, belay_text cwd) {
  if (!belay_has_prefix(pattern, BELAY_T("${cwd}"))) {
    belay_put_string(out, pattern);
    return true;
  }
  if (cwd.n == 0 || cwd.p[0] != '/') return false;
  while (cwd.n > 0 && cwd.p[cwd.n - 1] == '/') cwd.n--; // "/" itself: ${cwd}/** is /**
  belay_buf full = {0};
  belay_put(&full, cwd);
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
        return belay_fail(BELAY_T("${cwd} is configured, but the invocation has no working directory"));
    }
    belay_put_char(&scopes, ']');
  }
  belay_put_char(&scopes, '}');
  belay_clamp_json(belay_done(&scopes));
  return BELAY_OK;
}

BELAY_PHASE(pre_tool) { return clamp(); }
BELAY_PHASE(spawn) { return clamp(); }
