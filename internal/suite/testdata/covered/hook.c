#include "belay.h"

static __attribute__((noinline)) int32_t never(int32_t n) {
  belay_block(BELAY_T("never"));
  return n * 3;
}

static __attribute__((noinline)) void is_push(void) {
  belay_add_context(BELAY_T("a push"));
}

BELAY_PHASE(pre_tool) {
  belay_text c = belay_input_text(BELAY_T("/args/command"));
  if (c.n == 4) {
    is_push();
  } else if (c.n == 9) {
    return never(1);
  }
  return BELAY_OK;
}
