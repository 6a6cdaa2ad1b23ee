/* The mistake: it counts its own work, and allows when that budget has ended. */
#include "common.h"

static char buf[1 << 17];

BELAY_PHASE(pre_tool) {
  int32_t n = belay_v1_input_get(COMMAND, buf, sizeof buf);
  if (n < 0) return BELAY_OK;
  if ((uint32_t)n > sizeof buf) return BELAY_FAILED;
  int32_t left = 3000; /* steps */
  for (int32_t i = 0; i + 6 <= n; i++) {
    if (--left == 0) return BELAY_OK; /* enough for today */
    if (has(buf + i, 6, "rm -rf", 6)) {
      belay_block(BELAY_T("no recursive removal"));
      return BELAY_OK;
    }
  }
  return BELAY_OK;
}
