// Fills in arguments that a tool call leaves out, and lowers numbers that are too high.
#include "belay.h"

// Configuration: {"defaults": {TOOL: {NAME: value}}, "max": {TOOL: {NAME: number}}}.
static void fill(belay_text defaults) {
  belay_json_each e = belay_json_in(defaults);
  while (belay_json_next(&e)) {
    belay_text path = belay_child(BELAY_T("/args"), e.key);
    if (belay_input_kind(path) == BELAY_ABSENT) belay_rewrite_json(path, e.value);
  }
}

static void lower(belay_text limits) {
  belay_json_each e = belay_json_in(limits);
  while (belay_json_next(&e)) {
    belay_text path = belay_child(BELAY_T("/args"), e.key);
    int64_t max = belay_int(e.value, INT64_MAX);
    // A number that is no integer in range (1e99, 0.5) reads as INT64_MIN and stays: the tool judges it.
    int64_t have = belay_input_int(path, INT64_MIN);
    if (have > max) belay_rewrite_json(path, e.value);
  }
}

BELAY_PHASE(pre_tool) {
  belay_text tool = belay_input_text(BELAY_T("/tool"));
  if (!belay_some(tool)) return belay_fail(BELAY_T("the action has no tool"));
  if (belay_input_kind(BELAY_T("/args")) != BELAY_OBJECT) return BELAY_OK;
  fill(belay_config_get(belay_child(BELAY_T("/defaults"), tool)));
  lower(belay_config_get(belay_child(BELAY_T("/max"), tool)));
  return BELAY_OK;
}
