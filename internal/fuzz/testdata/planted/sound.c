/* No mistake: what it cannot look at it stops, such as a command that is no text: it would get its source, with whatever escapes. */
#include "common.h"

static char buf[1 << 17];

BELAY_PHASE(pre_tool) {
  int32_t n = belay_v1_input_get(COMMAND, buf, sizeof buf);
  if (n == BELAY_ABSENT) return BELAY_OK;
  if (n < 0 || belay_v1_input_kind(COMMAND) != 3 || (uint32_t)n > sizeof buf || has(buf, n, "rm -rf", 6)) belay_block(BELAY_T("no recursive removal"));
  return BELAY_OK;
}
