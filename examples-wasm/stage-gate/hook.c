// Lets a stage (or another machine) change only when its conditions hold; otherwise asks a person, or blocks.
//
// Configuration: {"gates": [{"machine", "from", "to", "when": {POINTER: value}, "otherwise": "ask" | "block", "reason"}]}.
// Members left out match everything. All gates that match must be satisfied; a block beats an ask.
#include "belay.h"

static const belay_text default_gates = BELAY_INIT(
    "[{\"machine\":\"stage\",\"to\":\"deploy\",\"when\":{\"/data/approved\":true},\"otherwise\":\"ask\"},"
    "{\"machine\":\"stage\",\"to\":\"release\",\"when\":{\"/data/approved\":true},\"otherwise\":\"ask\"}]");

static bool matches(belay_text gate, belay_text member, belay_text path) {
  belay_text want = belay_json_member(gate, member);
  return !belay_some(want) || belay_eq(belay_json_text(want), belay_input_text(path));
}

// Whether every pointer of the condition holds the wanted value. Strings are compared as text, all else as written.
static bool holds(belay_text when) {
  for (belay_json_each e = belay_json_in(when); belay_json_next(&e);) {
    belay_text want = e.value;
    bool string = want.n && want.p[0] == '"';
    if ((belay_input_kind(e.key) == BELAY_STRING) != string) return false;
    belay_text have = belay_input_get(e.key);
    if (!belay_some(have) || !belay_eq(string ? belay_json_text(want) : want, have)) return false;
  }
  return true;
}

static belay_text reason(belay_text gate) {
  belay_text own = belay_json_text(belay_json_member(gate, BELAY_T("reason")));
  if (belay_some(own)) return own;
  belay_buf b = {0};
  belay_put_lit(&b, "the change of ");
  belay_put(&b, belay_input_text(BELAY_T("/machine")));
  belay_put_lit(&b, " to ");
  belay_put(&b, belay_input_text(BELAY_T("/to")));
  belay_put_lit(&b, " is gated and its conditions do not hold");
  return belay_done(&b);
}

BELAY_PHASE(state_transition) {
  belay_text gates = belay_config_get(BELAY_T("/gates"));
  if (!belay_some(gates)) gates = default_gates;
  belay_text ask = {NULL, 0};
  for (belay_json_each e = belay_json_in(gates); belay_json_next(&e);) {
    belay_text gate = e.value;
    if (!matches(gate, BELAY_T("machine"), BELAY_T("/machine")) || !matches(gate, BELAY_T("from"), BELAY_T("/from")) ||
        !matches(gate, BELAY_T("to"), BELAY_T("/to")) || holds(belay_json_member(gate, BELAY_T("when"))))
      continue;
    // Anything but a clear "ask" stops.
    if (!belay_eq(belay_json_text(belay_json_member(gate, BELAY_T("otherwise"))), BELAY_T("ask"))) {
      belay_block(reason(gate));
      return BELAY_OK;
    }
    if (!belay_some(ask)) ask = gate;
  }
  if (belay_some(ask)) belay_ask(reason(ask), 0);
  return BELAY_OK;
}
