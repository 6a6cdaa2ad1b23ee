// Raises the thinking level of a model request when the message of this run was classified as hard.
//
// It acts on what another hook (classify-message) left in the run's metadata in pre_plan, and never lowers a level.
#include "belay.h"

static const belay_text levels[] = {BELAY_INIT("off"), BELAY_INIT("low"), BELAY_INIT("medium"), BELAY_INIT("high")};

static int rank(belay_text level) {
  for (int i = 0; i < 4; i++)
    if (belay_eq(level, levels[i])) return i;
  return -1;
}

// The class of this run's message. Any hook may annotate: where the operator names the classifier, the word of no other
// counts. What the runtime itself says counts only if the operator wants it.
static belay_text class_of_run(void) {
  belay_text class = belay_input_text(BELAY_T("/metadata/class/value"));
  belay_text from = belay_config_text(BELAY_T("/classifier"));
  if (belay_some(class) && (!belay_some(from) || belay_eq(from, belay_input_text(BELAY_T("/metadata/class/hook"))))) return class;
  if (belay_config_bool(BELAY_T("/caller"), false)) return belay_input_text(BELAY_T("/metadata/caller/class"));
  return (belay_text){NULL, 0};
}

BELAY_PHASE(pre_send) {
  belay_text class = class_of_run();
  if (!belay_some(class)) return BELAY_OK;

  belay_text want = belay_config_text(belay_child(BELAY_T("/levels"), class));
  if (!belay_some(want) && belay_config_kind(BELAY_T("/levels")) == BELAY_ABSENT && belay_eq(class, BELAY_T("hard")))
    want = BELAY_T("high");
  if (!belay_some(want)) return BELAY_OK;
  if (rank(want) < 0) return belay_fail(BELAY_T("configuration: a level is not off, low, medium or high"));

  if (rank(want) <= rank(belay_input_text(BELAY_T("/params/think_level")))) return BELAY_OK;
  if (belay_input_kind(BELAY_T("/params")) == BELAY_OBJECT) {
    belay_rewrite_text(BELAY_T("/params/think_level"), want);
  } else {
    belay_buf params = {0};
    belay_put_lit(&params, "{\"think_level\":");
    belay_put_string(&params, want);
    belay_put_char(&params, '}');
    belay_rewrite_json(BELAY_T("/params"), belay_done(&params));
  }
  return BELAY_OK;
}
