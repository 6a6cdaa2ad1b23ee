/* The mistake: what does not fit in its 4 KiB it takes for nothing. */
#include "common.h"

static char buf[4096];

BELAY_PHASE(pre_tool) {
  int32_t n = belay_v1_input_get(COMMAND, buf, sizeof buf);
  if (n < 0 || (uint32_t)n > sizeof buf) return BELAY_OK;
  if (has(buf, n, "rm -rf", 6)) belay_block(BELAY_T("no recursive removal"));
  return BELAY_OK;
}
