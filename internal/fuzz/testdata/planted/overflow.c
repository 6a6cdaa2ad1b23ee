/* The mistake: it promises more room than there is. Long commands are written over the
 * word that it looks for, and much longer ones end it. */
#include "common.h"

static struct {
  char buf[4096];
  char word[8];
} mine;

BELAY_PHASE(pre_tool) {
  __builtin_memcpy(mine.word, "rm -rf", 6);
  int32_t n = belay_v1_input_get(COMMAND, mine.buf, 16384);
  if (n < 0) return BELAY_OK;
  if (n > 16384) __builtin_trap();
  if (has(mine.buf, (uint32_t)n > sizeof mine.buf ? sizeof mine.buf : (uint32_t)n, mine.word, 6)) belay_block(BELAY_T("no recursive removal"));
  return BELAY_OK;
}
