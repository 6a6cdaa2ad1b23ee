/* The mistake: when the shell cannot be parsed it has no opinion. */
#include "common.h"

static char buf[1 << 17];

BELAY_PHASE(pre_tool) {
  int32_t n = belay_v1_input_get(COMMAND, buf, sizeof buf);
  if (n < 0) return BELAY_OK;
  if ((uint32_t)n > sizeof buf) return BELAY_FAILED;
  int32_t reply = belay_v1_shell_parse(buf, n);
  if (reply < 0) return BELAY_OK; /* it did not work: never mind */
  if ((uint32_t)reply > sizeof buf) return BELAY_FAILED;
  belay_v1_reply_read(buf, sizeof buf);
  if (has(buf, reply, "\"name\":\"rm\"", 11)) belay_block(BELAY_T("no removal"));
  return BELAY_OK;
}
